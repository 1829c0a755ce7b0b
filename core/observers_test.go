package core_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// refusesAll stands for pinned authorities: without one, artifacts are
// refused for another reason than being an observer.
type refusesAll struct{}

func (refusesAll) Verify(context.Context, core.ProofKind, string, string, []byte, []byte) error {
	return core.ErrProof
}

// held starts a process that executes a contract, and returns while the
// appliance holds its request.
func (r *rig) held(id string, at sim.Point) (*child, *sim.Gate) {
	r.t.Helper()
	gate := sim.NewGate()
	r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: at, Gate: gate}))
	process := r.start(childJob{Do: "execute", Contract: id})
	r.mustArrive(gate, process)
	return process, gate
}

// mustArrive waits until a request of one of the processes stands before the gate.
func (r *rig) mustArrive(gate *sim.Gate, processes ...*child) {
	r.t.Helper()
	if !arrives(gate, processes...) {
		for _, p := range processes {
			p.wait()
		}
		r.t.Fatal("nothing was sent")
	}
}

// arrives reports false when the processes have ended without a request.
func arrives(gate *sim.Gate, processes ...*child) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, p := range processes {
			<-p.done
		}
	}()
	select {
	case <-gate.Arrived():
		return true
	case <-ended:
		return false
	}
}

// changing are the engine's methods that change something, called as an
// operator's console would. Every other method only reads.
func (r *rig) changing(draft core.Draft, unconfirmed, verified, interrupted string) map[string]func() error {
	e, seen := r.engine, r.observe(interrupted)
	signed := core.ReconciliationEvidence{ContractID: interrupted, Outcome: core.ConfirmedApplied}
	return map[string]func() error{
		"Authorize": func() error { _, err := e.Authorize(ctx(), draft, rigOperator, pass()); return err },
		"AuthorizeFromInbox": func() error {
			_, err := e.AuthorizeFromInbox(ctx(), draft, core.Authorization{AuthorizationID: "authz-1"}, rigOperator)
			return err
		},
		"Confirm": func() error { return e.Confirm(ctx(), unconfirmed, rigOther, rigOperator, pass()) },
		"ConfirmAndLoad": func() error {
			return e.ConfirmAndLoad(ctx(), unconfirmed, rigOther, rigOperator, pass(), core.Waiting{})
		},
		"ConfirmWith": func() error {
			return e.ConfirmWith(ctx(), unconfirmed, rigOther, core.ConfirmationEvidence{ContractID: unconfirmed})
		},
		"Decline":         func() error { return e.Decline(ctx(), unconfirmed, rigOperator, pass()) },
		"Execute":         func() error { return e.Execute(ctx(), interrupted) },
		"Rollback":        func() error { return e.Rollback(ctx(), verified, rigOperator, pass()) },
		"RollbackAndLoad": func() error { return e.RollbackAndLoad(ctx(), verified, rigOperator, pass(), core.Waiting{}) },
		"Load":            func() error { return e.Load(ctx(), verified, rigOperator, pass(), core.Waiting{}) },
		"Reconcile":       func() error { return e.Reconcile(ctx(), interrupted, core.ConfirmedApplied, seen, rigOperator, pass()) },
		"ReconcileWith":   func() error { return e.ReconcileWith(ctx(), interrupted, signed, seen) },
	}
}

// reading are the methods that an observer may use.
var reading = []string{"Observe", "RollbackPreview", "Start", "Header", "Refresh", "Capabilities", "Operators", "Quarantined",
	"StoreHealth", "ApplianceStatus", "Review", "Inbox", "List", "Detail", "Targets", "Form", "Prepare", "Progress", "Subscribe",
	"InFlight", "Wait", "ExportAuthorizationRequest", "ExportConfirmationRequest", "ExportReconciliationRequest"}

