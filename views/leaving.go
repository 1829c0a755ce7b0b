package views

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// Leaving asks before the console is left while something is in flight. The
// key that leaves is not the one that asked, so a key pressed twice stays.
type Leaving struct {
	base
	inFlight int
}

// NewLeaving asks whether to leave.
func NewLeaving(f *Frame, inFlight int) *Leaving {
	return &Leaving{base: base{Frame: f}, inFlight: inFlight}
}

// Title names the screen.
func (l *Leaving) Title() (string, string) { return "Leave the console", "" }

// Keys leave or stay.
func (l *Leaving) Keys() []Binding { return []Binding{l.KeyMap.LeaveNow, l.KeyMap.Stay} }

// Update leaves or stays.
func (l *Leaving) Update(msg tea.Msg) (Intent, tea.Cmd) {
	key, ok := msg.(tea.KeyMsg)
	switch {
	case !ok:
		return nil, nil
	case l.KeyMap.LeaveNow.Is(key):
		return LeaveNow{}, nil
	case l.KeyMap.Stay.Is(key):
		return Back{}, nil
	}
	return nil, nil
}

// View says what leaving means now.
func (l *Leaving) View() string {
	p := l.page()
	p.blank()
	p.text(l.Theme.Strong, 1, fmt.Sprintf(sayQuitInFlight, counted(l.inFlight, "run")))
	p.blank()
	p.text(l.Theme.Text, 1, "The console waits for it after the screen has closed. Q leaves; esc stays.")
	return l.Theme.join(p.lines, l.width, l.height)
}
