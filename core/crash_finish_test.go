package core_test

import (
	"database/sql"
	"errors"
	"net/url"
	"time"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense/sim"
	"countersign/store"
)

// finish brings what a crash has left to its end, as an operator would. The
// appliance gets what is still to be sent once, and nothing twice.
func (c crash) finish(r *rig, id string, before sim.Wire) {
	r.t.Helper()
	switch c.do {
	case "authorize":
		c.finishCreation(r, id)
		return
	case "confirm":
		c.finishConfirmation(r, id)
		return
	case "decline":
		if c.left == core.Prepared {
			r.must(r.engine.Decline(ctx(), id, rigOperator, pass()))
		}
		r.mustBe(id, core.Failed)
		return
	case "load":
		c.checkLoads(r, id)
		return
	}
	backward := c.do == "roll back" || c.do == "resume"
	switch c.after() {
	case core.Prepared:
		if c.advance == "attributed" {
			id = r.replaceAttributed(id)
		}
		r.execute(id)
		r.mustBe(id, core.Verified)
	case core.Verified:
		if backward {
			r.rollback(id)
			r.mustBe(id, core.RolledBack)
		}
	case core.Reconciliation:
		c.conclude(r, id, backward)
	}
	if sent := r.sim.Wire().Since(before).Mutations; sent > 1 {
		r.t.Fatalf("%d requests in one direction", sent)
	}
}

// replaceAttributed: the anchor had moved for a contract, so it is not sent
// any more. It is declined, and a fresh one takes its place once the settle
// window is over (decision 13).
func (r *rig) replaceAttributed(id string) string {
	r.t.Helper()
	if err := r.engine.Execute(ctx(), id); !errors.Is(err, core.ErrSettling) {
		r.t.Fatalf("sent while another request may be writing: %v", err)
	}
	r.clock.move(past)
	if p := r.execute(id); !errors.Is(p.Err, core.ErrAttributed) {
		r.t.Fatalf("got %v", p.Err)
	}
	r.mustBe(id, core.Prepared)
	r.must(r.engine.Decline(ctx(), id, rigOperator, pass()))
	r.clock.move(past) // its target's cool-down
	return r.confirmed(rigAlias, rigValue)
}

// conclude draws the conclusion that a fresh reading supports. While the
// appliance may still be writing, that is never "not applied".
func (c crash) conclude(r *rig, id string, backward bool) {
	r.t.Helper()
	done := c.done || c.do == "conclude" // there the change was made before
	want := map[bool]core.State{true: core.Verified, false: core.Failed}[done]
	if backward {
		want = map[bool]core.State{true: core.RolledBack, false: core.RollbackFailed}[done]
	}
	if !c.done && c.left.Interrupted() {
		if o := possible(r.observe(id)); o != "" {
			r.t.Fatalf("%s is offered while the appliance may still be writing", o)
		}
	}
	r.clock.move(past)
	seen := r.observe(id)
	outcome := possible(seen)
	if next, _ := outcome.Target(); next != want {
		r.t.Fatalf("the reading supports %q, which leads to %q, want %s: %+v", outcome, next, want, seen.Offers)
	}
	r.must(r.reconcile(id, outcome, seen))
	r.mustBe(id, want)
}

// possible is the conclusion other than a further send that may be drawn now.
func possible(seen core.Comparison) core.Outcome {
	for _, offer := range seen.Offers {
		if offer.Reason == "" && offer.Outcome != core.ResumeRollback {
			return offer.Outcome
		}
	}
	return ""
}

// finishCreation repeats the request, as a console does that has lost the
// answer: it is created once, and nothing was spent in vain (seed 001).
func (c crash) finishCreation(r *rig, key string) {
	r.t.Helper()
	page, err := r.store.List(ctx(), core.ListQuery{List: core.ListHistory, Limit: 10})
	r.must(err)
	id := r.authorizeWithKey(key)
	if c.left != "" && (len(page.Items) != 1 || page.Items[0].Contract.ID != id) {
		r.t.Fatalf("the repeated request made another contract: %s, not %+v", id, page.Items)
	}
	counts, err := r.store.Counts(ctx())
	r.must(err)
	if counts.History != 1 {
		r.t.Fatalf("%d contracts were created", counts.History)
	}
	r.finishPrepared(id)
}

func (c crash) finishConfirmation(r *rig, id string) {
	r.t.Helper()
	if confirmed := c.at == "confirm/after commit"; r.load(id).Confirmed() != confirmed {
		r.t.Fatalf("confirmed is %v", !confirmed)
	}
	r.finishPrepared(id)
}

