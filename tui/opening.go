package tui

import (
	"context"
	"sync/atomic"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
	"countersign/views"
)

// Opener opens everything behind the console and starts its engine. It tells
// progress, from any goroutine, how many contracts of how many the verified
// scan has passed. When ctx ends it gives up and releases what it opened.
type Opener func(ctx context.Context, progress func(done, total int)) (Engine, core.StartReport, error)

// opened: the console may work, or could not be opened.
type opened struct {
	engine Engine
	report core.StartReport
	err    error
}

// scan is how far the verified scan is. The store reports it from goroutines
// of its own; the screen looks at every tick.
type scan struct{ done, total atomic.Int64 }

func (s *scan) report(done, total int) {
	s.total.Store(int64(total))
	s.done.Store(int64(done))
}

func (s *scan) read() views.Scanned {
	return views.Scanned{Done: int(s.done.Load()), Total: int(s.total.Load())}
}

// open opens the console behind its first frame. The end of the program
// cancels it, and Run waits until it has given up.
func (m *Model) open() tea.Cmd {
	return m.counted(func() tea.Msg {
		engine, report, err := m.opts.Open(m.ctx, m.scan.report)
		return opened{engine, report, err}
	})
}

// onOpened goes on with the list and says what the start found, or shows why
// there is none and keeps that for Run.
func (m *Model) onOpened(o opened) tea.Cmd {
	if m.quitting {
		return nil
	}
	if o.err != nil {
		m.failure = o.err
		return m.deliver(views.OpenFailed{Err: o.err})
	}
	m.adopt(o.engine)
	m.notice = views.Found(o.report)
	return m.begin()
}

// adopt takes an engine over: the list replaces the first frame, and what is
// open above it stays.
func (m *Model) adopt(e Engine) {
	m.engine = e
	m.progress, m.unsubscribe = e.Subscribe()
	m.frame.Header = e.Header()
	m.list = views.NewList(m.frame)
	m.stack = append([]views.Screen{m.list}, m.stack[min(1, len(m.stack)):]...)
}

// header is the engine's, or the first frame's.
func (m *Model) header() core.Header {
	if m.engine != nil {
		return m.engine.Header()
	}
	s := m.scan.read()
	h := core.Header{Appliance: m.opts.Appliance, Operator: m.opts.Operator, Mode: core.ModeStarting,
		StoreNote: views.ScanNote(s.Done, s.Total), Closed: "still starting"}
	if m.failure != nil {
		return views.NotOpen(h)
	}
	return h
}
