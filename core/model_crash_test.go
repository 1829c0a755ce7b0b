package core_test

import (
	"context"
	"runtime"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"countersign/core"
)

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
		if m.w.planned == c.p {
			points = points[2:] // nothing is planned a second time
		}
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
		// The anchor had moved: it is attributed to this contract, whose
		// request may have left from a newer copy of the database.
		m.w.take(p)
		m.w.unsure, p.spent = m.w.now, true
		return false
	case at == "plan/after commit":
		m.w.plan(p)
		return false
	case at == "plan/before commit":
		// What was another's number is used up before anything is planned.
		if m.w.planned != nil && m.w.planned != p {
			m.w.plan(nil)
		}
		return false
	case when == "before commit" && !strings.HasPrefix(step, "seal"):
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
