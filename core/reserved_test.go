package core_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// A target that another contract keeps to itself is refused at gate one,
// before a passphrase is tried and an authorization is spent, and the refusal
// names that contract.
func TestReservedTargetIsRefusedAtGateOne(t *testing.T) {
	r := newRig(t, rigOptions{})
	holder := r.ambiguous(core.Forward, sim.Fault{Kind: sim.CommitThenDrop})
	r.clock.move(past)
	d := r.draft(rigAlias, "Another text")
	for _, phrase := range []string{string(pass()), "not the passphrase"} {
		_, err := r.engine.Authorize(ctx(), d, rigOperator, []byte(phrase))
		if !errors.Is(err, core.ErrReserved) || !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), holder) {
			t.Fatalf("authorized over a reservation: %v", err)
		}
	}
	if counts, err := r.store.Counts(ctx()); err != nil || counts.History != 1 {
		t.Fatalf("%+v (%v)", counts, err)
	}
	r.must(r.reconcile(holder, core.ConfirmedApplied, r.observe(holder)))
	r.clock.move(past)
	d = r.draft(rigAlias, "Another text")
	if _, err := r.engine.Authorize(ctx(), d, rigOperator, pass()); err != nil {
		t.Fatalf("after the conclusion: %v", err)
	}
}
