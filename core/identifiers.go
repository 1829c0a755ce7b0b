package core

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// ValidIdentifier reports whether s may name a contract, an operation, an
// authority, a nonce, an endpoint or a plan version: 1 to 128 of
// A-Za-z0-9._:- beginning with a letter or a digit.
func ValidIdentifier(s string) bool {
	if len(s) == 0 || len(s) > 128 || strings.ContainsRune("._:-", rune(s[0])) {
		return false
	}
	for i := range len(s) {
		letter := s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z'
		digit := s[i] >= '0' && s[i] <= '9'
		if !letter && !digit && strings.IndexByte("._:-", s[i]) < 0 {
			return false
		}
	}
	return true
}

// NewIdentifier makes prefix-<32 hex digits> from 128 random bits.
func NewIdentifier(random io.Reader, prefix string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("random source: %w", err)
	}
	return prefix + "-" + hex.EncodeToString(b[:]), nil
}
