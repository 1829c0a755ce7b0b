package core

import (
	"strings"

	"countersign/canon"
)

// SchemeVersion numbers the fingerprint schemes of receipts: projection,
// encoding and hashing. Released schemes never change (seed 001, step 2).
type SchemeVersion int

// The schemes. Scheme 1 trimmed white space around every text and took a
// missing value for an empty one; scheme 2 keeps every distinction.
const (
	SchemeV1      SchemeVersion = 1
	SchemeV2      SchemeVersion = 2
	CurrentScheme               = SchemeV2
)

const receiptPurpose = canon.Purpose("countersign-request-receipt")

type receiptScheme struct {
	version SchemeVersion
	project func(any) any
}

func fingerprintScheme(v SchemeVersion) (receiptScheme, bool) {
	switch v {
	case SchemeV1:
		return receiptScheme{v, trimmed}, true
	case SchemeV2:
		return receiptScheme{v, func(x any) any { return x }}, true
	}
	return receiptScheme{}, false
}

// digest fingerprints a request in its historical domain, in the scope of its
// caller, family and key.
func (s receiptScheme) digest(claim ReceiptClaim, request Object) (canon.Digest, error) {
	scheme := map[SchemeVersion]string{SchemeV1: "scheme-1", SchemeV2: "scheme-2"}[s.version]
	return canon.Sum(receiptPurpose, []string{scheme, claim.Caller, claim.Family, claim.RequestKey}, s.project(request))
}

// lossless reports whether the scheme keeps every distinction of a request.
func (s receiptScheme) lossless(request Object) bool {
	if s.version != SchemeV1 {
		return true
	}
	return keepsAll(request)
}

// trimmed is scheme 1's projection.
func trimmed(v any) any {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(x)
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = trimmed(x[i])
		}
		return out
	case Object:
		out := Object{}
		for k := range x {
			out[k] = trimmed(x[k])
		}
		return out
	}
	return v
}

// keepsAll reports whether trimmed erases nothing of v: no outer white space,
// no missing value, and no empty text that a missing value could stand for.
func keepsAll(v any) bool {
	switch x := v.(type) {
	case nil:
		return false
	case string:
		return x != "" && strings.TrimSpace(x) == x
	case []any:
		for _, item := range x {
			if !keepsAll(item) {
				return false
			}
		}
	case Object:
		for _, item := range x {
			if !keepsAll(item) {
				return false
			}
		}
	}
	return true
}
