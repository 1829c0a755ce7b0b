package core

import (
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
)

var identifier = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\z`)

// ValidIdentifier reports whether s may name a contract, an operation, an
// authority, a nonce, an endpoint or a plan version: 1 to 128 of
// A-Za-z0-9._:- beginning with a letter or a digit.
func ValidIdentifier(s string) bool { return identifier.MatchString(s) }

// NewIdentifier makes prefix-<32 hex digits> from 128 random bits.
func NewIdentifier(random io.Reader, prefix string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("random source: %w", err)
	}
	return prefix + "-" + hex.EncodeToString(b[:]), nil
}
