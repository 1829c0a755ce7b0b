package core_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// asks matches the request to load.
func asks(f sim.Fault) sim.Fault { return matching(f, http.MethodPost, "/firewall/apply") }

// loadGuard is a reason not to ask. Of a contract that could be loaded the
// row makes one that may not, or spoils what is around it.
type loadGuard struct {
	name string
	opts rigOptions
	// arrange returns what must be undone at the end; nil: nothing.
	arrange func(r *rig, id *string) (undo func())
	pass    string // "": the right one
	want    error
}

func loadGuards() []loadGuard {
	state := func(name string, make func(r *rig) string, want error) loadGuard {
		return loadGuard{name: name, want: want, arrange: func(r *rig, id *string) func() { *id = make(r); return nil }}
	}
	entriesOfOther := change{"FIREWALL_ALIAS_ENTRIES", rigOther, core.Object{"alias_name": rigOther, "add": []any{"8443 admin panel"}, "remove": []any{}}}
	ended := func(r *rig, f sim.Fault) string {
		id := r.confirmedChange(entriesOfOther)
		r.sim.Inject(writes(f))
		r.execute(id)
		r.clock.move(past)
		return id
	}
	return []loadGuard{
		{name: "read-only mode", want: core.ErrReadOnlyAppliance, arrange: func(r *rig, _ *string) func() {
			r.sim.Admin().SetReadOnly(true)
			return nil
		}},
		{name: "another firewall", want: core.ErrApplianceMismatch, arrange: func(r *rig, _ *string) func() {
			other, err := sim.New(sim.Options{})
			r.must(err)
			r.site = site{URL: other.URL(), Pin: other.Fingerprint(), Key: other.APIKey()}
			r.restart()
			return func() {
				if n := other.Wire().Mutations; n != 0 {
					r.t.Errorf("the other firewall was sent %d requests", n)
				}
				other.Close()
			}
		}},
		{name: "a firewall that cannot be read", want: core.ErrAppliance, arrange: func(r *rig, _ *string) func() {
			r.sim.Inject(matching(sim.Fault{Kind: sim.Status500, Times: -1}, http.MethodGet, "/"))
			return nil
		}},
		{name: "nothing that loads", opts: rigOptions{ports: func(p *core.Ports) { p.Loader = nil }}, want: core.ErrPolicy},
		{name: "a wrong passphrase", pass: "not the passphrase", want: core.ErrWrongPassphrase},
		state("a change that works at once", func(r *rig) string { return r.verified(rigOther, rigOtherValue) }, core.ErrConflict),
		state("a change that was not sent", func(r *rig) string { return r.confirmedChange(entriesOfOther) }, core.ErrConflict),
		state("a change that failed", func(r *rig) string { return ended(r, sim.Fault{Kind: sim.Status400}) }, core.ErrConflict),
		state("a change in doubt", func(r *rig) string { return ended(r, sim.Fault{Kind: sim.CommitThenDrop}) }, core.ErrConflict),
		{name: "a change that this console sends", want: core.ErrBusy, arrange: func(r *rig, _ *string) func() {
			id, gate := r.confirmedChange(entriesOfOther), sim.NewGate()
			r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: gate}))
			r.must(r.engine.Execute(ctx(), id))
			<-gate.Arrived()
			return gate.Open
		}},
		{name: "a loading that this console asked for", want: core.ErrBusy, arrange: func(r *rig, id *string) func() {
			asked, gate := *id, sim.NewGate()
			*id = r.confirmedChange(entriesOfOther)
			r.execute(*id)
			r.sim.Inject(asks(sim.Fault{Kind: sim.Block, At: sim.BeforeProcessing, Gate: gate}))
			r.must(r.askToLoad(asked))
			<-gate.Arrived()
			if err := r.askToLoad(asked); !errors.Is(err, core.ErrBusy) {
				r.t.Errorf("the same again: %v", err)
			}
			return gate.Open
		}},
	}
}

