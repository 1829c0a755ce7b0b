package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

var past = core.MinimumSettle + time.Second

// ambiguous carries a forward change or a rollback into RECONCILIATION.
func (r *rig) ambiguous(dir core.Direction, f sim.Fault) string {
	r.t.Helper()
	var id string
	if dir == core.Forward {
		id = r.confirmed(rigAlias, rigValue)
	} else {
		id = r.verified(rigAlias, rigValue)
	}
	remove := r.sim.Inject(writes(f))
	defer remove()
	if dir == core.Forward {
		r.execute(id)
	} else {
		r.rollback(id)
	}
	r.mustBe(id, core.Reconciliation)
	return id
}

func (r *rig) observe(id string) core.Comparison {
	r.t.Helper()
	cmp, err := r.engine.Observe(context.Background(), id)
	r.must(err)
	return cmp
}

func (r *rig) reconcile(id string, o core.Outcome, seen core.Comparison) error {
	return r.engine.Reconcile(context.Background(), id, o, seen, rigOperator, pass())
}

// Every conclusion is possible exactly after the boundary at which certainty
// was lost, and only where a fresh reading supports it (seed 003; design
// section 4, rule 4).
func TestReconciliationOutcomes(t *testing.T) {
	lost, dropped := sim.Fault{Kind: sim.CommitThenDrop}, sim.Fault{Kind: sim.DropBeforeRun}
	for _, c := range []struct {
		name    string
		dir     core.Direction
		fault   sim.Fault
		wait    bool
		outcome core.Outcome
		want    core.State // "" when it must be refused
		refusal error
	}{
		{"applied, and it is", core.Forward, lost, false, core.ConfirmedApplied, core.Verified, nil},
		{"applied, and it is not", core.Forward, dropped, true, core.ConfirmedApplied, "", core.ErrOutcome},
		{"not applied, still settling", core.Forward, dropped, false, core.ConfirmedNotApplied, "", core.ErrSettling},
		{"not applied, settled", core.Forward, dropped, true, core.ConfirmedNotApplied, core.Failed, nil},
		{"not applied, and it is", core.Forward, lost, true, core.ConfirmedNotApplied, "", core.ErrOutcome},
		{"a rollback outcome for a forward doubt", core.Forward, lost, true, core.ConfirmedRollbackApplied, "", core.ErrOutcome},
		{"resuming a rollback that never was", core.Forward, lost, true, core.ResumeRollback, "", core.ErrOutcome},
		{"rolled back, and it is", core.Backward, lost, false, core.ConfirmedRollbackApplied, core.RolledBack, nil},
		{"rolled back, and it is not", core.Backward, dropped, true, core.ConfirmedRollbackApplied, "", core.ErrOutcome},
		{"not rolled back, still settling", core.Backward, dropped, false, core.ConfirmedRollbackNotApplied, "", core.ErrSettling},
		{"not rolled back, settled", core.Backward, dropped, true, core.ConfirmedRollbackNotApplied, core.RollbackFailed, nil},
		{"not rolled back, and it is", core.Backward, lost, true, core.ConfirmedRollbackNotApplied, "", core.ErrOutcome},
		{"a forward outcome for a rollback doubt", core.Backward, lost, true, core.ConfirmedApplied, "", core.ErrOutcome},
		{"resume, still settling", core.Backward, dropped, false, core.ResumeRollback, "", core.ErrSettling},
		{"resume, but it is rolled back", core.Backward, lost, true, core.ResumeRollback, "", core.ErrOutcome},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{deadlines: shortDeadlines})
			id := r.ambiguous(c.dir, c.fault)
			if c.wait {
				r.clock.move(past)
			}
			sends := r.sends()
			err := r.reconcile(id, c.outcome, r.observe(id))
			if !errors.Is(err, c.refusal) || (c.refusal == nil && err != nil) {
				t.Fatalf("got %v, want %v", err, c.refusal)
			}
			want := c.want
			if want == "" {
				want = core.Reconciliation
			}
			r.mustBe(id, want)
			if r.sends() != sends {
				t.Fatal("a conclusion sent something")
			}
		})
	}
}

