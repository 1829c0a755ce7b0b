package store

import (
	"slices"
	"testing"
	"time"

	"countersign/core"
)

// ids walks a whole list in pages of two.
func (r *rig) ids(list core.ListName) []string {
	r.t.Helper()
	var all []string
	q := core.ListQuery{List: list, Limit: 2}
	for {
		page, err := r.List(r.ctx, q)
		r.must(err)
		if len(page.Items) > 2 {
			r.t.Fatalf("a page of %d", len(page.Items))
		}
		for _, item := range page.Items {
			all = append(all, item.Contract.ID)
		}
		if page.Next == "" {
			return all
		}
		q.After = page.Next
	}
}

// The three lists, newest first, in pages that never repeat or skip a row,
// and their sizes.
func TestLists(t *testing.T) {
	r := newRig(t, nil)
	r.move(r.acquire(r.confirm(r.create("a", "t-a", "i-a"))), core.Reconciliation)
	r.seal(r.acquire(r.confirm(r.create("b", "t-b", "i-b"))))
	r.move(r.create("c", "t-c", "i-c"), core.Failed)
	r.move(r.rollBack(r.seal(r.acquire(r.confirm(r.create("d", "t-d", "i-d"))))), core.RollbackFailed)
	r.clock.add(5 * time.Minute)
	r.create("e", "t-e", "i-e") // expires at 15 minutes
	r.clock.add(9 * time.Minute)
	r.create("f", "t-f", "i-f") // expires at 24 minutes

	for list, want := range map[core.ListName][]string{
		core.ListHistory:  {"f", "e", "d", "c", "b", "a"},
		core.ListOldest:   {"a", "b", "c", "d", "e", "f"},
		core.ListActive:   {"f", "e", "b", "a"},
		core.ListNeedsYou: {"e", "d", "a"},
	} {
		if got := r.ids(list); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", list, got, want)
		}
	}
	counts, err := r.Counts(r.ctx)
	r.must(err)
	if counts != (core.Counts{Active: 4, NeedsYou: 3, History: 6}) {
		t.Errorf("counts %+v", counts)
	}
	r.clock.add(time.Hour) // e and f have expired: they block, and nobody here can do anything
	if got := r.ids(core.ListNeedsYou); !slices.Equal(got, []string{"d", "a"}) {
		t.Errorf("after expiry: %v", got)
	}
}

// A row shows who prepared it, the note of its last event and what is known
// about loading.
func TestListItem(t *testing.T) {
	r := newRig(t, nil)
	c := r.acquire(r.confirm(r.create("a", "t", "i")))
	_, err := r.SealVerified(r.ctx, c.ID, c.StateVersion, testDigest("after"), c.LifecycleLocator, core.Note{Status: 200, Neighbours: 2})
	r.must(err)
	for _, claim := range []core.LoadClaim{core.LoadAsked, core.LoadClaimed} {
		r.must(r.RecordLoad(r.ctx, core.LoadRecord{ContractID: c.ID, Direction: core.Forward, Subsystem: core.Firewall, Claim: claim, Actor: "mika"}))
	}
	page, err := r.List(r.ctx, core.ListQuery{List: core.ListHistory, Limit: 10})
	r.must(err)
	item := page.Items[0]
	if item.Actor != "jo" || item.Note == nil || item.Note.Status != 200 || item.Note.Neighbours != 2 || item.Load != core.LoadClaimed {
		t.Fatalf("%+v", item)
	}
	loads, err := r.Loads(r.ctx, c.ID)
	r.must(err)
	if len(loads) != 2 || loads[0].Claim != core.LoadAsked || loads[1].Actor != "mika" || !loads[1].At.Equal(testStart) {
		t.Fatalf("%+v", loads)
	}
}

// A page costs the same wherever it is in a long history.
func TestPagesOfALongHistory(t *testing.T) {
	r := newRig(t, nil)
	r.fill(500)
	if got := r.ids(core.ListHistory); len(got) != 500 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 500 {
		t.Fatalf("%d rows, or some twice", len(got))
	}
	page, err := r.List(r.ctx, core.ListQuery{List: core.ListActive, Limit: 100_000})
	r.must(err)
	if len(page.Items) != pageLimit {
		t.Fatalf("a page of %d", len(page.Items))
	}
	if _, err := r.List(r.ctx, core.ListQuery{List: "another", Limit: 1}); err == nil {
		t.Error("an unknown list was read")
	}
	if _, err := r.List(r.ctx, core.ListQuery{List: core.ListHistory, Limit: 1, After: "nobody"}); err == nil {
		t.Error("a page after an unknown contract was read")
	}
}

// In a store that is open for reading alone, without our tables, the oldest
// come first as well.
func TestOldestOfAForeignStore(t *testing.T) {
	m := loadManifest(t)
	seen := 0
	for _, c := range m.Corrupt {
		if c.OpenWith != nil {
			continue
		}
		o := m.options(t, c.File)
		s, err := Open(t.Context(), o)
		if err != nil {
			continue // refused
		}
		r := &rig{t: t, ctx: t.Context(), opts: o, Store: s}
		if !s.own {
			oldest, newest := r.ids(core.ListOldest), r.ids(core.ListHistory)
			if slices.Reverse(newest); !slices.Equal(oldest, newest) {
				t.Errorf("%s: oldest first %v, and the reverse of newest first %v", c.File, oldest, newest)
			}
			if len(oldest) > 2 { // more than one page
				seen++
			}
		}
		must(t, s.Close())
	}
	if seen == 0 {
		t.Fatal("no such store has more than one page")
	}
}
