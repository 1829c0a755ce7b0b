package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/core"
	"countersign/pfsense/sim"
)

// failingStore fails one call of one operation, as a full or broken disk
// does: before anything was written, or with the answer of the commit lost.
type failingStore struct {
	core.Store
	operation string // "" when it has failed
	committed bool
}

var errDisk = errors.New("the disk failed")

func (s *failingStore) change(operation string, do func() (core.Contract, error)) (core.Contract, error) {
	if operation != s.operation {
		return do()
	}
	s.operation = ""
	if s.committed {
		if _, err := do(); err != nil {
			return core.Contract{}, err
		}
	}
	return core.Contract{}, errDisk
}

func (s *failingStore) Acquire(ctx context.Context, id string, version int64) (core.Contract, error) {
	return s.change("acquire", func() (core.Contract, error) { return s.Store.Acquire(ctx, id, version) })
}

func (s *failingStore) AcquireRollback(ctx context.Context, id string, a core.Approval, v core.Verifier) (core.Contract, error) {
	return s.change("acquire", func() (core.Contract, error) { return s.Store.AcquireRollback(ctx, id, a, v) })
}

func (s *failingStore) SealVerified(ctx context.Context, id string, version int64, f canon.Digest, locator int64, n core.Note) (core.Contract, error) {
	return s.change("seal", func() (core.Contract, error) { return s.Store.SealVerified(ctx, id, version, f, locator, n) })
}

func (s *failingStore) SealRolledBack(ctx context.Context, id string, version, locator int64, n core.Note) (core.Contract, error) {
	return s.change("seal", func() (core.Contract, error) { return s.Store.SealRolledBack(ctx, id, version, locator, n) })
}

func (s *failingStore) Transition(ctx context.Context, id string, version int64, to core.State, n core.Note) (core.Contract, error) {
	return s.change("transition", func() (core.Contract, error) { return s.Store.Transition(ctx, id, version, to, n) })
}

// failure is a store that fails once, in both directions.
type failure struct {
	name      string
	operation string
	committed bool     // only the answer of the commit is lost
	fault     sim.Kind // what the appliance does with the request
	drift     bool     // the target changes before the re-read
	// forward and backward are on disk afterwards; the next start moves what
	// is under way to RECONCILIATION.
	forward, backward core.State
	sends             int
}

var failures = []failure{
	{name: "the seal", operation: "seal", forward: core.Executing, backward: core.RollingBack, sends: 1},
	{name: "the seal's answer", operation: "seal", committed: true, forward: core.Verified, backward: core.RolledBack, sends: 1},
	{name: "a proven failure", operation: "transition", fault: sim.Status400, forward: core.Executing, backward: core.RollingBack, sends: 1},
	{name: "a proven failure's answer", operation: "transition", committed: true, fault: sim.Status400, forward: core.Failed, backward: core.RollbackFailed, sends: 1},
	{name: "a doubt", operation: "transition", fault: sim.CommitThenDrop, forward: core.Executing, backward: core.RollingBack, sends: 1},
	{name: "a doubt's answer", operation: "transition", committed: true, fault: sim.CommitThenDrop, forward: core.Reconciliation, backward: core.Reconciliation, sends: 1},
	{name: "a refusal before the send", operation: "transition", drift: true, forward: core.Executing, backward: core.RollingBack},
	{name: "the acquisition", operation: "acquire", forward: core.Prepared, backward: core.Verified},
	{name: "the acquisition's answer", operation: "acquire", committed: true, forward: core.Executing, backward: core.RollingBack},
}

// TestStoreFailsAfterTheSend: a result that could not be written down is
// reported as not known, never as refused. The row stays where it is, the
// same console sends nothing again, and the next start reconciles (design
// lesson 5).
func TestStoreFailsAfterTheSend(t *testing.T) {
	for _, f := range failures {
		for _, dir := range []core.Direction{core.Forward, core.Backward} {
			t.Run(string(dir)+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				f.play(t, dir)
			})
		}
	}
}

func (f failure) play(t *testing.T, dir core.Direction) {
	s := &failingStore{committed: f.committed}
	r := newRig(t, rigOptions{wrapStore: func(real core.Store) core.Store { s.Store = real; return s }})
	id, run, left := r.confirmed(rigAlias, rigValue), r.execute, f.forward
	if dir == core.Backward {
		r.execute(id)
		run, left = r.rollback, f.backward
	}
	before := r.sim.Wire()
	if f.fault != "" {
		r.sim.Inject(writes(sim.Fault{Kind: f.fault}))
	}
	if f.drift {
		crash{do: map[core.Direction]string{core.Forward: "execute", core.Backward: "roll back"}[dir]}.driftBeforeTheReread(r)
	}
	s.operation = f.operation
	p := run(id)
	r.mustBe(id, left)
	if f.operation == "acquire" {
		if !errors.Is(p.Err, errDisk) || p.Sentence != "nothing was sent" {
			t.Fatalf("it says %q: %v", p.Sentence, p.Err)
		}
	} else if !errors.Is(p.Err, core.ErrStoreUncertain) || !strings.Contains(p.Sentence, "not known yet") {
		t.Fatalf("it says %q: %v", p.Sentence, p.Err)
	}
	f.tryAgain(r, id, left)
	r.restart()
	if left.Interrupted() != (len(r.report.Recovered) == 1) {
		t.Fatalf("left in %s, the start recovered %+v", left, r.report.Recovered)
	}
	r.mustBe(id, crash{left: left}.after())
	r.mustBeAnchored()
	if sent := r.sim.Wire().Since(before).Mutations; sent != f.sends {
		t.Fatalf("%d requests were sent, want %d", sent, f.sends)
	}
	f.goOn(r, id, left)
}

// tryAgain: what is under way is sent by nobody a second time, and nothing
// else is sent beside it.
func (f failure) tryAgain(r *rig, id string, left core.State) {
	r.t.Helper()
	if !left.Interrupted() {
		return
	}
	if p := r.execute(id); !errors.Is(p.Err, core.ErrConflict) {
		r.t.Fatalf("the same contract again: %v", p.Err)
	}
	if p := r.sendDirectly(id, core.Backward); !errors.Is(p.Err, core.ErrConflict) {
		r.t.Fatalf("its rollback: %v", p.Err)
	}
	if p := r.execute(r.confirmed(rigOther, rigOtherValue)); !errors.Is(p.Err, core.ErrLimit) {
		r.t.Fatalf("another contract beside it: %v", p.Err)
	}
	r.mustBe(id, left)
}

// goOn: what was never acquired can be sent after all.
func (f failure) goOn(r *rig, id string, left core.State) {
	r.t.Helper()
	switch {
	case left == core.Prepared:
		r.execute(id)
		r.mustBe(id, core.Verified)
	case left == core.Verified && f.operation == "acquire":
		r.rollback(id)
		r.mustBe(id, core.RolledBack)
	}
}
