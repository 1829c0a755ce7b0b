package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"countersign/views"
)

// keys splits runes that arrived together, as they do over slow links, into
// one key each; pasted text stays whole.
func (m *Model) keys(msg tea.KeyMsg) tea.Cmd {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return m.press(msg)
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		cmds = append(cmds, m.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
	}
	return tea.Batch(cmds...)
}

// press handles one key: what is closed says why, a few keys work everywhere,
// and the rest is the screen's.
func (m *Model) press(msg tea.KeyMsg) tea.Cmd {
	if m.quitting {
		return nil
	}
	top, k := m.top(), m.frame.KeyMap
	m.notice = views.Notice{}
	if msg.Type == tea.KeyCtrlC {
		return m.act(top, views.Leave{})
	}
	if views.TooSmall(m.width, m.height, top.Gate()) && !k.Back.Is(msg) {
		return nil
	}
	b, found := m.binding(msg)
	if found {
		if why := b.Reason(top.Situation()); why != "" {
			m.notice = views.ClosedKey(b, why)
			return nil
		}
		if intent := m.everywhere(msg); intent != nil {
			return m.act(top, intent)
		}
	}
	intent, cmd := top.Update(msg)
	return tea.Batch(cmd, m.act(top, intent))
}

// binding finds the screen's binding for a key. Where letters are typed, a
// letter is no key.
func (m *Model) binding(msg tea.KeyMsg) (views.Binding, bool) {
	top := m.top()
	if top.Typing() && (msg.Type == tea.KeyRunes || msg.Type == tea.KeySpace) {
		return views.Binding{}, false
	}
	for _, b := range top.Keys() {
		if b.Is(msg) {
			return b, true
		}
	}
	return views.Binding{}, false
}

// everywhere are the keys that mean the same on every screen that has them.
func (m *Model) everywhere(msg tea.KeyMsg) views.Intent {
	if _, helping := m.top().(*views.Help); helping {
		return nil
	}
	switch k := m.frame.KeyMap; {
	case k.Help.Is(msg):
		return views.OpenHelp{}
	case k.Palette.Is(msg):
		return views.OpenPalette{}
	case k.Quit.Is(msg):
		return views.Leave{}
	case k.New.Is(msg):
		return views.StartChange{}
	case k.Health.Is(msg):
		return views.OpenHealth{}
	case k.Inbox.Is(msg):
		return views.OpenInbox{}
	case k.Refresh.Is(msg) && m.top() == views.Screen(m.list):
		return views.Refresh{}
	}
	return nil
}

// keyNamed makes the key of a name, for a command chosen in the palette.
func keyNamed(name string) tea.KeyMsg {
	if runes := []rune(name); len(runes) == 1 {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: runes}
	}
	for t := tea.KeyType(-100); t < 128; t++ {
		if msg := (tea.KeyMsg{Type: t}); msg.String() == name {
			return msg
		}
	}
	return tea.KeyMsg{}
}
