package canon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf8"
)

// domainPrefix opens every digest; it names the record format whose digests
// these are (seed 003, "Canonicalization and digests").
const domainPrefix = "pfSense-MCP/Tier1/v1"

// Purpose names what a digest is for. Digests of different purposes never
// agree, whatever they are digests of.
type Purpose string

// The purposes of the record format. The first six are those of seed 003,
// "Canonicalization and digests"; the others are used by authorization and
// reconciliation artifacts.
const (
	TargetIdentity           Purpose = "target-identity"
	TargetFingerprint        Purpose = "target-fingerprint"
	Intent                   Purpose = "intent"
	Snapshot                 Purpose = "snapshot"
	Confirmation             Purpose = "confirmation"
	Idempotency              Purpose = "idempotency"
	Reconciliation           Purpose = "reconciliation"
	Plan                     Purpose = "plan"
	PlanAuthorization        Purpose = "plan-authorization"
	PlanAuthorizationV2      Purpose = "plan-authorization-v2"
	DeprovisionAuthorization Purpose = "deprovision-authorization"
	ExecutionIntent          Purpose = "execution-intent"
)

// valid reports whether p is a name of lower-case letters, digits and hyphens.
func (p Purpose) valid() bool {
	for i := range len(p) {
		c := p[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return false
		}
	}
	return 0 < len(p) && len(p) <= 64
}

// Digest is a SHA-256 digest. Its text form, in records and on screen, is 64
// lower-case hexadecimal digits.
type Digest [sha256.Size]byte

// ParseDigest reads the text form, exactly: no upper case, no white space.
// The error has class ErrDigest.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != hex.EncodedLen(len(d)) {
		return Digest{}, refuse(ErrDigest)
	}
	for i := range d {
		high, low := nibble(s[2*i]), nibble(s[2*i+1])
		if high > 0xf || low > 0xf {
			return Digest{}, refuse(ErrDigest)
		}
		d[i] = high<<4 | low
	}
	return d, nil
}

// nibble returns the value of a lower-case hexadecimal digit, 0xff for any
// other byte.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	default:
		return 0xff
	}
}

// String returns the text form.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler as ParseDigest does; d is
// unchanged when the text is refused.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// IsZero reports whether d is the zero value, which stands for "no digest".
func (d Digest) IsZero() bool { return d == Digest{} }

// Sum returns the digest of a value for a purpose in a context: SHA-256 over
// the framed domain prefix, purpose, context components and canonical bytes
// (seed 003, "Canonicalization and digests"). Context components are hashed
// as given, without NFC. Errors are *Error: those of Encode, and ErrPurpose,
// ErrContext, ErrContextBytes and ErrContextScalar.
func Sum(purpose Purpose, context []string, value any) (Digest, error) {
	if c := checkContext(purpose, context); c != ok {
		return Digest{}, refuse(c)
	}
	buf := make([]byte, 0, 1024)
	buf = appendFrame(buf, domainPrefix)
	buf = appendFrame(buf, purpose)
	for _, component := range context {
		buf = appendFrame(buf, component)
	}
	// The length of the canonical bytes is known once they are written.
	start := len(buf) + 4
	e := encoder{buf: append(buf, 0, 0, 0, 0), base: start, nfc: true}
	if c := e.value(value, 0); c != ok {
		return Digest{}, refuse(c)
	}
	binary.BigEndian.PutUint32(e.buf[start-4:], uint32(len(e.buf)-start))
	return sha256.Sum256(e.buf), nil
}

func checkContext(purpose Purpose, context []string) Class {
	if !purpose.valid() {
		return ErrPurpose
	}
	if len(context) > MaxContext {
		return ErrContext
	}
	for _, component := range context {
		if len(component) > MaxStringBytes {
			return ErrContextBytes
		}
		if !utf8.ValidString(component) {
			return ErrContextScalar
		}
	}
	return ok
}
