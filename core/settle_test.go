package core_test

import (
	"errors"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

// aTuesday is when a frozen clock stands still.
var aTuesday = time.Date(2026, 9, 8, 9, 0, 0, 0, time.UTC)

// doubt is a contract whose request is still at work in the appliance, and
// what else could be sent while it is.
type doubt struct {
	r    *rig
	gate *sim.Gate // holds the write
	dir  core.Direction
	id   string // its change

	confirmed  string // another change, ready to be sent
	verified   string // another, which could be rolled back or loaded
	halfway    string // another rollback in doubt, whose own window is over
	draft      core.Draft
	sends      int
	halfwayCmp core.Comparison
}

const (
	waitingAlias = "blocked_nets"
	halfwayAlias = "nested_hosts"
	draftedAlias = "empty_one"
)

func describe(alias, text string) change {
	return change{"FIREWALL_ALIAS_DESCRIPTION", alias, core.Object{"alias_name": alias, "description": text}}
}

// newDoubt prepares everything that could be sent, and then loses certainty
// about one request that the appliance still has to write.
func newDoubt(r *rig, kind sim.Kind, dir core.Direction) *doubt {
	r.t.Helper()
	d := &doubt{r: r, gate: sim.NewGate(), dir: dir}
	d.prepare()
	r.sim.Inject(writes(sim.Fault{Kind: kind, Delay: time.Millisecond}))
	r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: d.gate}))
	if dir == core.Forward {
		r.execute(d.id)
	} else {
		r.rollback(d.id)
	}
	r.mustBe(d.id, core.Reconciliation)
	<-d.gate.Arrived()
	d.sends = r.sends()
	return d
}

func (d *doubt) prepare() {
	d.r.t.Helper()
	r := d.r
	d.halfway = r.confirmedChange(describe(halfwayAlias, "Nested, and back again"))
	r.execute(d.halfway)
	r.sim.Inject(writes(sim.Fault{Kind: sim.DropBeforeRun}))
	r.rollback(d.halfway)
	r.mustBe(d.halfway, core.Reconciliation)
	r.clock.move(past)

	d.verified = r.confirmedChange(change{"FIREWALL_ALIAS_ENTRIES", rigOther,
		core.Object{"alias_name": rigOther, "add": []any{"8443 admin panel"}, "remove": []any{}}})
	r.execute(d.verified)
	r.mustBe(d.verified, core.Verified)
	d.confirmed = r.confirmedChange(describe(waitingAlias, "Blocked networks (CHG-1044)"))
	d.draft = r.draft(draftedAlias, "Still empty")
	d.id = r.confirmedChange(theDescription)
	if d.dir == core.Backward {
		r.execute(d.id)
		r.mustBe(d.id, core.Verified)
	}
	d.halfwayCmp = r.observe(d.halfway)
}

// at gives the same doubt to another console on the store.
func (d *doubt) at(r *rig) *doubt {
	other := *d
	other.r = r
	return &other
}

func (d *doubt) resumable() bool {
	return d.dir == core.Backward && d.r.load(d.id).State == core.Reconciliation
}

// attempts are everything a console could send to this appliance.
func (d *doubt) attempts() map[string]func() error {
	r, e := d.r, d.r.engine
	all := map[string]func() error{
		"executing another change":     func() error { return e.Execute(ctx(), d.confirmed) },
		"rolling another change back":  func() error { return e.Rollback(ctx(), d.verified, rigOperator, pass()) },
		"rolling back and loading":     func() error { return e.RollbackAndLoad(ctx(), d.verified, rigOperator, pass(), core.Waiting{}) },
		"loading another change":       func() error { return e.Load(ctx(), d.verified, rigOperator, pass(), core.Waiting{}) },
		"resuming another rollback":    func() error { return r.reconcile(d.halfway, core.ResumeRollback, d.halfwayCmp) },
		"authorizing a further change": func() error { _, err := e.Authorize(ctx(), d.draft, rigOperator, pass()); return err },
	}
	if d.resumable() {
		all["resuming it"] = func() error { return r.reconcile(d.id, core.ResumeRollback, r.observe(d.id)) }
	}
	return all
}

