package core_test

import (
	"context"
	"errors"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// The same contract invoked several times at once is sent once; every other
// invocation is refused and sends nothing (seed 003, Fault decisions).
func TestTheSameContractInvokedAtOnce(t *testing.T) {
	const invocations = 6
	for _, dir := range []core.Direction{core.Forward, core.Backward} {
		t.Run(string(dir), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			id := r.confirmed(rigAlias, rigValue)
			ends := faultRow{state: core.Verified}
			if dir == core.Backward {
				r.execute(id)
			}
			invoke := r.invocation(id, dir)
			before, gate := r.sends(), sim.NewGate()
			r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: gate}))
			results := make(chan error, invocations)
			for range invocations {
				go func() { results <- invoke() }()
			}
			for range invocations - 1 { // the one that sends waits until all others are refused
				if err := <-results; !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrIllegalTransition) {
					t.Errorf("got %v", err)
				}
			}
			gate.Open()
			r.must(<-results)
			r.mustBe(id, ends.expected(dir))
			if r.sends() != before+1 {
				t.Fatalf("%d requests were sent", r.sends()-before)
			}
			r.mustBeAnchored()
		})
	}
}

// invocation drives one executor, as every console of a process does.
func (r *rig) invocation(id string, dir core.Direction) func() error {
	r.t.Helper()
	x := r.executor()
	if dir == core.Forward {
		opened, err := core.OpenContract(ctx(), r.load(id), x.Capabilities, x.Sealer)
		r.must(err)
		return func() error {
			_, err := x.Execute(context.Background(), id, opened.Request, nil)
			return err
		}
	}
	a, authority := r.approval(id, core.ApproveRollback)
	r.t.Cleanup(authority.Close)
	return func() error {
		_, err := x.Rollback(context.Background(), id, a, authority, nil)
		return err
	}
}