// TestObserverTakesOver: beside a process that sends, a second console reads
// everything and can act on nothing. When the first is killed in the middle of
// its send, the second takes over, moves the contract to RECONCILIATION once,
// and says so (design section 4, rule 8).
func TestObserverTakesOver(t *testing.T) {
	r := newRig(t, rigOptions{ports: func(p *core.Ports) { p.OffHost = refusesAll{} }})
	verified := r.verified(rigAlias, rigValue)
	unconfirmed := r.prepared(rigOther, rigOtherValue)
	third := r.confirmed("blocked_nets", "Blocked networks (CHG-1044)")
	r.close()
	before := r.sim.Wire()
	process, gate := r.held(third, sim.BeforeWrite)
	r.open()
	if h := r.engine.Header(); r.report.Mode != core.ModeObserver || h.Mode != core.ModeObserver || h.Closed == "" ||
		!strings.Contains(h.LockHolder, fmt.Sprintf("(process %d)", process.cmd.Process.Pid)) {
		t.Fatalf("beside the executor: %+v", h)
	}
	found := r.everything(third)
	r.readEverything(verified, unconfirmed, third)
	changing := r.changing(r.draft(rigAlias, "yet another"), unconfirmed, verified, third)
	for name, try := range changing {
		if err := try(); !errors.Is(err, core.ErrObserver) {
			t.Errorf("%s: %v, want %v", name, err, core.ErrObserver)
		}
	}
	checkComplete(t, changing)
	if now := r.everything(third); !reflect.DeepEqual(now, found) || r.sim.Wire().Since(before).Mutations != 1 {
		t.Fatalf("an observer changed something:\n%+v\n%+v", found, now)
	}

	process.kill()
	h, err := r.engine.Refresh(ctx())
	r.must(err)
	if h.Mode != core.ModeExecutor || h.Closed != "" || h.TakenOver == nil || len(h.TakenOver.Recovered) != 1 ||
		h.TakenOver.Recovered[0].ContractID != third || h.TakenOver.Recovered[0].State != core.Reconciliation {
		t.Fatalf("taking over says %+v", h)
	}
	r.mustBe(third, core.Reconciliation)
	gate.Open()
	r.must(r.sim.Wait(ctx()))
	_, err = r.engine.Refresh(ctx())
	r.must(err)
	events, err := r.store.Timeline(ctx(), third)
	r.must(err)
	last, doubts := events[len(events)-1], 0
	for _, e := range events {
		if e.Current == core.Reconciliation {
			doubts++
		}
	}
	if doubts != 1 || last.Previous != core.Executing || last.Note.Failure != core.FailureRestart {
		t.Fatalf("%d moves to RECONCILIATION; the chain ends in %+v", doubts, last)
	}
	r.must(r.reconcile(third, core.ConfirmedApplied, r.observe(third)))
	r.mustBe(third, core.Verified)
	if sent := r.sim.Wire().Since(before).Mutations; sent != 1 {
		t.Fatalf("%d requests were sent", sent)
	}
}

// readEverything uses what an observer may use.
func (r *rig) readEverything(verified, unconfirmed, executing string) {
	r.t.Helper()
	for list, want := range map[core.ListName]int{core.ListActive: 3, core.ListNeedsYou: 0, core.ListHistory: 3} {
		page, err := r.engine.List(ctx(), list, "", 10)
		if err != nil || len(page.Rows) != want {
			r.t.Fatalf("%s: %+v, %v", list, page, err)
		}
	}
	for id, want := range map[string]core.State{verified: core.Verified, unconfirmed: core.Prepared, executing: core.Executing} {
		d, err := r.engine.Detail(ctx(), id)
		if err != nil || d.Contract.State != want || d.Unreadable != "" || len(d.Events) == 0 {
			r.t.Fatalf("detail: %+v, %v", d, err)
		}
		for _, a := range d.Actions {
			if !strings.Contains(a.Reason, "observes") {
				r.t.Fatalf("%s of a contract in %s is offered: %q", a.Name, want, a.Reason)
			}
		}
		if seen := r.observe(id); seen.Fingerprint == "" {
			r.t.Fatal("nothing was observed")
		}
	}
	_, err := r.engine.Review(ctx(), unconfirmed)
	r.must(err)
	_, err = r.engine.StoreHealth(ctx())
	r.must(err)
	h, err := r.engine.Refresh(ctx())
	if err != nil || h.Mode != core.ModeObserver || h.TakenOver != nil {
		r.t.Fatalf("refreshed beside the executor: %+v, %v", h, err)
	}
}

// checkComplete fails when the engine gets a method that nobody has sorted.
func checkComplete(t *testing.T, changing map[string]func() error) {
	t.Helper()
	for i := range reflect.TypeFor[*core.Engine]().NumMethod() {
		name := reflect.TypeFor[*core.Engine]().Method(i).Name
		if _, changes := changing[name]; changes == slices.Contains(reading, name) {
			t.Errorf("Engine.%s: does it change something? Then an observer must be refused", name)
		}
	}
}