// finishPrepared carries a PREPARED contract to VERIFIED. One that was
// confirmed before the crash needs nothing more (design lesson 7).
func (r *rig) finishPrepared(id string) {
	r.t.Helper()
	if !r.load(id).Confirmed() {
		r.must(r.engine.Confirm(ctx(), id, rigAlias, rigOperator, pass()))
	}
	r.execute(id)
	r.mustBe(id, core.Verified)
	if r.sends() != 1 {
		r.t.Fatalf("%d requests were sent", r.sends())
	}
}

// checkLoads: what is recorded about loading never says more than what was
// durable, and nothing asks again by itself (design section 4, rule 7).
func (c crash) checkLoads(r *rig, id string) {
	r.t.Helper()
	loads, err := r.store.Loads(ctx(), id)
	r.must(err)
	want := []core.LoadClaim{core.LoadAsked}
	switch c.at {
	case "load/before commit":
		want = nil
	case "load/after commit#2":
		want = append(want, core.LoadClaimed)
	}
	if len(loads) != len(want) {
		r.t.Fatalf("recorded %+v, want %v", loads, want)
	}
	for i := range want {
		if loads[i].Claim != want[i] {
			r.t.Fatalf("recorded %+v, want %v", loads, want)
		}
	}
}

// mustVerify verifies the closed store completely; state is that of its one
// contract, or "".
func (r *rig) mustVerify(state core.State) {
	r.t.Helper()
	report := r.verifyStore()
	want := map[core.State]int64{state: 1}
	if state == "" {
		want = map[core.State]int64{}
	}
	if len(report.States) != len(want) || report.States[state] != want[state] {
		r.t.Fatalf("on disk: %v, want %q", report.States, state)
	}
}

// everything is what a start must not change.
func (r *rig) everything(id string) []any {
	r.t.Helper()
	health, err := r.store.Health(ctx())
	r.must(err)
	health.Verified = time.Time{}
	page, err := r.store.List(ctx(), core.ListQuery{List: core.ListHistory, Limit: 10})
	r.must(err)
	anchor, err := r.anchor.Read(ctx())
	r.must(err)
	all := []any{health, page, anchor, r.sim.Wire().Mutations}
	for _, item := range page.Items {
		events, err := r.store.Timeline(ctx(), item.Contract.ID)
		r.must(err)
		loads, err := r.store.Loads(ctx(), item.Contract.ID)
		r.must(err)
		all = append(all, events, loads)
	}
	return all
}

// mustBeAnchored: mark and anchor agree.
func (r *rig) mustBeAnchored() {
	r.t.Helper()
	health, err := r.store.Health(ctx())
	r.must(err)
	anchor, err := r.anchor.Read(ctx())
	r.must(err)
	if anchor != health.Mark || !health.AnchorOK || !r.engine.Header().AnchorOK {
		r.t.Fatalf("the anchor shows %d, the mark is %d (%s)", anchor, health.Mark, health.AnchorNote)
	}
}

// verifyStore verifies the whole store, as `countersign verify` does.
func (r *rig) verifyStore() store.Report {
	r.t.Helper()
	k, err := keys.LoadStoreKeys(ctx(), r.ring)
	r.must(err)
	report, err := store.Verify(ctx(), store.Options{Path: r.path(), StoreID: rigStoreID, IntegrityKey: k.Integrity.Bytes()}, nil)
	r.must(err)
	return report
}

// column reads one column of the store's file directly.
func (r *rig) column(query string) []string {
	r.t.Helper()
	file := url.URL{Scheme: "file", Path: r.path(), RawQuery: "mode=ro"}
	db, err := sql.Open("sqlite", file.String())
	r.must(err)
	defer db.Close()
	rows, err := db.Query(query)
	r.must(err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		r.must(rows.Scan(&text))
		all = append(all, text)
	}
	r.must(rows.Err())
	return all
}

// authorizeWithKey prepares and authorizes the usual change under a request key.
func (r *rig) authorizeWithKey(key string) string {
	r.t.Helper()
	d, err := r.engine.Prepare(ctx(), "FIREWALL_ALIAS_DESCRIPTION",
		core.Object{"alias_name": rigAlias, "description": rigValue}, key)
	r.must(err)
	id, err := r.engine.Authorize(ctx(), d, rigOperator, pass())
	r.must(err)
	return id
}

// preparedEntries is a PREPARED change that needs loading.
func (r *rig) preparedEntries() string {
	r.t.Helper()
	return r.preparedChange("FIREWALL_ALIAS_ENTRIES",
		core.Object{"alias_name": rigAlias, "add": []any{"192.0.2.77 added"}, "remove": []any{}})
}

func (r *rig) verifiedEntries() string {
	r.t.Helper()
	id := r.preparedEntries()
	r.must(r.engine.Confirm(ctx(), id, rigAlias, rigOperator, pass()))
	r.execute(id)
	r.mustBe(id, core.Verified)
	return id
}