// attemptsBelow go round the engine: the store decides in its transaction.
func (d *doubt) attemptsBelow() map[string]func() error {
	r := d.r
	resume := func(id string) func() error {
		return func() error {
			a, authority := r.approval(id, core.ApproveResume)
			defer authority.Close()
			_, err := r.executor().ResumeRollback(ctx(), id, a, authority, nil)
			return err
		}
	}
	all := map[string]func() error{
		"executing another change":    func() error { return r.sendDirectly(d.confirmed, core.Forward).Err },
		"rolling another change back": func() error { return r.sendDirectly(d.verified, core.Backward).Err },
		"resuming another rollback":   resume(d.halfway),
		"loading another change": func() error {
			return r.store.RecordLoad(ctx(), core.LoadRecord{ContractID: d.verified, Direction: core.Forward, Subsystem: core.Firewall,
				Claim: core.LoadAsked, Actor: rigOperator, Evidence: "evidence"})
		},
	}
	if d.resumable() {
		all["resuming it"] = resume(d.id)
	}
	return all
}

// mustRefuseEverything: nothing is sent, and nothing has moved.
func (d *doubt) mustRefuseEverything(where string, want error) {
	d.r.t.Helper()
	for name, try := range d.attempts() {
		if err := try(); !errors.Is(err, want) {
			d.r.t.Fatalf("%s: %s: %v, want %v", where, name, err, want)
		}
	}
	if errors.Is(want, core.ErrSettling) {
		for name, try := range d.attemptsBelow() {
			if err := try(); !errors.Is(err, want) {
				d.r.t.Fatalf("%s: %s, below the engine: %v, want %v", where, name, err, want)
			}
		}
	}
	if d.r.sends() != d.sends {
		d.r.t.Fatalf("%s: %d further requests reached the appliance", where, d.r.sends()-d.sends)
	}
	d.r.mustBe(d.confirmed, core.Prepared)
	d.r.mustBe(d.verified, core.Verified)
	d.r.mustBe(d.halfway, core.Reconciliation)
	if loads, err := d.r.store.Loads(ctx(), d.verified); err != nil || len(loads) != 0 {
		d.r.t.Fatalf("%s: recorded about loading: %+v, %v", where, loads, err)
	}
}

// mustNotDeny: nothing that supports "not applied" is offered or accepted,
// and the screens count down to the end of the window.
func (d *doubt) mustNotDeny(where string) {
	d.r.t.Helper()
	r, seen := d.r, d.r.observe(d.id)
	if seen.NowIntended != (d.dir == core.Backward) || seen.NowSnapshot == seen.NowIntended {
		r.t.Fatalf("%s: the late write has come already: %+v", where, seen)
	}
	for _, offer := range seen.Offers {
		if offer.Reason == "" {
			r.t.Fatalf("%s: %s is offered", where, offer.Outcome)
		}
		want := core.ErrOutcome // the reading does not show it
		if offer.Outcome != core.ConfirmedApplied && offer.Outcome != core.ConfirmedRollbackApplied {
			want = core.ErrSettling
			if !offer.At.Equal(seen.SettleUntil) {
				r.t.Fatalf("%s: %s will be offered at %s, the window ends at %s", where, offer.Outcome, offer.At, seen.SettleUntil)
			}
		}
		if err := r.reconcile(d.id, offer.Outcome, seen); !errors.Is(err, want) {
			r.t.Fatalf("%s: %s: %v, want %v", where, offer.Outcome, err, want)
		}
	}
	r.mustBe(d.id, core.Reconciliation)
	_, err := r.engine.Refresh(ctx())
	r.must(err)
	if h := r.engine.Header(); !h.SettleUntil.Equal(seen.SettleUntil) || h.SettleContract != d.id {
		r.t.Fatalf("%s: the header counts down to %s because of %s, not to %s", where, h.SettleUntil, h.SettleContract, seen.SettleUntil)
	}
	for id, name := range map[string]core.ActionName{d.confirmed: core.ActExecute, d.verified: core.ActRollback} {
		detail, err := r.engine.Detail(ctx(), id)
		r.must(err)
		for _, a := range detail.Actions {
			if a.Name == name && a.Reason == "" {
				r.t.Fatalf("%s: %s is offered", where, name)
			}
		}
	}
}

