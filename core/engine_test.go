package core_test

import (
	"testing"

	"countersign/core"
)

func TestVerifiedThenRolledBack(t *testing.T) {
	r := newRig(t, rigOptions{})
	old := r.description(rigAlias)
	id := r.verified(rigAlias, rigValue)
	if r.sends() != 1 || r.description(rigAlias) != rigValue {
		t.Fatalf("%d sends, description %q", r.sends(), r.description(rigAlias))
	}
	p := r.rollback(id)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	r.mustBe(id, core.RolledBack)
	if r.sends() != 2 || r.description(rigAlias) != old {
		t.Fatalf("%d sends, description %q", r.sends(), r.description(rigAlias))
	}
}
