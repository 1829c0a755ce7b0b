package core_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// Where the firewall does not say what waits, that is shown as not known, and
// nothing is loaded by a confirmation. A step of its own can still ask, over
// exactly that.
func TestUnreadIsNotNothing(t *testing.T) {
	for _, kind := range []sim.Kind{sim.Status403, sim.WrongShape} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
			id := r.blocking()
			r.sim.Admin().MarkPending("filter")
			unread := sim.Fault{Kind: kind, Method: http.MethodGet, Path: "/firewall/apply", Times: -1}
			r.sim.Inject(unread)
			shown := r.shown(id)
			if !shown.Unread || len(shown.Names) != 0 {
				t.Fatalf("the review shows %+v", shown)
			}
			if err := r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), shown); !errors.Is(err, core.ErrWaitingUnread) {
				t.Fatalf("confirmed with loading: %v", err)
			}
			r.must(r.sim.ClearFaults())
			r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), r.shown(id)))
			r.sim.Inject(unread)
			mustEndLoading(t, r.execute(id), core.Verified, core.StepSkipped, core.ErrWaitingUnread.Error())
			r.mustKnow(id, core.LoadAgreed)
			if err := r.engine.Load(ctx(), id, rigOperator, pass(), core.Waiting{}); !errors.Is(err, core.ErrWaitingChanged) {
				t.Fatalf("loading over what was shown as nothing: %v", err)
			}
			r.run(id, func() error { return r.askToLoad(id) })
			r.mustKnow(id, core.LoadAgreed, core.LoadAsked, core.LoadClaimed)
		})
	}
}

// The firewall announces no rule: the store knows of those that were changed
// through it and not loaded, until the subsystem claims to have loaded.
func TestOwnUnloadedChangesWait(t *testing.T) {
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	rule := r.preparedChange("FIREWALL_RULE_ENABLED", changes()["FIREWALL_RULE_ENABLED"].fields)
	review, err := r.engine.Review(ctx(), rule)
	r.must(err)
	r.must(r.engine.Confirm(ctx(), rule, review.Target, rigOperator, pass()))
	r.execute(rule)
	r.mustBe(rule, core.Verified)

	id := r.blocking()
	want := []string{"rule " + review.Target}
	if shown := r.shown(id); !slices.Equal(shown.Names, want) {
		t.Fatalf("the review shows %q, want %q", shown.Names, want)
	}
	if shown := r.shown(rule); len(shown.Names) != 0 {
		t.Fatalf("a change waits for itself: %q", shown.Names)
	}
	if err := r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), core.Waiting{}); !errors.Is(err, core.ErrWaitingChanged) {
		t.Fatalf("confirmed with loading over an unseen rule: %v", err)
	}
	r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), r.shown(id)))
	mustEndLoading(t, r.execute(id), core.Verified, core.StepDone, "loaded")
	d, err := r.engine.Prepare(ctx(), "FIREWALL_ALIAS_ENTRIES",
		core.Object{"alias_name": "web_servers", "add": []any{"192.0.2.13"}, "remove": []any{}}, "")
	r.must(err)
	if len(d.Waiting.Names) != 0 || d.Waiting.Unread {
		t.Fatalf("after a claimed loading %+v still waits", d.Waiting)
	}
}

// What comes to wait while the change is being sent was not shown.
func TestWhatCameMeanwhileIsNotLoaded(t *testing.T) {
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	id := r.blocking()
	r.must(r.engine.ConfirmAndLoad(ctx(), id, "blocklist", rigOperator, pass(), r.shown(id)))
	r.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.BeforeProcessing, Func: func(a *sim.Admin) { a.MarkPending("filter") }}))
	mustEndLoading(t, r.execute(id), core.Verified, core.StepSkipped, core.ErrWaitingChanged.Error())
	r.mustKnow(id, core.LoadAgreed)

	shown := r.shown(id)
	r.sim.Admin().MarkPending("natconf")
	if err := r.engine.Load(ctx(), id, rigOperator, pass(), shown); !errors.Is(err, core.ErrWaitingChanged) {
		t.Fatalf("a step of its own, over what was not shown: %v", err)
	}
	r.mustKnow(id, core.LoadAgreed)
	r.run(id, func() error { return r.askToLoad(id) })
	r.mustKnow(id, core.LoadAgreed, core.LoadAsked, core.LoadClaimed)
}
