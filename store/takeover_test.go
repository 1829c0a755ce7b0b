package store

import (
	"context"
	"math"
	"runtime"
	"testing"

	"countersign/core"
)

// asReference runs f on the closed store as the reference would: it knows
// nothing of our own tables.
func (r *rig) asReference(f func(*tx) error) {
	r.t.Helper()
	r.must(r.Store.Close())
	s := newStore(r.opts)
	s.writer = r.opts.layer.connect(r.opts.Path, writerOptions(), 1)
	r.must(s.bare(r.ctx, "reference", f))
	s.disconnect()
	var err error
	r.Store, err = Open(r.ctx, r.opts)
	r.must(err)
}

// referenceStep moves a contract without a note and without its place.
func referenceStep(t *tx, c core.Contract, last core.AuditEvent, to core.State, edit func(*core.Contract)) (core.Contract, core.AuditEvent, error) {
	next := c
	next.State, next.StateVersion = to, c.StateVersion+1
	if edit != nil {
		edit(&next)
	}
	if err := t.moveReservation(c, next); err != nil {
		return c, last, err
	}
	if _, err := t.updateContract(next); err != nil {
		return c, last, err
	}
	e, err := t.appendEvent(core.EventTransition, c.State, next, last)
	return next, e, err
}

// What the reference does to a store between two of our openings is taken
// over: its records are authentic and newer, and nothing else was touched.
func TestReferenceWorksOnOurStore(t *testing.T) {
	r := newRig(t, nil)
	a := r.acquire(r.confirm(r.create("a", "t-a", "i-a")))
	r.create("b", "t-b", "i-b")
	events, err := r.Timeline(r.ctx, a.ID)
	r.must(err)
	r.asReference(func(t *tx) error {
		_, _, err := referenceStep(t, a, events[len(events)-1], core.Reconciliation, nil)
		if err != nil {
			return err
		}
		c := testContract("c", "t-c", "i-c", testStart, testValidity)
		if _, err := t.insertContract(c); err != nil {
			return err
		}
		_, err = t.appendEvent(core.EventCreated, "", c, core.AuditEvent{})
		return err
	})
	if bad := r.quarantined(); len(bad) != 0 {
		t.Fatalf("quarantined %v", bad)
	}
	counts, err := r.Counts(r.ctx)
	r.must(err)
	if counts.History != 3 || counts.Active != 3 || counts.NeedsYou != 1 {
		t.Fatalf("counts %+v", counts)
	}
	if _, id, err := r.LastAmbiguous(r.ctx); err != nil || id != "a" {
		t.Errorf("ambiguous: %s %v", id, err)
	}
	timeline, err := r.Timeline(r.ctx, "a")
	r.must(err)
	if n := len(timeline); timeline[n-1].Note != nil || timeline[n-2].Note == nil {
		t.Error("notes: the reference's event has one, or ours has none")
	}
	a, err = r.Load(r.ctx, "a")
	r.must(err)
	r.resolve(a, core.ConfirmedNotApplied)
	r.reopen()
	r.check()
}

// While the store is open, a change by another program makes our view stale:
// nothing is decided on it.
func TestChangedUnderneath(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("a", "t", "i")
	events, err := r.Timeline(r.ctx, c.ID)
	r.must(err)
	other := newStore(r.opts)
	other.writer = layer{}.connect(r.opts.Path, writerOptions(), 1)
	r.must(other.bare(r.ctx, "reference", func(t *tx) error {
		_, _, err := referenceStep(t, c, events[1], core.Failed, nil)
		return err
	}))
	other.disconnect()
	if _, err := r.Load(r.ctx, "a"); err == nil || ReasonOf(err) != "" {
		t.Fatalf("got %v, want a conflict and no quarantine", err)
	}
	r.reopen()
	if seen, err := r.Load(r.ctx, "a"); err != nil || seen.State != core.Failed {
		t.Fatalf("%s %v", seen.State, err)
	}
}

// The scan's memory does not grow with the number of contracts.
func TestScanMemoryIsConstant(t *testing.T) {
	if testing.Short() {
		t.Skip("fills stores of some thousand contracts")
	}
	// What is alive in the second half of the scan; the least of some samples,
	// because the other workers' garbage comes and goes.
	alive := func(n int) uint64 {
		r := newRig(t, nil)
		r.fill(n)
		r.must(r.Store.Close())
		least := uint64(math.MaxUint64)
		_, err := Verify(context.Background(), r.opts, func(done, total int) {
			if done < total/2 || done == total {
				return
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			least = min(least, m.HeapAlloc)
		})
		r.must(err)
		r.Store = newStore(r.opts)
		return least
	}
	small, large := alive(1000), alive(6000)
	if large > small+1<<20 {
		t.Errorf("%d bytes for 1,000 contracts, %d for 6,000", small, large)
	}
	t.Logf("memory in use while scanning: %d KiB for 1,000 contracts, %d KiB for 6,000", small>>10, large>>10)
}