// TestLoadGuards: whatever stands against asking refuses before anything is
// recorded or sent (design section 4, rules 4, 7, 8 and 15). The settle
// window is in TestNothingIsSentInsideTheSettleWindow, the observer in
// TestObserverTakesOver.
func TestLoadGuards(t *testing.T) {
	for _, g := range loadGuards() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, g.opts)
			id := r.confirmedChange(theEntries)
			r.execute(id)
			r.mustBe(id, core.Verified)
			undo := func() {}
			if g.arrange != nil {
				if f := g.arrange(r, &id); f != nil {
					undo = f
				}
			}
			defer undo()
			phrase := rigPass
			if g.pass != "" {
				phrase = g.pass
			}
			found, before := r.load(id), r.sim.Wire()
			if err := r.engine.Load(ctx(), id, rigOperator, []byte(phrase), r.shown(id)); !errors.Is(err, g.want) {
				t.Fatalf("got %v, want %v", err, g.want)
			}
			r.mustKnow(id)
			if sent := r.sim.Wire().Since(before).Mutations; sent != 0 {
				t.Fatalf("%d requests were sent", sent)
			}
			if now := r.load(id); now.State != found.State || now.StateVersion != found.StateVersion {
				t.Fatalf("a refused loading changed the contract to %s", now.State)
			}
		})
	}
}

// failingLoads fails to record one fact about loading.
type failingLoads struct {
	core.Store
	claim     core.LoadClaim // "" when it has failed
	committed bool
}

func (s *failingLoads) RecordLoad(ctx context.Context, l core.LoadRecord) error {
	if l.Claim != s.claim {
		return s.Store.RecordLoad(ctx, l)
	}
	s.claim = ""
	if s.committed {
		if err := s.Store.RecordLoad(ctx, l); err != nil {
			return err
		}
	}
	return errDisk
}

// Where the agreement cannot be written down, the change is confirmed and can
// be sent; loading it is a step of its own.
func TestStoreFailsWhileAgreeingToLoad(t *testing.T) {
	s := &failingLoads{claim: core.LoadAgreed}
	r := newRig(t, rigOptions{wrapStore: func(real core.Store) core.Store { s.Store = real; return s }})
	id := r.preparedEntries()
	review, err := r.engine.Review(ctx(), id)
	r.must(err)
	err = r.engine.ConfirmAndLoad(ctx(), id, review.Target, rigOperator, pass(), review.Waiting)
	if !errors.Is(err, core.ErrLoadingLeftOut) || !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	if !r.load(id).Confirmed() {
		t.Fatal("it is not confirmed")
	}
	if p := r.execute(id); p.Final != core.Verified || p.Steps[len(p.Steps)-1].Name != core.StepSeal {
		t.Fatalf("%s: %v", p.Final, p.Steps)
	}
	r.mustKnow(id)
	r.run(id, func() error { return r.askToLoad(id) })
	r.mustKnow(id, core.LoadAsked, core.LoadClaimed)
}

// Nothing is asked whose question is not on disk, and an answer that could
// not be written down leaves the question as the last thing that is known.
func TestStoreFailsWhileLoading(t *testing.T) {
	for _, c := range []struct {
		name      string
		claim     core.LoadClaim
		committed bool
		requests  int
		known     []core.LoadClaim
	}{
		{"the question", core.LoadAsked, false, 0, nil},
		{"the question's answer", core.LoadAsked, true, 0, []core.LoadClaim{core.LoadAsked}},
		{"the claim", core.LoadClaimed, false, 1, []core.LoadClaim{core.LoadAsked}},
		{"the claim's answer", core.LoadClaimed, true, 1, []core.LoadClaim{core.LoadAsked, core.LoadClaimed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &failingLoads{committed: c.committed}
			r := newRig(t, rigOptions{wrapStore: func(real core.Store) core.Store { s.Store = real; return s }})
			id := r.confirmedChange(theEntries)
			r.execute(id)
			before := r.sends()
			s.claim = c.claim
			p := r.run(id, func() error { return r.askToLoad(id) })
			if !errors.Is(p.Err, errDisk) {
				t.Fatalf("it ended with %v: %s", p.Err, p.Sentence)
			}
			r.restart()
			r.mustKnow(id, c.known...)
			r.mustBe(id, core.Verified)
			if r.sends()-before != c.requests {
				t.Fatalf("%d requests, want %d", r.sends()-before, c.requests)
			}
		})
	}
}
