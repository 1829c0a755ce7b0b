package core_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// blocking is a contract, not confirmed yet, that blocks 192.0.2.66.
func (r *rig) blocking() string {
	r.t.Helper()
	return r.preparedChange("FIREWALL_ALIAS_ENTRIES", core.Object{"alias_name": "blocklist",
		"add": []any{"192.0.2.66 blocked by jo"}, "remove": []any{}})
}

func (r *rig) preparedChange(symbol string, fields core.Object) string {
	r.t.Helper()
	d, err := r.engine.Prepare(ctx(), symbol, fields, "")
	r.must(err)
	id, err := r.engine.Authorize(ctx(), d, rigOperator, pass())
	r.must(err)
	return id
}

// shown is what the review of a contract shows as waiting to be loaded.
func (r *rig) shown(id string) core.Waiting {
	review, _ := r.engine.Review(ctx(), id) // a test that spoils the reading expects another refusal
	return review.Waiting
}

// askToLoad asks to load what the review shows.
func (r *rig) askToLoad(id string) error {
	return r.engine.Load(ctx(), id, rigOperator, pass(), r.shown(id))
}

// mustKnow compares everything that is recorded about loading.
func (r *rig) mustKnow(id string, want ...core.LoadClaim) {
	r.t.Helper()
	records, err := r.store.Loads(ctx(), id)
	r.must(err)
	var got []core.LoadClaim
	for _, record := range records {
		got = append(got, record.Claim)
		if record.Actor != rigOperator || record.Evidence == "" {
			r.t.Errorf("%s names %q and evidence %q", record.Claim, record.Actor, record.Evidence)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Fatalf("recorded about loading: %q, want %q", got, want)
	}
}

func mustEndLoading(t *testing.T, p core.Progress, final core.State, status core.StepStatus, said string) {
	t.Helper()
	last := p.Steps[len(p.Steps)-1]
	if p.Final != final || last.Name != core.StepAskLoad || last.Status != status || !strings.Contains(p.Sentence, said) {
		t.Fatalf("ended in %s with step %q %d: %q; want %s, status %d, %q", p.Final, last.Name, last.Status, p.Sentence, final, status, said)
	}
}

// One confirmation covers the change and its loading, in both directions, for
// every capability that needs loading, on every version.
func TestLoadingAgreedInTheConfirmation(t *testing.T) {
	runs := 0
	for _, profile := range sim.Profiles() {
		for _, c := range pfsense.Capabilities() {
			spec := c.Spec()
			if spec.Loads == core.LoadsAtOnce {
				continue
			}
			runs++
			t.Run(profile+"/"+spec.EndpointSymbol, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rigOptions{simServer: practice(t, profile)})
				id := r.preparedChange(spec.EndpointSymbol, changes()[spec.EndpointSymbol].fields)
				review, err := r.engine.Review(ctx(), id)
				r.must(err)
				r.must(r.engine.ConfirmAndLoad(ctx(), id, review.Target, rigOperator, pass(), core.Waiting{}))
				r.mustKnow(id, core.LoadAgreed)
				mustEndLoading(t, r.execute(id), core.Verified, core.StepDone, "the firewall says that it is loaded")
				r.mustKnow(id, core.LoadAgreed, core.LoadAsked, core.LoadClaimed)
				p := r.run(id, func() error { return r.engine.RollbackAndLoad(ctx(), id, rigOperator, pass(), core.Waiting{}) })
				mustEndLoading(t, p, core.RolledBack, core.StepDone, "the firewall says that it is loaded")
				r.mustKnow(id, core.LoadAgreed, core.LoadAsked, core.LoadClaimed, core.LoadAsked, core.LoadClaimed)
				if r.sends() != 4 {
					t.Fatalf("%d requests, want two changes and two loadings", r.sends())
				}
			})
		}
	}
	t.Logf("loading in the confirmation: %d capabilities x versions", runs)
}

// What is loaded is what was agreed to: the address, and then the old state.
func TestAgreedLoadingLoadsTheChange(t *testing.T) {
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	has := func(entry sim.AliasEntry, ok bool) bool { return slices.Contains(entry.Addresses, "192.0.2.66") }
	id := r.blocking()
	r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), core.Waiting{}))
	r.restart() // the agreement is on disk
	r.execute(id)
	if !has(r.sim.LoadedAlias("blocklist")) {
		t.Fatal("verified, and not loaded")
	}
	r.run(id, func() error { return r.engine.RollbackAndLoad(ctx(), id, rigOperator, pass(), core.Waiting{}) })
	if has(r.sim.LoadedAlias("blocklist")) {
		t.Fatal("rolled back, and the new state is still loaded")
	}
	detail, err := r.engine.Detail(ctx(), id)
	r.must(err)
	if detail.Row.Load != core.LoadClaimed {
		t.Fatalf("the row says %q", detail.Row.Load)
	}
}