// The window of rule 4 (design section 4) holds in this console, after a
// restart and in a console that takes over, up to its last microsecond. The
// write that comes late is what the next reading shows, and supports a
// conclusion at once; the window goes on for everything else.
func TestNothingIsSentInsideTheSettleWindow(t *testing.T) {
	for _, kind := range []sim.Kind{sim.LateWrite, sim.GatewayTimeout} {
		for _, dir := range []core.Direction{core.Forward, core.Backward} {
			t.Run(string(kind)+"/"+string(dir), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rigOptions{deadlines: shortDeadlines, frozen: aTuesday})
				d := newDoubt(r, kind, dir)
				d.everywhere()
			})
		}
	}
}

// everywhere goes through the consoles, each nearer to the end of the window.
func (d *doubt) everywhere() {
	d.r.t.Helper()
	r := d.r
	r.sim.Admin().SetAliasDescription(waitingAlias, "changed by hand meanwhile")
	d.mustNotDeny("here")
	d.mustRefuseEverything("here", core.ErrSettling)

	r.clock.move(core.MinimumSettle / 2)
	r.restart()
	d.mustNotDeny("after a restart")
	d.mustRefuseEverything("after a restart", core.ErrSettling)

	r.clock.move(core.MinimumSettle/2 - time.Microsecond)
	second := joinRig(r.t, r.dir, r.site, r.opts)
	second.sim, second.clock = r.sim, r.clock
	second.open()
	r.t.Cleanup(second.close)
	there := d.at(second)
	there.mustRefuseEverything("in an observer", core.ErrObserver)
	r.close()
	_, err := second.engine.Refresh(ctx())
	second.must(err)
	there.mustNotDeny("in the console that took over")
	there.mustRefuseEverything("in the console that took over", core.ErrSettling)

	there.comesLate()
	there.mustRefuseEverything("after the conclusion", core.ErrSettling)
	second.clock.move(time.Microsecond)
	there.goesOn()
}

// comesLate lets the appliance write at last, over everything since.
func (d *doubt) comesLate() {
	d.r.t.Helper()
	r := d.r
	if review, err := r.engine.Review(ctx(), d.confirmed); err != nil || review.Drift == "" {
		r.t.Fatalf("the change by hand is not seen: %+v, %v", review, err)
	}
	d.gate.Open()
	r.must(r.sim.Wait(ctx()))
	if review, err := r.engine.Review(ctx(), d.confirmed); err != nil || review.Drift != "" {
		r.t.Fatalf("the late write put an old configuration back, and the reading says %q, %v", review.Drift, err)
	}
	seen, outcome, ends := r.observe(d.id), core.ConfirmedApplied, core.Verified
	if d.dir == core.Backward {
		outcome, ends = core.ConfirmedRollbackApplied, core.RolledBack
	}
	if seen.NowIntended != (d.dir == core.Forward) || seen.NowSnapshot != (d.dir == core.Backward) || possible(seen) != outcome {
		r.t.Fatalf("the reading does not show the late write: %+v", seen)
	}
	for _, offer := range seen.Offers {
		if offer.Outcome != outcome && offer.Reason == "" {
			r.t.Fatalf("%s is offered beside it", offer.Outcome)
		}
	}
	r.must(r.reconcile(d.id, outcome, seen))
	r.mustBe(d.id, ends)
}

// goesOn: at the end of the window the same attempts succeed, one by one.
func (d *doubt) goesOn() {
	d.r.t.Helper()
	r := d.r
	r.execute(d.confirmed)
	r.mustBe(d.confirmed, core.Verified)
	r.run(d.verified, func() error { return r.askToLoad(d.verified) })
	r.rollback(d.verified)
	r.mustBe(d.verified, core.RolledBack)
	r.run(d.halfway, func() error { return r.reconcile(d.halfway, core.ResumeRollback, r.observe(d.halfway)) })
	r.mustBe(d.halfway, core.RolledBack)
	_, err := r.engine.Authorize(ctx(), d.draft, rigOperator, pass())
	r.must(err)
	if sent := r.sends() - d.sends; sent != 4 {
		r.t.Fatalf("%d requests were sent, want 4", sent)
	}
}

