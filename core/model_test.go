package core_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
	"countersign/pfsense/sim"
	"countersign/store"
)

// modelChecksEnv raises the number of sequences and draws new ones each time.
const modelChecksEnv = "COUNTERSIGN_MODEL_CHECKS"

// A plain run makes the same few sequences every time, so that it is quick
// and never fails for somebody else's change; the environment variable
// explores. Failing sequences are kept under testdata/rapid and run first.
const (
	modelChecks = 20
	modelSteps  = 25
	modelSeed   = 1042
)

// TestModel drives random sequences of operations, faults, other people's
// edits, crashes, restarts and clock jumps against the real store, keyring,
// engine and simulator, and against the model in model_world_test.go. After
// each step every invariant of the seeds must hold, and every refusal must be
// of the class that the model predicts.
//
// A crash here is a run that is abandoned at a commit or at the send
// (runtime.Goexit at a fault point: deferred rollbacks run, nothing after
// does), and a console that starts again. Real kills are in the crash matrix.
func TestModel(t *testing.T) {
	setRapid(t)
	seen := tally{}
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t, rt, seen)
		rt.Repeat(m.actions())
		m.finish(rt)
		seen.add("sequences")
	})
	t.Logf("%d sequences, %d steps%s", seen["sequences"], seen["steps"], seen.lines())
	for _, s := range []core.State{core.Verified, core.Failed, core.Reconciliation, core.RolledBack, core.RollbackFailed} {
		if seen["became "+string(s)] == 0 {
			t.Errorf("no contract ever became %s: the sequences show less than they claim", s)
		}
	}
}

// setRapid chooses how much is drawn, unless the command line did.
func setRapid(t *testing.T) {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	set := func(name, value string) {
		f := flag.Lookup(name)
		if given[name] || f == nil {
			return
		}
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(before) })
	}
	set("rapid.steps", strconv.Itoa(modelSteps))
	if n := os.Getenv(modelChecksEnv); n != "" {
		set("rapid.checks", n)
		return
	}
	set("rapid.checks", strconv.Itoa(modelChecks))
	set("rapid.seed", strconv.Itoa(modelSeed))
}

// tally counts what happened, for the output.
type tally map[string]int

func (c tally) add(what string) { c[what]++ }

func (c tally) lines() string {
	var names []string
	for name := range c {
		names = append(names, name)
	}
	sort.Strings(names)
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "\n    %6d  %s", c[name], name)
	}
	return out.String()
}

// machine is the real parts beside the model.
type machine struct {
	r       *rig
	w       *world
	seen    tally
	entries map[string][]string // entries that another admin may give a target
	gate    *sim.Gate           // of the late write that is still to come
	drafts  []drafted
	crash   crashPoint
	bodies  int // mutations whose body was compared
}

// drafted is a draft that was authorized, for a retry of the same request.
type drafted struct {
	draft core.Draft
	id    string
}

// crashPoint is where the next run is abandoned.
type crashPoint struct {
	mu    sync.Mutex
	at    string
	fired bool
}

func (c *crashPoint) arm(at string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.fired = at, false
}

func (c *crashPoint) hit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fired
}

// reach ends the calling goroutine if this is the armed point.
func (c *crashPoint) reach(name string) {
	c.mu.Lock()
	now := c.at == name
	if now {
		c.at, c.fired = "", true
	}
	c.mu.Unlock()
	if now {
		runtime.Goexit()
	}
}

// crashingSender has a point before and one after the one send.
type crashingSender struct {
	core.Sender
	crash *crashPoint
}

func (s crashingSender) Send(ctx context.Context, m core.Mutation) core.Exchange {
	s.crash.reach("send/before")
	x := s.Sender.Send(ctx, m)
	s.crash.reach("send/after")
	return x
}

// checkTB lets a rig report to the check that uses it.
type checkTB struct {
	testing.TB
	rt *rapid.T
}