// Nobody agrees to loading changes that they were not shown.
func TestLoadingIsAgreedToOverWhatWasShown(t *testing.T) {
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	atOnce := r.preparedChange("FIREWALL_ALIAS_DESCRIPTION", changes()["FIREWALL_ALIAS_DESCRIPTION"].fields)
	review, err := r.engine.Review(ctx(), atOnce)
	r.must(err)
	if err := r.engine.ConfirmAndLoad(ctx(), atOnce, review.Target, rigOperator, pass(), core.Waiting{}); !errors.Is(err, core.ErrConflict) {
		t.Fatalf("loading of a change that works at once: %v", err)
	}
	id := r.blocking()
	r.sim.Admin().MarkPending("filter")
	if err := r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), core.Waiting{}); !errors.Is(err, core.ErrWaitingChanged) {
		t.Fatalf("confirmed with loading: %v", err)
	}
	r.mustKnow(id)
	if r.load(id).Confirmed() {
		t.Fatal("a refused confirmation was recorded")
	}
	r.must(r.engine.Confirm(ctx(), id, "blocklist", rigOperator, pass()))
	if p := r.execute(id); p.Final != core.Verified || p.Steps[len(p.Steps)-1].Name != core.StepSeal {
		t.Fatalf("without an agreement: %s, %v", p.Final, p.Steps)
	}
	if err := r.engine.RollbackAndLoad(ctx(), id, rigOperator, pass(), core.Waiting{}); !errors.Is(err, core.ErrWaitingChanged) {
		t.Fatalf("rolled back with loading: %v", err)
	}
	r.mustBe(id, core.Verified)
	r.mustKnow(id)
	preview, err := r.engine.RollbackPreview(ctx(), id)
	r.must(err)
	if !slices.Equal(preview.Waiting.Names, []string{"aliases", "filter"}) {
		t.Fatalf("the preview shows %q", preview.Waiting.Names)
	}
	p := r.run(id, func() error {
		return r.engine.RollbackAndLoad(ctx(), id, rigOperator, pass(), core.Waiting{Names: []string{"filter", "aliases"}})
	})
	mustEndLoading(t, p, core.RolledBack, core.StepDone, "the firewall says that it is loaded")
	r.mustKnow(id, core.LoadAsked, core.LoadClaimed)
}

// What the confirmation showed may be loaded with the change, and so may less.
func TestAgreedLoadingCoversWhatWasShown(t *testing.T) {
	for name, meanwhile := range map[string]func(*sim.Admin){
		"nothing happens":    func(*sim.Admin) {},
		"somebody loads it":  func(a *sim.Admin) { a.Reload() },
		"it is marked again": func(a *sim.Admin) { a.MarkPending("filter") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
			r.sim.Admin().MarkPending("filter")
			id := r.blocking()
			review, err := r.engine.Review(ctx(), id)
			r.must(err)
			r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), review.Waiting))
			meanwhile(r.sim.Admin())
			mustEndLoading(t, r.execute(id), core.Verified, core.StepDone, "the firewall says that it is loaded")
			r.mustKnow(id, core.LoadAgreed, core.LoadAsked, core.LoadClaimed)
		})
	}
}

// An agreement is not stretched: where anything is not as it was agreed to,
// nothing is asked, the screen says why, and loading stays a step of its own.
func TestAgreedLoadingIsGivenUp(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(r *rig)
		final core.State
		said  string
	}{
		{"somebody else's change became pending before the send",
			func(r *rig) { r.sim.Admin().MarkPending("filter") }, core.Verified, "not loaded: other changes wait"},
		{"a neighbour changed while it was sent", func(r *rig) {
			r.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer,
				Func: func(a *sim.Admin) { a.SetAliasDescription("web_servers", "somebody else") }}))
		}, core.Verified, "not loaded: something else changed"},
		{"the answer was lost", func(r *rig) { r.sim.Inject(writes(sim.Fault{Kind: sim.CommitThenDrop})) },
			core.Reconciliation, "a person must conclude"},
		{"the change was refused", func(r *rig) { r.sim.Inject(writes(sim.Fault{Kind: sim.Status403})) },
			core.Failed, "proven"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
			id := r.blocking()
			r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), core.Waiting{}))
			c.spoil(r)
			mustEndLoading(t, r.execute(id), c.final, core.StepSkipped, c.said)
			r.mustKnow(id, core.LoadAgreed)
			if r.sends() != 1 {
				t.Fatalf("%d requests", r.sends())
			}
		})
	}
}

// A console that ends finishes the step in flight and begins no new one
// (design section 4, rule 14).
func TestAgreedLoadingDoesNotBeginWhileTheConsoleEnds(t *testing.T) {
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	id := r.blocking()
	r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), core.Waiting{}))
	unconfirmed := r.preparedChange("FIREWALL_RULE_ENABLED", changes()["FIREWALL_RULE_ENABLED"].fields)
	gate := sim.NewGate()
	r.sim.Inject(sim.Fault{Kind: sim.Block, Method: http.MethodPatch, At: sim.BeforeWrite, Gate: gate})
	r.must(r.engine.Execute(ctx(), id))
	<-gate.Arrived()
	ended := make(chan struct{})
	go func() { defer close(ended); r.engine.Wait() }()
	for closed := false; !closed; { // new runs are refused from here on
		time.Sleep(time.Millisecond)
		closed = r.engine.InFlight() == 1 && errors.Is(r.engine.Execute(ctx(), unconfirmed), core.ErrBusy)
	}
	gate.Open()
	<-ended
	r.mustBe(id, core.Verified)
	r.mustKnow(id, core.LoadAgreed)
}

// The answer to loading is recorded for what it is; the change stays VERIFIED.
func TestAgreedLoadingWithoutAClearAnswer(t *testing.T) {
	for kind, want := range map[sim.Kind]core.LoadClaim{sim.CommitThenDrop: core.LoadUnknown, sim.Status403: core.LoadRefused} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
			id := r.blocking()
			r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), core.Waiting{}))
			r.sim.Inject(sim.Fault{Kind: kind, Method: http.MethodPost})
			mustEndLoading(t, r.execute(id), core.Verified, core.StepStopped, "loaded")
			r.mustKnow(id, core.LoadAgreed, core.LoadAsked, want)
			if r.sends() != 2 {
				t.Fatalf("%d requests", r.sends())
			}
		})
	}
}