// A console that is killed leaves the same window: its successor does not
// know when the last byte left, and counts from when it found the contract.
// What would be refused is not offered: neither loading, nor resuming a
// rollback whose own window is over.
func TestNothingIsOfferedInsideTheSettleWindow(t *testing.T) {
	r := newRig(t, rigOptions{deadlines: shortDeadlines, frozen: aTuesday})
	d := newDoubt(r, sim.LateWrite, core.Forward)
	offered := func() (load, resume bool) {
		detail, err := r.engine.Detail(ctx(), d.verified)
		r.must(err)
		for _, a := range detail.Actions {
			load = load || a.Name == core.ActLoad && a.Reason == ""
		}
		for _, o := range r.observe(d.halfway).Offers {
			resume = resume || o.Outcome == core.ResumeRollback && o.Reason == ""
		}
		return load, resume
	}
	if load, resume := offered(); load || resume {
		t.Errorf("inside the window: loading %v, resuming %v", load, resume)
	}
	d.gate.Open()
	r.must(r.sim.Wait(ctx()))
	r.clock.move(past)
	if load, _ := offered(); !load {
		t.Error("loading is not offered after the window")
	}
}

func TestWindowHoldsAfterAKill(t *testing.T) {
	for _, dir := range []core.Direction{core.Forward, core.Backward} {
		t.Run(string(dir), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{deadlines: shortDeadlines})
			d := &doubt{r: r, dir: dir, gate: sim.NewGate()}
			d.prepare()
			r.close()
			r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: d.gate}))
			process := r.start(childJob{Do: map[core.Direction]string{core.Forward: "execute", core.Backward: "roll back"}[dir], Contract: d.id})
			r.mustArrive(d.gate, process)
			process.kill()
			d.sends = r.sends()
			r.sim.Admin().SetAliasDescription(waitingAlias, "changed by hand meanwhile")
			r.open()
			d.mustNotDeny("after the kill")
			d.mustRefuseEverything("after the kill", core.ErrSettling)
			r.restart()
			d.mustNotDeny("after a restart")
			d.comesLate()
			d.mustRefuseEverything("after the conclusion", core.ErrSettling)
			r.clock.move(past)
			d.goesOn()
		})
	}
}

// A write that comes later than any window is still what the next reading
// shows. What was concluded stays, and nothing is sent.
func TestAWriteLaterThanTheWindowIsShown(t *testing.T) {
	for _, dir := range []core.Direction{core.Forward, core.Backward} {
		t.Run(string(dir), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{deadlines: shortDeadlines})
			d := newDoubt(r, sim.LateWrite, dir)
			r.clock.move(past)
			outcome, ends := core.ConfirmedNotApplied, core.Failed
			if dir == core.Backward {
				outcome, ends = core.ConfirmedRollbackNotApplied, core.RollbackFailed
			}
			r.must(r.reconcile(d.id, outcome, r.observe(d.id)))
			d.gate.Open()
			r.must(r.sim.Wait(ctx()))
			seen := r.observe(d.id)
			if seen.NowIntended != (dir == core.Forward) || seen.NowSnapshot != (dir == core.Backward) {
				t.Fatalf("the reading does not show the late write: %+v", seen)
			}
			for _, offer := range seen.Offers {
				if err := r.reconcile(d.id, offer.Outcome, seen); err == nil {
					t.Fatalf("%s was accepted for a concluded contract", offer.Outcome)
				}
			}
			r.restart()
			r.mustBe(d.id, ends)
			if r.sends() != d.sends {
				t.Fatal("something was sent again")
			}
			// A fresh attempt meets what is there: nothing to do.
			if _, err := r.engine.Prepare(ctx(), theDescription.symbol, theDescription.fields, ""); (err != nil) != (dir == core.Forward) {
				t.Fatalf("preparing it again: %v", err)
			}
		})
	}
}