func (t checkTB) Helper()                   {}
func (t checkTB) Cleanup(f func())          { t.rt.Cleanup(f) }
func (t checkTB) Error(args ...any)         { t.rt.Error(args...) }
func (t checkTB) Errorf(f string, a ...any) { t.rt.Errorf(f, a...) }
func (t checkTB) Fatal(args ...any)         { t.rt.Fatal(args...) }
func (t checkTB) Fatalf(f string, a ...any) { t.rt.Fatalf(f, a...) }
func (t checkTB) FailNow()                  { t.rt.FailNow() }
func (t checkTB) Log(args ...any)           { t.rt.Log(args...) }
func (t checkTB) Logf(f string, a ...any)   { t.rt.Logf(f, a...) }
func (t checkTB) TempDir() string {
	dir, err := os.MkdirTemp("", "countersign-model-*")
	if err != nil {
		t.rt.Fatal(err)
	}
	t.rt.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newMachine(t *testing.T, rt *rapid.T, seen tally) *machine {
	start := time.Date(2026, 9, 5, 12, 0, 0, 0, time.UTC)
	m := &machine{seen: seen, w: &world{now: start, cooling: map[string]time.Time{}}}
	limits := core.Limits{MaxInFlight: 1, MaxPreparedPerTarget: 1, TargetCooldown: modelCooldown, ReconciliationThreshold: modelThreshold}
	long := 30 * time.Second // nothing here waits for a deadline
	m.r = newRig(checkTB{t, rt}, rigOptions{frozen: start, limits: &limits, settle: modelSettle,
		deadlines:  pfsense.Deadlines{Connect: long, TLS: long, Header: long, Whole: long, Read: long},
		faultPoint: m.crash.reach,
		wrapSender: func(s core.Sender) core.Sender { return crashingSender{s, &m.crash} }})
	m.w.live.objects = m.stored()
	m.entries = map[string][]string{"trusted_hosts": {"192.0.2.40", "192.0.2.41"}, "web_ports": {"443", "8443"},
		"blocked_nets": {"198.51.100.0/24", "192.0.2.0/28"}}
	return m
}

func (m *machine) drawTarget(t *rapid.T) string {
	return rapid.SampledFrom([]string{"trusted_hosts", "web_ports", "blocked_nets"}).Draw(t, "target")
}

func (m *machine) drawText(t *rapid.T, target string) string {
	return target + rapid.SampledFrom([]string{" one", " two: \"<&> café\""}).Draw(t, "text")
}

// actions are what may happen next. Names that differ only in their number
// do the same, and so are drawn more often.
func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"":          m.check,
		"draft 1":   m.draft,
		"draft 2":   m.draft,
		"stale":     m.staleDraft,
		"retry":     m.retry,
		"confirm":   m.confirmAny,
		"decline":   m.declineAny,
		"execute":   m.executeAny,
		"rollback":  m.rollbackAny,
		"reconcile": m.reconcileAny,
		"crash 1":   m.crashAny,
		"crash 2":   m.crashDecision,
		"restart":   func(*rapid.T) { m.seen.add("restart"); m.restart() },
		"observer":  m.observer,
		"export":    m.export,
		"edit":      func(t *rapid.T) { m.edit(m.drawEdit(t)) },
		"tidy":      func(*rapid.T) { m.edit(m.tidy()) },
		"clock":     m.clock,
	}
	for i := range 8 {
		actions[fmt.Sprint("advance ", i)] = m.advance
		actions[fmt.Sprint("life ", i)] = m.life
	}
	return actions
}

// pick draws a contract, the newest ones first.
func (m *machine) pick(t *rapid.T) *pact {
	if len(m.w.pacts) == 0 {
		t.Skip("no contract yet")
	}
	return m.w.pacts[len(m.w.pacts)-1-rapid.IntRange(0, len(m.w.pacts)-1).Draw(t, "contract")]
}

// passphrase draws a right or, now and then, a wrong one.
func (m *machine) passphrase(t *rapid.T) (text []byte, right bool) {
	if rapid.IntRange(0, 9).Draw(t, "passphrase") == 9 {
		return []byte("not the passphrase"), false
	}
	return pass(), true
}

// expect compares a refusal with the predicted class and counts it.
func (m *machine) expect(t *rapid.T, op string, got, want error) {
	t.Helper()
	if want == nil {
		if got != nil {
			t.Fatalf("%s was refused (%v), and the model lets it through", op, got)
		}
		m.seen.add(op + ": done")
		return
	}
	if !errors.Is(got, want) {
		t.Fatalf("%s: %v, and the model predicts %v", op, got, want)
	}
	m.seen.add(op + ": " + want.Error())
}

// enter moves the model's contract and counts where it came.
func (m *machine) enter(p *pact, to core.State) {
	m.w.enter(p, to)
	m.seen.add("became " + string(to))
}

// draft is gate one: a fresh preparation and an authorization on the spot.
func (m *machine) draft(t *rapid.T) {
	target := m.drawTarget(t)
	m.draftFor(t, target, m.drawText(t, target), nil)
}

// staleDraft has another administrator at work between the two.
func (m *machine) staleDraft(t *rapid.T) {
	target := m.drawTarget(t)
	e := m.drawEdit(t)
	m.draftFor(t, target, m.drawText(t, target), &e)
}

