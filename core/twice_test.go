package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// TestTwoProcessesExecuteTheSameContract: however hard they try, one request
// is sent. Below the lock one process can take the other's advance of the
// anchor for one that was given up; the contract is then sent by nobody (ErrConflict).
func TestTwoProcessesExecuteTheSameContract(t *testing.T) {
	for _, do := range []string{"hammer", "hammer below the lock"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			id := r.confirmed(rigAlias, rigValue)
			r.close()
			gate := sim.NewGate() // the one request waits until the other process has tried everything
			r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeAnswer, Gate: gate}))
			both := [2]*child{r.start(childJob{Do: do, Contract: id}), r.start(childJob{Do: do, Contract: id})}
			want, ends := 1, core.Verified
			if !arrives(gate, both[:]...) {
				want, ends = 0, core.Prepared
			}
			select {
			case <-both[0].done:
			case <-both[1].done:
			}
			gate.Open()
			succeeded := 0
			for _, c := range both {
				said := c.says()
				var mode string
				var n int
				if _, err := fmt.Sscan(said, &mode, &n); err != nil {
					t.Fatalf("it said %q", said)
				}
				succeeded += n
			}
			if succeeded != want || r.sends() != want {
				t.Fatalf("%d runs succeeded, %d requests were sent, want %d", succeeded, r.sends(), want)
			}
			r.open()
			r.mustBe(id, ends)
			if len(r.report.Recovered) != 0 {
				t.Fatalf("the start recovered %+v", r.report.Recovered)
			}
			if want == 0 {
				r.mustBeGivenUp(id, do)
			}
		})
	}
}

// mustBeGivenUp: nothing was sent because an advance was attributed, and for
// no other reason.
func (r *rig) mustBeGivenUp(id, do string) {
	r.t.Helper()
	advances := r.column("SELECT contract_id || ' ' || step FROM cs_advances")
	if do != "hammer below the lock" || !slices.Contains(advances, id+" attributed") {
		r.t.Fatalf("%s: nothing was sent; the advances are %v", do, advances)
	}
	r.clock.move(past)
	if p := r.execute(id); !errors.Is(p.Err, core.ErrConflict) || r.sends() != 0 {
		r.t.Fatalf("it was sent after all: %v, %d requests", p.Err, r.sends())
	}
}

const blows = 20

// hammer executes a contract again and again as a console would, and counts
// the runs that sent it.
func (r *rig) hammer(id string) (succeeded int) {
	for range blows {
		h, err := r.engine.Refresh(ctx())
		r.must(err)
		if h.Mode == core.ModeObserver {
			if err := r.engine.Execute(ctx(), id); !errors.Is(err, core.ErrObserver) {
				r.t.Fatal("an observer may execute: ", err)
			}
			continue
		}
		if p := r.execute(id); p.Err == nil {
			succeeded++
		}
	}
	return succeeded
}

// hammerBelowTheLock goes round the executor lock: the store's compare and
// set alone decides.
func (r *rig) hammerBelowTheLock(id string) (succeeded int) {
	for range blows {
		if p := r.sendDirectly(id, core.Forward); p.Err == nil {
			succeeded++
		}
	}
	return succeeded
}
