package core_test

import (
	"errors"
	"testing"

	"countersign/core"
)

// wantClass compares an error with the class that a conformance case names.
func wantClass(t *testing.T, err error, reason string) {
	t.Helper()
	classes := map[string]error{
		"verifier": core.ErrProof, "verifier_missing": core.ErrVerifierMissing, "verifier_failure": core.ErrVerifierFailed,
		"binding": core.ErrBinding, "version": core.ErrConflict, "state": core.ErrConflict,
		"expired": core.ErrExpired, "outcome_origin": core.ErrOutcome,
	}
	want, ok := classes[reason]
	if !ok {
		t.Fatalf("the cases name a class this test does not know: %s", reason)
	}
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want class %s", err, reason)
	}
}