func (m *machine) draftFor(t *rapid.T, target, text string, between *edit) {
	ctx := context.Background()
	d, err := m.r.engine.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": target, "description": text}, "")
	p, want := m.w.prepare(target, text)
	m.expect(t, "prepare", err, want)
	if want != nil {
		return
	}
	if between != nil {
		m.edit(*between)
	}
	passphrase, right := m.passphrase(t)
	want = m.w.authorize(p, right)
	id, err := m.r.engine.Authorize(ctx, d, rigOperator, passphrase)
	m.expect(t, "authorize", err, want)
	if want == nil {
		m.w.create(p, id)
		m.drafts = append(m.drafts, drafted{d, id})
	}
}

// retry repeats a request whose answer was lost: it creates nothing twice,
// whatever became of its contract (seed 001).
func (m *machine) retry(t *rapid.T) {
	if len(m.drafts) == 0 {
		t.Skip("no draft yet")
	}
	d := m.drafts[rapid.IntRange(0, len(m.drafts)-1).Draw(t, "draft")]
	id, err := m.r.engine.Authorize(context.Background(), d.draft, rigOperator, pass())
	m.expect(t, "retry", err, nil)
	if id != d.id {
		t.Fatalf("a retry gave %s, the first answer was %s", id, d.id)
	}
}

func (m *machine) confirmAny(t *rapid.T) { m.confirm(t, m.pick(t)) }

func (m *machine) confirm(t *rapid.T, p *pact) {
	typed, nameOK := p.target, rapid.IntRange(0, 9).Draw(t, "typed") != 9
	if !nameOK {
		typed += "x"
	}
	passphrase, right := m.passphrase(t)
	want := m.w.confirm(p, nameOK, right)
	m.expect(t, "confirm", m.r.engine.Confirm(context.Background(), p.id, typed, rigOperator, passphrase), want)
	if want == nil {
		m.w.enter(p, core.Prepared)
		p.confirmed = true
	}
}

func (m *machine) declineAny(t *rapid.T) {
	p := m.pick(t)
	passphrase, right := m.passphrase(t)
	want := m.w.decline(p, right)
	m.expect(t, "decline", m.r.engine.Decline(context.Background(), p.id, rigOperator, passphrase), want)
	if want == nil {
		m.enter(p, core.Failed)
	}
}

func (m *machine) executeAny(t *rapid.T) { m.execute(t, m.pick(t), m.drawTrouble(t)) }

func (m *machine) execute(t *rapid.T, p *pact, tr trouble) {
	want := m.acquirable(p)
	m.run(t, "execute", p, core.Forward, tr, 0, want, func() error {
		return m.r.engine.Execute(context.Background(), p.id)
	})
}

// acquirable predicts an execution's refusal.
func (m *machine) acquirable(p *pact) error {
	if m.w.settling(m.w.unsure) {
		return core.ErrSettling
	}
	return m.w.acquire(p, core.Prepared)
}

func (m *machine) rollbackAny(t *rapid.T) { m.rollback(t, m.pick(t), m.drawTrouble(t)) }

func (m *machine) rollback(t *rapid.T, p *pact, tr trouble) {
	passphrase, right := m.passphrase(t)
	want := m.w.mayRollBack(p, right)
	if want == nil {
		want = m.w.acquire(p, core.Verified)
	}
	m.run(t, "rollback", p, core.Backward, tr, 1, want, func() error {
		return m.r.engine.Rollback(context.Background(), p.id, rigOperator, passphrase)
	})
}

// run carries a contract through one direction, here and in the model.
func (m *machine) run(t *rapid.T, op string, p *pact, dir core.Direction, tr trouble, skip int, want error, start func() error) {
	if want == nil {
		m.arm(tr, skip)
	}
	progress, err := m.follow(t, p.id, start)
	if err == nil {
		err = progress.Err
	}
	m.expect(t, op, err, want)
	if want != nil {
		return
	}
	m.r.must(m.r.sim.ClearFaults())
	m.seen.add("trouble: " + tr.String())
	m.w.begin(p, dir)
	final := m.w.carry(p, dir, tr)
	if m.w.late != nil && tr.late > 0 {
		<-m.gate.Arrived() // it has read the configuration that it will put back
	}
	m.enter(p, final)
	if progress.Final != final {
		t.Fatalf("%s with %s ended in %s, and the model predicts %s", op, tr, progress.Final, final)
	}
}

// follow starts a run and waits for its end. The error is a refusal to start.
func (m *machine) follow(t *rapid.T, id string, start func() error) (core.Progress, error) {
	others := m.r.engine.InFlight()
	progress, stop := m.r.engine.Subscribe()
	defer stop()
	if err := start(); err != nil {
		return core.Progress{}, err
	}
	timeout := time.After(time.Minute)
	for {
		select {
		case p := <-progress:
			if p.ContractID == id && p.Done {
				for m.r.engine.InFlight() > others { // the last word is said a moment before the run ends
					time.Sleep(50 * time.Microsecond)
				}
				return p, nil
			}
		case <-timeout:
			t.Fatal("the run did not end")
		}
	}
}