// TestTakingOverHappensOnce: however many refreshes find the lock free at the
// same time, one takes over. A second would take a live run for an
// interrupted one.
func TestTakingOverHappensOnce(t *testing.T) {
	first := newRig(t, rigOptions{})
	id := first.confirmed(rigAlias, rigValue)
	a := &ruledAnchor{}
	second := joinRig(t, first.dir, first.site, rigOptions{anchor: func(real core.Anchor) core.Anchor { a.Anchor = real; return a }})
	second.sim = first.sim
	second.open()
	t.Cleanup(second.close)
	if second.report.Mode != core.ModeObserver || a.reads != 0 {
		t.Fatalf("%+v, the anchor was read %d times", second.report, a.reads)
	}
	first.close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := second.engine.Refresh(ctx()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if h := second.engine.Header(); h.Mode != core.ModeExecutor || h.TakenOver == nil || len(h.TakenOver.Recovered) != 0 || a.reads != 1 {
		t.Fatalf("%+v, the anchor was read %d times", h, a.reads)
	}

	gate := sim.NewGate()
	second.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeAnswer, Gate: gate}))
	second.must(second.engine.Execute(ctx(), id))
	<-gate.Arrived()
	for range 3 {
		_, err := second.engine.Refresh(ctx())
		second.must(err)
	}
	second.mustBe(id, core.Executing)
	gate.Open()
	if p := second.wait(id); p.Final != core.Verified {
		t.Fatalf("the run ended in %s: %v", p.Final, p.Err)
	}
}

// unrecovering fails to recover once.
type unrecovering struct {
	core.Store
	failed bool
}

func (s *unrecovering) RecoverInterrupted(ctx context.Context) ([]core.Contract, error) {
	if !s.failed {
		s.failed = true
		return nil, errDisk
	}
	return s.Store.RecoverInterrupted(ctx)
}

// TestHalfATakeOverMayNotAct: a console that has the lock and could not
// reconcile yet stays an observer, and tries again.
func TestHalfATakeOverMayNotAct(t *testing.T) {
	first := newRig(t, rigOptions{})
	id := first.confirmed(rigAlias, rigValue)
	second := joinRig(t, first.dir, first.site, rigOptions{wrapStore: func(real core.Store) core.Store { return &unrecovering{Store: real} }})
	second.sim = first.sim
	second.open()
	t.Cleanup(second.close)
	first.close()
	if _, err := second.engine.Refresh(ctx()); !errors.Is(err, errDisk) || !second.lock.Held() {
		t.Fatalf("the lock is held: %v; %v", second.lock.Held(), err)
	}
	if err := second.engine.Execute(ctx(), id); !errors.Is(err, core.ErrObserver) {
		t.Fatalf("it may execute: %v", err)
	}
	_, err := second.engine.Refresh(ctx())
	second.must(err)
	second.execute(id)
	second.mustBe(id, core.Verified)
}

// TestLiveExecutionIsNotDisturbed: other processes open, close, verify and
// copy the store while a request is under way.
func TestLiveExecutionIsNotDisturbed(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.confirmed(rigAlias, rigValue)
	gate := sim.NewGate()
	r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeAnswer, Gate: gate}))
	r.must(r.engine.Execute(ctx(), id))
	<-gate.Arrived()
	found := r.everything(id)

	visits := []*child{r.start(childJob{Do: "visit", Contract: id}), r.start(childJob{Do: "verify"})}
	for _, c := range visits { // at the same time, and then one by one
		c.says()
	}
	for _, do := range []string{"visit", "verify", "copy", "visit"} {
		said := r.start(childJob{Do: do, Contract: id}).says()
		if do == "visit" && said != string(core.ModeObserver) {
			t.Fatalf("the visitor was %q", said)
		}
	}
	// A visitor that is killed leaves nothing behind either.
	if !r.start(childJob{Do: "visit and die"}).wait() {
		t.Fatal("the visitor was not killed")
	}

	if now := r.everything(id); !reflect.DeepEqual(now, found) {
		t.Fatalf("something changed:\n%+v\n%+v", found, now)
	}
	gate.Open()
	if p := r.wait(id); p.Final != core.Verified || p.Err != nil {
		t.Fatalf("the run ended in %s: %v", p.Final, p.Err)
	}
	if r.sends() != 1 {
		t.Fatalf("%d requests were sent", r.sends())
	}
	r.restart()
	r.mustBe(id, core.Verified)
	r.verifyClosed()
}

// copyStore makes a consistent copy, as a backup does, and verifies it.
func (r *rig) copyStore() {
	r.t.Helper()
	file := url.URL{Scheme: "file", Path: r.path(), RawQuery: "mode=ro"}
	db, err := sql.Open("sqlite", file.String())
	r.must(err)
	defer db.Close()
	_, err = db.Exec("VACUUM INTO ?", filepath.Join(r.dir, "copy.sqlite3"))
	r.must(err)
}
