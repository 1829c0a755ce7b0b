package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"countersign/views"
)

// act does what a screen wants.
func (m *Model) act(from views.Screen, intent views.Intent) tea.Cmd {
	if intent == nil {
		return nil
	}
	if cmd, ok := m.navigate(from, intent); ok {
		return cmd
	}
	if cmd, ok := m.read(intent); ok {
		return cmd
	}
	return m.decide(intent)
}

// navigate changes what is shown; it reports whether that was wanted.
func (m *Model) navigate(from views.Screen, intent views.Intent) (tea.Cmd, bool) {
	f := m.frame
	switch i := intent.(type) {
	case views.Back:
		m.leave(from)
	case views.OpenContract:
		if _, ended := from.(*views.Execution); ended {
			m.cut(1)
		}
		return m.push(views.NewDetail(f, i.ID)), true
	case views.StartChange:
		return m.push(views.NewPrepare(f, m.engine.Capabilities(), m.opts.NewKey())), true
	case views.OpenAuthorize:
		return m.push(views.NewAuthorize(f, i.Draft)), true
	case views.OpenConfirm:
		return m.above(i.ID, views.NewConfirm(f, i.ID)), true
	case views.OpenExecution:
		return m.watch(i), true
	case views.OpenRollback:
		return m.above(i.ID, views.NewRollback(f, i.ID)), true
	case views.OpenDecline:
		return m.above(i.Detail.Row.ContractID, views.NewDecline(f, i.Detail)), true
	case views.OpenReconcile:
		return m.above(i.ID, views.NewReconcile(f, i.ID)), true
	case views.OpenLoad:
		return m.above(i.Detail.Row.ContractID, views.NewLoad(f, i.Detail)), true
	default:
		return m.places(from, intent)
	}
	return nil, true
}

// places are the screens that belong to no contract.
func (m *Model) places(from views.Screen, intent views.Intent) (tea.Cmd, bool) {
	f := m.frame
	switch i := intent.(type) {
	case views.OpenHealth:
		m.leavePalette(from)
		return m.push(views.NewHealth(f)), true
	case views.OpenInbox:
		m.leavePalette(from)
		return m.push(views.NewInbox(f)), true
	case views.OpenPractice:
		return m.push(views.NewPractice(f)), true
	case views.OpenHelp:
		return m.push(views.NewHelp(f, m.top().Keys(), m.top().Situation())), true
	case views.OpenPalette:
		return m.push(views.NewPalette(f, m.top().Keys(), m.top().Situation())), true
	case views.ShowList:
		m.cut(1)
		return m.act(m.list, m.list.Show(i.List)), true
	case views.PressKey:
		m.leave(from)
		return m.press(keyNamed(i.Key)), true
	case views.Say:
		m.notice = i.Notice
	case views.SwitchOperator:
		m.switchOperator()
	case views.Leave:
		return m.askToLeave(), true
	case views.LeaveNow:
		return m.quit(), true
	default:
		return nil, false
	}
	return nil, true
}

func (m *Model) push(s views.Screen) tea.Cmd {
	if _, ok := m.top().(*views.Palette); ok {
		m.cut(len(m.stack) - 1)
	}
	m.stack = append(m.stack, s)
	m.lay()
	intent, cmd := s.Init()
	return tea.Batch(cmd, m.act(s, intent))
}

// cut closes every screen from the nth on; those that hold a passphrase
// overwrite it.
func (m *Model) cut(n int) {
	for _, s := range m.stack[n:] {
		if c, ok := s.(interface{ Close() }); ok {
			c.Close()
		}
	}
	m.stack = m.stack[:n]
}

// leave closes a screen and everything above it; the list stays.
func (m *Model) leave(s views.Screen) {
	for i, x := range m.stack {
		if x == s && i > 0 {
			m.cut(i)
			return
		}
	}
}

func (m *Model) leavePalette(from views.Screen) {
	if _, ok := from.(*views.Palette); ok {
		m.leave(from)
	}
}

// above shows a screen of a contract directly above its detail, so that esc
// always leads back to the contract and from there to the list.
func (m *Model) above(id string, s views.Screen) tea.Cmd {
	for i, x := range m.stack {
		if d, ok := x.(*views.Detail); ok && d.ID() == id {
			m.cut(i + 1)
			return m.push(s)
		}
	}
	m.cut(1)
	below := m.push(views.NewDetail(m.frame, id))
	return tea.Batch(below, m.push(s))
}

// watch shows a contract's run, with what is known of it already.
func (m *Model) watch(i views.OpenExecution) tea.Cmd {
	p, known := m.engine.Progress(i.ID)
	started, ours := m.begun[i.ID]
	if !i.Ready && !ours && !known {
		m.notice = views.Notice{Text: "another console runs this; its result appears here by itself", Refusal: true}
		return nil
	}
	s := views.NewExecution(m.frame, i.ID, i.Ready)
	cmd := m.above(i.ID, s)
	if known && !i.Ready && !p.StartedAt.Before(started) {
		_, more := s.Update(views.Progressed{Progress: p})
		return tea.Batch(cmd, more)
	}
	return cmd
}

// switchOperator offers the next enrolled operator's name.
func (m *Model) switchOperator() {
	names := m.frame.Operators
	for i, name := range names {
		if name == m.frame.Operator {
			m.frame.Operator = names[(i+1)%len(names)]
			return
		}
	}
	if len(names) > 0 {
		m.frame.Operator = names[0]
	}
}

// askToLeave leaves, or asks first while something is in flight.
func (m *Model) askToLeave() tea.Cmd {
	n := 0
	if m.engine != nil {
		n = m.engine.InFlight()
	}
	if n == 0 {
		return m.quit()
	}
	if _, asking := m.top().(*views.Leaving); asking {
		return nil
	}
	return m.push(views.NewLeaving(m.frame, n))
}