func (m *machine) reconcileAny(t *rapid.T) {
	m.reconcile(t, m.pick(t), rapid.SampledFrom(append(append([]core.Outcome{}, forwardDoubt...), backwardDoubt...)).Draw(t, "outcome"), m.drawTrouble(t))
}

// reconcile draws a conclusion from a fresh reading.
func (m *machine) reconcile(t *rapid.T, p *pact, o core.Outcome, tr trouble) {
	ctx := context.Background()
	seen, err := m.r.engine.Observe(ctx, p.id)
	if m.w.keyRefused {
		m.expect(t, "observe", err, core.ErrAppliance)
		return
	}
	m.expect(t, "observe", err, nil)
	passphrase, right := m.passphrase(t)
	want := m.w.mayConclude(p, o, right)
	if o == core.ResumeRollback {
		if want == nil {
			want = m.w.acquire(p, core.Reconciliation)
		}
		m.run(t, "resume rollback", p, core.Backward, tr, 1, want, func() error {
			return m.r.engine.Reconcile(ctx, p.id, o, seen, rigOperator, passphrase)
		})
		return
	}
	m.expect(t, string(o), m.r.engine.Reconcile(ctx, p.id, o, seen, rigOperator, passphrase), want)
	if want == nil {
		m.conclude(p, o)
	}
}

func (m *machine) conclude(p *pact, o core.Outcome) {
	m.enter(p, map[core.Outcome]core.State{core.ConfirmedApplied: core.Verified, core.ConfirmedNotApplied: core.Failed,
		core.ConfirmedRollbackApplied: core.RolledBack, core.ConfirmedRollbackNotApplied: core.RollbackFailed}[o])
	p.concluded()
}

// advance does what a sensible operator does next with some contract.
func (m *machine) advance(t *rapid.T) {
	var open []*pact
	for _, p := range m.w.pacts {
		if !among(finalStates, p.state) && !(p.state == core.Prepared && m.w.expired(p)) {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		m.draft(t)
		return
	}
	p := open[len(open)-1-rapid.IntRange(0, len(open)-1).Draw(t, "open contract")]
	if m.w.settling(m.w.unsure) && (p.state != core.Prepared || p.confirmed) {
		m.pass(modelSettle)
		return
	}
	switch p.state {
	case core.Prepared:
		if !p.confirmed {
			m.confirm(t, p)
			return
		}
		m.execute(t, p, m.drawTrouble(t))
	case core.Verified:
		m.rollback(t, p, m.drawTrouble(t))
	case core.Reconciliation:
		m.reconcile(t, p, m.supported(t, p), m.drawTrouble(t))
	}
}

// life is a whole change by a patient operator: tidy up, wait until a new one
// may be made, and carry it through both gates to its send.
func (m *machine) life(t *rapid.T) {
	target := m.drawTarget(t)
	if m.w.keyRefused {
		m.restart()
	}
	m.edit(m.tidy())
	if m.w.settling(m.w.unsure) {
		m.pass(modelSettle)
	}
	if m.w.now.Before(m.w.cooling[target]) {
		m.pass(modelCooldown)
	}
	had := len(m.w.pacts)
	m.draftFor(t, target, m.drawText(t, target), nil)
	if len(m.w.pacts) == had {
		return
	}
	p := m.w.pacts[had]
	m.confirm(t, p)
	switch end := rapid.SampledFrom([]string{"send", "send", "send", "crash", "watched"}).Draw(t, "end"); {
	case end == "send" || m.acquirable(p) != nil:
		m.execute(t, p, m.drawTrouble(t))
	case end == "crash":
		m.crashRun(t, crashable{p, core.Prepared})
	default:
		m.watch(t, p)
	}
}

// supported draws a conclusion that the model lets through, if there is one.
func (m *machine) supported(t *rapid.T, p *pact) core.Outcome {
	var possible []core.Outcome
	for _, o := range append(append([]core.Outcome{}, forwardDoubt...), backwardDoubt...) {
		if m.w.mayConclude(p, o, true) == nil {
			possible = append(possible, o)
		}
	}
	if len(possible) == 0 {
		possible = forwardDoubt
	}
	return rapid.SampledFrom(possible).Draw(t, "supported outcome")
}

// watch stops a run at the appliance and tries everything that a run under
// way must refuse.
func (m *machine) watch(t *rapid.T, p *pact) {
	ctx := context.Background()
	var other *pact
	for _, o := range m.w.pacts {
		if o != p && m.acquirable(o) == nil {
			other = o
		}
	}
	gate := sim.NewGate()
	m.r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeProcessing, Gate: gate}))
	progress, err := m.follow(t, p.id, func() error {
		if err := m.r.engine.Execute(ctx, p.id); err != nil {
			return err
		}
		sent := make(chan struct{})
		go func() { defer close(sent); <-gate.Arrived() }()
		select {
		case <-sent:
		case <-time.After(time.Minute):
			t.Fatal("no request arrived")
		}
		m.expect(t, "execute again while in flight", m.r.engine.Execute(ctx, p.id), core.ErrBusy)
		m.expect(t, "decline while in flight", m.r.engine.Decline(ctx, p.id, rigOperator, pass()), core.ErrConflict)
		if other != nil {
			second, err := m.follow(t, other.id, func() error { return m.r.engine.Execute(ctx, other.id) })
			m.expect(t, "execute another while in flight", errors.Join(err, second.Err), core.ErrLimit)
		}
		m.observer(t)
		gate.Open()
		return nil
	})
	m.expect(t, "execute, watched", errors.Join(err, progress.Err), nil)
	m.r.must(m.r.sim.ClearFaults())
	m.w.begin(p, core.Forward)
	m.enter(p, m.w.carry(p, core.Forward, trouble{}))
}

// observer is a second console on the same store: it reads everything,
// changes nothing, and disturbs nothing (design section 4, rule 8).
func (m *machine) observer(t *rapid.T) {
	ctx := context.Background()
	second := joinRig(m.r.t, m.r.dir, m.r.site, rigOptions{limits: m.r.opts.limits, settle: modelSettle})
	second.clock = m.r.clock
	second.open()
	if second.report.Mode != core.ModeObserver || len(second.report.Recovered) != 0 {
		t.Fatalf("a second console is %s and recovered %d", second.report.Mode, len(second.report.Recovered))
	}
	if page, err := second.engine.List(ctx, core.ListHistory, "", 100); err != nil || len(page.Rows) != len(m.w.pacts) {
		t.Fatalf("an observer sees %d contracts of %d (%v)", len(page.Rows), len(m.w.pacts), err)
	}
	if len(m.w.pacts) > 0 {
		p := m.w.pacts[len(m.w.pacts)-1]
		m.expect(t, "confirm as an observer", second.engine.Confirm(ctx, p.id, p.target, rigOperator, pass()), core.ErrObserver)
		m.expect(t, "execute as an observer", second.engine.Execute(ctx, p.id), core.ErrObserver)
		m.expect(t, "roll back as an observer", second.engine.Rollback(ctx, p.id, rigOperator, pass()), core.ErrObserver)
	}
	second.close()
	m.seen.add("observer")
}

// restart is a console that ends and another that starts.
func (m *machine) restart() {
	m.r.restart()
	m.w.keyRefused = false
}

// crashable is a run that the model lets through: a contract and where it
// begins.
type crashable struct {
	p    *pact
	from core.State
}

func (m *machine) crashables() []crashable {
	var open []crashable
	for _, p := range m.w.pacts {
		switch {
		case m.acquirable(p) == nil && m.w.undisturbed(p):
			open = append(open, crashable{p, core.Prepared})
		case m.w.mayRollBack(p, true) == nil && m.w.acquire(p, core.Verified) == nil:
			open = append(open, crashable{p, core.Verified})
		case m.w.mayConclude(p, core.ResumeRollback, true) == nil && m.w.acquire(p, core.Reconciliation) == nil:
			open = append(open, crashable{p, core.Reconciliation})
		}
	}
	return open
}

func (m *machine) crashAny(t *rapid.T) {
	open := m.crashables()
	if len(open) == 0 {
		t.Skip("no run can be started")
	}
	m.crashRun(t, open[rapid.IntRange(0, len(open)-1).Draw(t, "run")])
}

// crashRun abandons a run at a commit or at the send, and starts again.
func (m *machine) crashRun(t *rapid.T, c crashable) {
	ctx := context.Background()
	backward := []string{"send/before", "send/after", "seal rollback/before commit", "seal rollback/after commit"}
	var points []string
	var start func()
	switch c.from {
	case core.Prepared:
		points = []string{"plan/before commit", "plan/after commit", "acquire/before commit", "acquire/after commit",
			"send/before", "send/after", "seal/before commit", "seal/after commit"}
		start = func() { _ = m.r.engine.Execute(ctx, c.p.id) }
	case core.Verified:
		points = append(backward, "acquire rollback/before commit", "acquire rollback/after commit")
		start = func() { _ = m.r.engine.Rollback(ctx, c.p.id, rigOperator, pass()) }
	case core.Reconciliation:
		points = append(backward, "resume rollback/before commit", "resume rollback/after commit")
		seen, err := m.r.engine.Observe(ctx, c.p.id)
		m.r.must(err)
		start = func() { _ = m.r.engine.Reconcile(ctx, c.p.id, core.ResumeRollback, seen, rigOperator, pass()) }
	}
	at := rapid.SampledFrom(points).Draw(t, "crash at")
	m.abandon(t, at, start)
	moved := m.crashed(c.p, c.from, at)
	if recovered := len(m.r.report.Recovered) != 0; recovered != moved {
		t.Fatalf("after a crash at %s the start reports %d recovered contracts; the contract is %s", at, len(m.r.report.Recovered), c.p.state)
	}
}

// crashed is what a crash at that point leaves behind, once the console has
// started again. It reports whether the start had to move the contract.
func (m *machine) crashed(p *pact, from core.State, at string) bool {
	step, when, _ := strings.Cut(at, "/")
	dir, success := core.Forward, core.Verified
	if from != core.Prepared {
		dir, success = core.Backward, core.RolledBack
	}
	switch {
	case at == "acquire/before commit":
		m.w.mark++ // the anchor had moved: attributed to this contract
		return false
	case step == "plan", when == "before commit" && !strings.HasPrefix(step, "seal"):
		return false
	}
	m.w.begin(p, dir)
	if strings.HasPrefix(step, "seal") || at == "send/after" {
		m.w.arrive(p, dir)
		m.w.live.apply(p, dir)
	}
	if strings.HasPrefix(step, "seal") && when == "after commit" {
		m.enter(p, success)
		return false
	}
	m.enter(p, core.Reconciliation)
	return true
}

// crashDecision abandons a decision around its one commit: before it nothing
// has happened, after it everything has.
func (m *machine) crashDecision(t *rapid.T) {
	p := m.pick(t)
	ctx, at := context.Background(), ""
	var start, happened func()
	switch {
	case m.w.confirm(p, true, true) == nil && rapid.Bool().Draw(t, "confirm"):
		at, start = "confirm", func() { _ = m.r.engine.Confirm(ctx, p.id, p.target, rigOperator, pass()) }
		happened = func() { m.w.enter(p, core.Prepared); p.confirmed = true }
	case m.w.decline(p, true) == nil:
		at, start = "decline", func() { _ = m.r.engine.Decline(ctx, p.id, rigOperator, pass()) }
		happened = func() { m.enter(p, core.Failed) }
	case p.state == core.Reconciliation:
		o := m.supported(t, p)
		if o == core.ResumeRollback || m.w.mayConclude(p, o, true) != nil {
			t.Skip("no conclusion is possible")
		}
		seen, err := m.r.engine.Observe(ctx, p.id)
		m.r.must(err)
		at, start = "resolve", func() { _ = m.r.engine.Reconcile(ctx, p.id, o, seen, rigOperator, pass()) }
		happened = func() { m.conclude(p, o) }
	default:
		t.Skip("no decision is possible")
	}
	when := rapid.SampledFrom([]string{"/before commit", "/after commit"}).Draw(t, "when")
	m.abandon(t, at+when, start)
	if when == "/after commit" {
		happened()
	}
}

// abandon lets start run into the crash point, then restarts.
func (m *machine) abandon(t *rapid.T, at string, start func()) {
	m.crash.arm(at)
	ended := make(chan struct{})
	go func() { defer close(ended); start() }()
	<-ended
	m.restart()
	if !m.crash.hit() {
		t.Fatalf("nothing ever came to %q", at)
	}
	m.seen.add("crash at " + at)
}

// edit is another administrator at work between the steps.
func (m *machine) edit(e edit) {
	e.admin(m.r.sim.Admin())
	e.model(&m.w.live)
	m.seen.add("edit")
}

// clock jumps past one of the spans that matter, or a little.
func (m *machine) clock(t *rapid.T) {
	m.pass(rapid.SampledFrom([]time.Duration{time.Second, 45 * time.Second, modelCooldown, 100 * time.Second, modelSettle, modelWindow}).Draw(t, "jump"))
}

// pass lets time go by; a late write that is due lands.
func (m *machine) pass(d time.Duration) {
	m.r.clock.move(d)
	m.w.now = m.w.now.Add(d)
	m.seen.add("clock jump of " + d.String())
	if m.w.landed() {
		m.gate.Open()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m.r.must(m.r.sim.Wait(ctx))
		m.seen.add("late write landed")
	}
}

// export must have one line for each event, with the permitted fields alone.
func (m *machine) export(t *rapid.T) {
	var out bytes.Buffer
	m.r.must(core.ExportAudit(context.Background(), m.r.store, &out))
	events := 0
	for _, p := range m.w.pacts {
		events += len(p.chain)
	}
	lines := strings.Count(out.String(), "\n")
	if lines != events {
		t.Fatalf("the export has %d lines for %d events", lines, events)
	}
	m.seen.add("export")
}