// The fifth manual edge: a recorded conclusion, then exactly one further send.
func TestResumedRollbackSendsOnceMore(t *testing.T) {
	r := newRig(t, rigOptions{deadlines: shortDeadlines})
	old := r.description(rigAlias)
	id := r.ambiguous(core.Backward, sim.Fault{Kind: sim.DropBeforeRun})
	r.clock.move(past)
	sends := r.sends()
	seen := r.observe(id)
	r.run(id, func() error { return r.reconcile(id, core.ResumeRollback, seen) })
	r.mustBe(id, core.RolledBack)
	if r.sends() != sends+1 || r.description(rigAlias) != old {
		t.Fatalf("%d further sends, description %q", r.sends()-sends, r.description(rigAlias))
	}
}

// A request may outlive its client and write late, putting back what it read
// (design section 4, rule 4). Nothing supports "not applied" before the
// window has passed, from any console and after a restart; and when the late
// write comes, the next reading shows it.
func TestSettleWindowHoldsUntilTheLateWrite(t *testing.T) {
	r := newRig(t, rigOptions{deadlines: shortDeadlines})
	id := r.ambiguous(core.Forward, sim.Fault{Kind: sim.LateWrite, Late: 1200 * time.Millisecond})
	sends := r.sends()
	for range 2 {
		cmp := r.observe(id)
		if !cmp.NowSnapshot || cmp.NowIntended {
			t.Fatal("the late write came too early for this test")
		}
		if err := r.reconcile(id, core.ConfirmedNotApplied, cmp); !errors.Is(err, core.ErrSettling) {
			t.Fatalf("not applied, while a late write is possible: %v", err)
		}
		r.mustBeSettling()
		r.restart()
	}
	deadline := time.Now().Add(10 * time.Second)
	for r.description(rigAlias) != rigValue {
		if time.Now().After(deadline) {
			t.Fatal("the late write never came")
		}
		time.Sleep(20 * time.Millisecond)
	}
	cmp := r.observe(id)
	if !cmp.NowIntended {
		t.Fatal("the reading does not show the late write")
	}
	r.must(r.reconcile(id, core.ConfirmedApplied, cmp))
	r.mustBe(id, core.Verified)
	if r.sends() != sends {
		t.Fatal("something was sent again")
	}
}

// Evidence is about exactly one version of one contract as it was seen.
func TestReconciliationRefusesWhatIsStale(t *testing.T) {
	r := newRig(t, rigOptions{deadlines: shortDeadlines})
	id := r.ambiguous(core.Forward, sim.Fault{Kind: sim.CommitThenDrop})
	seen := r.observe(id)

	r.sim.Admin().SetAliasDescription(rigAlias, "changed after the look")
	if err := r.reconcile(id, core.ConfirmedApplied, seen); !errors.Is(err, core.ErrDrift) {
		t.Fatalf("a conclusion from an old look: %v", err)
	}
	r.sim.Admin().SetAliasDescription(rigAlias, rigValue)
	stale := seen
	stale.StateVersion--
	if err := r.reconcile(id, core.ConfirmedApplied, stale); !errors.Is(err, core.ErrDrift) {
		t.Fatalf("a conclusion about another version: %v", err)
	}
	if err := r.engine.Reconcile(context.Background(), id, core.ConfirmedApplied, seen, rigOperator, []byte("not the passphrase")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Fatalf("a wrong passphrase: %v", err)
	}
	r.mustBe(id, core.Reconciliation)
	r.must(r.reconcile(id, core.ConfirmedApplied, seen))
	if err := r.reconcile(id, core.ConfirmedApplied, seen); err == nil {
		t.Fatal("a resolved contract was resolved again")
	}
}

// Observation only reads.
func TestObservingSendsNothingAndWritesNothing(t *testing.T) {
	r := newRig(t, rigOptions{deadlines: shortDeadlines})
	id := r.ambiguous(core.Forward, sim.Fault{Kind: sim.CommitThenDrop})
	before, version := r.sends(), r.load(id).StateVersion
	for range 3 {
		r.observe(id)
	}
	if r.sends() != before || r.load(id).StateVersion != version {
		t.Fatal("observing changed something")
	}
}
