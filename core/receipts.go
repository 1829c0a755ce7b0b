package core

import (
	"errors"
	"fmt"

	"countersign/canon"
)

// Errors of a retried request (seed 001, Practical steps 3 to 5). None of
// them creates or consumes anything.
var (
	// ErrRetryChanged: the key was used for another request.
	ErrRetryChanged = errors.New("this request key was used for another request")
	// ErrRetryUnknownVersion: the request or the receipt names a version this
	// binary has never had.
	ErrRetryUnknownVersion = errors.New("the request's version is not known")
	// ErrRetryNewer: the receipt was written by a newer binary; it is never guessed at.
	ErrRetryNewer = errors.New("the receipt was written by a newer version")
	// ErrRetryUnrepresentable: the retry says something that the receipt's
	// version could not say, so it cannot be the same request.
	ErrRetryUnrepresentable = errors.New("the receipt's version cannot express this request")
	// ErrRetryWeakDigest: the receipt's digest erased distinctions, so
	// equivalence cannot be proven.
	ErrRetryWeakDigest = errors.New("the old receipt cannot prove that this is the same request")
)

// PrepareFamily is the stable operation family of prepare requests. The
// uniqueness of a request key covers caller, family and key, and no version.
const PrepareFamily = "prepare"

// ReceiptClaim is one use of a request key: who calls, under which trusted
// request contract, and the request as that contract parses it.
type ReceiptClaim struct {
	Caller     string // the authenticated operator
	Family     string
	RequestKey string
	Version    RequestVersion
	Request    Object
}

// Receipt is the committed proof that a key was used, with everything needed
// to compare a retry years later and to replay the outcome.
type Receipt struct {
	Caller, Family, RequestKey string
	Version                    RequestVersion // 0: a legacy receipt whose generating version is not known
	Scheme                     SchemeVersion  // 0 likewise
	Digest                     canon.Digest
	// Lossless says that the scheme erased nothing of the original request.
	// Legacy receipts never claim it.
	Lossless bool
	Outcome  ReceiptOutcome
	// ResponseVersion is the shape the outcome was first answered in.
	ResponseVersion int
}

// ReceiptOutcome are immutable facts, from which any response version can be
// rendered.
type ReceiptOutcome struct {
	ContractID     string
	OperationID    string
	IdempotencyKey canon.Digest
}

// ResponseVersion is what this binary answers in.
const ResponseVersion = 1

// NewReceiptClaim claims a draft's request key for its caller, under the
// newest request contract.
func NewReceiptClaim(caller string, d Draft) ReceiptClaim {
	return ReceiptClaim{Caller: caller, Family: PrepareFamily, RequestKey: d.RequestKey,
		Version: CurrentRequestVersion, Request: requestOf(d)}
}

// NewReceipt makes the receipt of a claim that created something, under the
// newest scheme.
func NewReceipt(claim ReceiptClaim, outcome ReceiptOutcome) (Receipt, error) {
	return NewReceiptUnder(claim, outcome, CurrentScheme)
}

// NewReceiptUnder makes a receipt under a named scheme, as a binary of that
// time did: a fleet is upgraded readers first, writers later (seed 001, step 5).
func NewReceiptUnder(claim ReceiptClaim, outcome ReceiptOutcome, version SchemeVersion) (Receipt, error) {
	scheme, ok := fingerprintScheme(version)
	if !ok {
		return Receipt{}, ErrRetryUnknownVersion
	}
	contract, ok := requestContract(claim.Version)
	if !ok {
		return Receipt{}, ErrRetryUnknownVersion
	}
	request, err := contract.parse(claim.Request)
	if err != nil {
		return Receipt{}, err
	}
	digest, err := scheme.digest(claim, request)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Caller: claim.Caller, Family: claim.Family, RequestKey: claim.RequestKey,
		Version: claim.Version, Scheme: version, Digest: digest, Lossless: scheme.lossless(request),
		Outcome: outcome, ResponseVersion: ResponseVersion}, nil
}

// JudgeRetry decides a duplicate key from the committed receipt, which alone
// defines the rules of comparison: the retry is parsed under its own
// contract, mapped into the receipt's historical domain by an explicit
// function, and compared under the stored scheme, only when every
// effect-relevant distinction survives. A match under whichever scheme
// happens to fit is never accepted.
func JudgeRetry(r Receipt, claim ReceiptClaim) (ReceiptOutcome, error) {
	if r.Caller != claim.Caller || r.Family != claim.Family || r.RequestKey != claim.RequestKey {
		return ReceiptOutcome{}, fmt.Errorf("%w: the receipt is of another key", ErrBinding)
	}
	if r.Version > CurrentRequestVersion || r.Scheme > CurrentScheme || r.ResponseVersion > ResponseVersion {
		return ReceiptOutcome{}, ErrRetryNewer
	}
	contract, ok := requestContract(claim.Version)
	if !ok {
		return ReceiptOutcome{}, ErrRetryUnknownVersion
	}
	request, err := contract.parse(claim.Request)
	if err != nil {
		return ReceiptOutcome{}, err
	}
	if r.Version == 0 || r.Scheme == 0 {
		return ReceiptOutcome{}, fmt.Errorf("%w: its generating version is not known", ErrRetryWeakDigest)
	}
	historical, err := mapRequest(request, claim.Version, r.Version)
	if err != nil {
		return ReceiptOutcome{}, err
	}
	scheme, _ := fingerprintScheme(r.Scheme)
	if !r.Lossless {
		return ReceiptOutcome{}, ErrRetryWeakDigest
	}
	if !scheme.lossless(historical) {
		return ReceiptOutcome{}, ErrRetryUnrepresentable
	}
	digest, err := scheme.digest(claim, historical)
	if err != nil {
		return ReceiptOutcome{}, err
	}
	if digest != r.Digest {
		return ReceiptOutcome{}, ErrRetryChanged
	}
	return r.Outcome, nil
}