// check holds the invariants after each step.
func (m *machine) check(t *rapid.T) {
	m.seen.add("steps")
	m.checkFirewall(t)
	m.checkWire(t)
	keys := map[string][]*pact{}
	for _, p := range m.w.pacts {
		m.checkContract(t, p)
		keys[p.key()] = append(keys[p.key()], p)
	}
	m.checkBlocking(t, keys)
	m.checkReservations(t)
	m.checkStore(t)
}

// stored is what the firewall keeps, as a reading would show it.
func (m *machine) stored() []object {
	rows, _ := m.r.sim.Stored("aliases/alias").([]any)
	out := make([]object, len(rows))
	for i, row := range rows {
		text := func(name string) string { s, _ := row.(map[string]any)[name].(string); return s }
		out[i] = object{text("name"), text("descr"), text("address"), text("detail")}
	}
	return out
}

// checkFirewall: every value on the firewall is explained by the initial
// configuration, by another administrator, or by a request of a contract.
func (m *machine) checkFirewall(t *rapid.T) {
	now := m.stored()
	if len(now) != len(m.w.live.objects) {
		t.Fatalf("the firewall has %d aliases, the model %d", len(now), len(m.w.live.objects))
	}
	for i := range now {
		if now[i] != m.w.live.objects[i] {
			t.Fatalf("alias %d is %q, and history explains %q", i, now[i], m.w.live.objects[i])
		}
	}
}

// checkWire: the simulator counted exactly the sends of the model, at most
// one for each direction and one more for each resumed rollback, each with
// the body of its contract.
func (m *machine) checkWire(t *rapid.T) {
	wire := m.r.sim.Wire()
	if wire.Mutations != len(m.w.sent) {
		t.Fatalf("%d requests reached the firewall, and the model sent %d", wire.Mutations, len(m.w.sent))
	}
	for _, p := range m.w.pacts {
		if p.sends[core.Forward] > 1 || p.sends[core.Backward] > 1+p.resumes {
			t.Fatalf("%s was sent %d times forward and %d times back, with %d resumed", p.id,
				p.sends[core.Forward], p.sends[core.Backward], p.resumes)
		}
	}
	n := 0
	for _, request := range wire.Log {
		if request.Method == http.MethodGet {
			continue
		}
		if n++; n > m.bodies && request.Body != nil {
			m.checkBody(t, request.Body, m.w.sent[n-1])
		}
	}
	m.bodies = n
}

