package core_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"pgregory.net/rapid"

	"countersign/core"
	"countersign/pfsense/sim"
)

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
