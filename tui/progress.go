package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
	"countersign/views"
)

const (
	// calmTick is how often times are drawn; runTick while a run is watched.
	calmTick = time.Second
	runTick  = 100 * time.Millisecond
	// probeEvery is how often the appliance is probed by itself, and
	// takeOverEvery how often an observer asks for the executor lock.
	probeEvery    = time.Minute
	takeOverEvery = 15 * time.Second
)

type (
	ticked   struct{}
	observed struct{ progress core.Progress }
)

// nextProgress waits for the next snapshot of any run.
func (m *Model) nextProgress() tea.Cmd {
	ch := m.progress
	return func() tea.Msg {
		p, ok := <-ch
		if !ok {
			return nil
		}
		return observed{p}
	}
}

// onProgress hands a snapshot on, unless it is of an earlier run. What a later
// look found is told wherever the operator is by then.
func (m *Model) onProgress(p core.Progress) tea.Cmd {
	if p.StartedAt.Before(m.begun[p.ContractID]) {
		return nil
	}
	if e, ok := m.top().(*views.Execution); p.Done && p.Warning != "" && !(ok && e.Watches(p.ContractID)) {
		m.notice = views.Warned(p)
	}
	return m.deliver(views.Progressed{Progress: p})
}

// tick moves the clock on a little later; the end of the program ends it.
func (m *Model) tick() tea.Cmd {
	every, ended := calmTick, m.ctx.Done()
	if m.watching() {
		every = runTick
	}
	return func() tea.Msg {
		timer := time.NewTimer(every)
		defer timer.Stop()
		select {
		case <-timer.C:
			return ticked{}
		case <-ended:
			return nil
		}
	}
}

// watching: something on the screen moves.
func (m *Model) watching() bool {
	if m.engine == nil {
		return m.failure == nil
	}
	e, ok := m.top().(*views.Execution)
	return ok && e.Running()
}

// onTick moves the clock on, and now and then probes.
func (m *Model) onTick() tea.Cmd {
	m.frame.Now = m.opts.Clock.Now()
	m.look()
	if m.engine == nil {
		return tea.Batch(m.tick(), m.deliver(m.scan.read()))
	}
	intent, cmd := m.top().Update(views.Ticked{Now: m.frame.Now})
	cmds := []tea.Cmd{m.tick(), cmd, m.act(m.top(), intent)}
	every := probeEvery
	if m.frame.Header.Mode == core.ModeObserver {
		every = takeOverEvery
	}
	if !m.probedAt.IsZero() && m.frame.Now.Sub(m.probedAt) >= every {
		cmds = append(cmds, m.probe())
	}
	return tea.Batch(cmds...)
}