func (m *machine) checkBody(t *rapid.T, body []byte, want object) {
	var got struct {
		ID    *int
		Name  string
		Descr string
		Apply *bool
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Name != want.name || got.Descr != want.descr || got.ID == nil || got.Apply == nil || *got.Apply {
		t.Fatalf("a request says %s, want %q (%v)", body, want, err)
	}
}

// checkContract: record and chain are as the model says, and every step of
// the chain is an edge of the seeds.
func (m *machine) checkContract(t *rapid.T, p *pact) {
	ctx := context.Background()
	c, err := m.r.store.Load(ctx, p.id)
	m.r.must(err)
	if c.State != p.state || c.StateVersion != p.version() || c.Confirmed() != p.confirmed || (c.VerifiedTargetFingerprint != nil) != p.sealed {
		t.Fatalf("%s is %s, version %d, confirmed %v, sealed %v; the model says %s, %d, %v, %v", p.id, c.State, c.StateVersion,
			c.Confirmed(), c.VerifiedTargetFingerprint != nil, p.state, p.version(), p.confirmed, p.sealed)
	}
	events, err := m.r.store.Timeline(ctx, p.id)
	m.r.must(err)
	if len(events) != len(p.chain) {
		t.Fatalf("%s has %d events, the model %d", p.id, len(events), len(p.chain))
	}
	for i, e := range events {
		m.checkEvent(t, p, i, e)
	}
}

func (m *machine) checkEvent(t *rapid.T, p *pact, i int, e core.AuditEvent) {
	if e.Current != p.chain[i] || e.Version != int64(i) {
		t.Fatalf("event %d of %s is %s (version %d), the model says %s", i, p.id, e.Current, e.Version, p.chain[i])
	}
	if i == 0 {
		if e.Type != core.EventCreated || e.Previous != "" {
			t.Fatalf("%s begins with %s", p.id, e.Type)
		}
		return
	}
	legal := among(legalEdges[e.Previous], e.Current) && e.Type == core.EventTransition
	switch {
	case p.resolved[i]:
		legal = e.Previous == core.Reconciliation && among(manualEdges, e.Current) && e.Type == core.EventResolved
	case e.Type == core.EventConfirmed:
		legal = e.Previous == core.Prepared && e.Current == core.Prepared
	}
	if !legal || e.Previous != p.chain[i-1] {
		t.Fatalf("event %d of %s leads from %s to %s as %s", i, p.id, e.Previous, e.Current, e.Type)
	}
}

// checkBlocking: at most one contract of a key blocks, and it is found.
func (m *machine) checkBlocking(t *rapid.T, keys map[string][]*pact) {
	ctx := context.Background()
	for _, same := range keys {
		blocking := ""
		for _, p := range same {
			if !among(blockedBy, p.state) {
				continue
			}
			if blocking != "" {
				t.Fatalf("%s and %s block the same key", blocking, p.id)
			}
			blocking = p.id
		}
		c, err := m.r.store.Load(ctx, same[0].id)
		m.r.must(err)
		found, err := m.r.store.FindByIdempotencyKey(ctx, c.IdempotencyKey)
		m.r.must(err)
		if found == nil != (blocking == "") || found != nil && found.ID != blocking {
			t.Fatalf("the blocking contract is %v, the model says %q", found, blocking)
		}
		history, err := m.r.store.FindHistoricalByIdempotencyKey(ctx, c.IdempotencyKey)
		m.r.must(err)
		if len(history) != len(same) {
			t.Fatalf("%d attempts at one key are found, the model has %d", len(history), len(same))
		}
	}
}

// checkReservations looks into the table itself: exactly the contracts whose
// state holds a target have it, and no target has two.
func (m *machine) checkReservations(t *rapid.T) {
	db, err := sql.Open("sqlite", "file:"+m.r.path()+"?mode=ro")
	m.r.must(err)
	defer db.Close()
	rows, err := db.Query("SELECT contract_id FROM target_reservations")
	m.r.must(err)
	defer rows.Close()
	held := map[string]bool{}
	for rows.Next() {
		var id string
		m.r.must(rows.Scan(&id))
		held[id] = true
	}
	m.r.must(rows.Err())
	targets := map[string]string{}
	for _, p := range m.w.pacts {
		holds := among(reservedBy, p.state)
		if held[p.id] != holds {
			t.Fatalf("%s is %s and its reservation is there: %v", p.id, p.state, held[p.id])
		}
		if other := targets[p.target]; holds && other != "" {
			t.Fatalf("%s is reserved by %s and %s", p.target, other, p.id)
		}
		if holds {
			targets[p.target] = p.id
		}
		delete(held, p.id)
	}
	if len(held) != 0 {
		t.Fatalf("reservations of nobody: %v", held)
	}
}

// checkStore: anchor equals mark, the settle window is the newest doubtful
// send's, and the lists count right.
func (m *machine) checkStore(t *rapid.T) {
	ctx := context.Background()
	health, err := m.r.store.Health(ctx)
	m.r.must(err)
	anchor, err := m.r.anchor.Read(ctx)
	m.r.must(err)
	if anchor != health.Mark || anchor != uint64(m.w.mark) || !health.AnchorOK {
		t.Fatalf("anchor %d, mark %d, the model says %d (%s)", anchor, health.Mark, m.w.mark, health.AnchorNote)
	}
	at, _, err := m.r.store.LastAmbiguous(ctx)
	m.r.must(err)
	if !at.Equal(m.w.unsure) {
		t.Fatalf("the newest doubtful send was at %s, the model says %s", at, m.w.unsure)
	}
	want := core.Counts{History: len(m.w.pacts)}
	for _, p := range m.w.pacts {
		left := p.expires.Sub(m.w.now)
		if !among(finalStates, p.state) {
			want.Active++
		}
		if p.state == core.Reconciliation || p.state == core.RollbackFailed || p.state == core.Prepared && left > 0 && left <= modelSoon {
			want.NeedsYou++
		}
	}
	if got, err := m.r.store.Counts(ctx); err != nil || got != want {
		t.Fatalf("the lists count %+v, the model %+v (%v)", got, want, err)
	}
}

// finish verifies the closed file as `countersign verify` does.
func (m *machine) finish(t *rapid.T) {
	m.r.close()
	ctx := context.Background()
	k, err := keys.LoadStoreKeys(ctx, m.r.ring)
	m.r.must(err)
	report, err := store.Verify(ctx, store.Options{Path: m.r.path(), StoreID: rigStoreID, IntegrityKey: k.Integrity.Bytes(), Clock: m.r.clock}, nil)
	m.r.must(err)
	states := map[core.State]int64{}
	events := int64(0)
	for _, p := range m.w.pacts {
		states[p.state]++
		events += int64(len(p.chain))
	}
	if report.Contracts != int64(len(m.w.pacts)) || report.Events != events {
		t.Fatalf("the closed store has %d contracts and %d events, the model %d and %d", report.Contracts, report.Events, len(m.w.pacts), events)
	}
	for s, n := range states {
		if report.States[s] != n {
			t.Fatalf("the closed store has %d contracts in %s, the model %d", report.States[s], s, n)
		}
	}
}
