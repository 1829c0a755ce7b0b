package keys

import (
	"crypto/subtle"
	"fmt"
)

const redacted = "[secret]"

// Secret holds bytes that must never be shown: however it is formatted,
// marshalled or logged, it prints "[secret]" (design section 4, rule 11). The
// bytes are behind a function because fmt looks into unexported fields of a
// struct, and through pointers, without asking their methods; a function it
// can only show as an address.
type Secret struct{ hold func() *[]byte }

// NewSecret copies b, so that the caller can clear its own copy.
func NewSecret(b []byte) Secret { return ownSecret(append([]byte(nil), b...)) }

// ownSecret takes b over.
func ownSecret(b []byte) Secret { return Secret{func() *[]byte { return &b }} }

// Bytes returns the secret itself, not a copy; do not keep or print it.
func (s Secret) Bytes() []byte {
	if s.hold == nil {
		return nil
	}
	return *s.hold()
}

// Len is the length in bytes; 0 after Clear.
func (s Secret) Len() int { return len(s.Bytes()) }

// Equal compares in constant time.
func (s Secret) Equal(b []byte) bool { return sameBytes(s.Bytes(), b) }

// Clear overwrites the secret with zeros and forgets it, in every copy of s.
func (s Secret) Clear() {
	clear(s.Bytes())
	if s.hold != nil {
		*s.hold() = nil
	}
}

// String is always "[secret]".
func (Secret) String() string { return redacted }

// GoString is always "[secret]".
func (Secret) GoString() string { return redacted }

// Format writes "[secret]" for every verb and flag.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText is always "[secret]"; encoding/json and log/slog use it.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

func sameBytes(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }
