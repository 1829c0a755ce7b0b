package views

import (
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
)

// mostEntry bounds what can be typed into one line.
const mostEntry = 256

// entry is one line of text being typed: a filter, a command, a target's
// name. It runs no clipboard program.
type entry struct {
	text []rune
	// refusePaste is for a typed confirmation: what is agreed to must be
	// typed, not pasted.
	refusePaste bool
}

// key edits the line. refused reports that pasted text was not taken.
func (e *entry) key(msg tea.KeyMsg) (taken, refused bool) {
	switch msg.Type {
	case tea.KeyRunes, tea.KeySpace:
		if msg.Paste && e.refusePaste {
			return true, true
		}
		for _, r := range msg.Runes {
			if !unicode.IsControl(r) && len(e.text) < mostEntry {
				e.text = append(e.text, r)
			}
		}
	case tea.KeyBackspace:
		if len(e.text) > 0 {
			e.text = e.text[:len(e.text)-1]
		}
	case tea.KeyCtrlU:
		e.text = nil
	default:
		return false, false
	}
	return true, false
}

func (e *entry) String() string { return string(e.text) }

// show is the line with its caret.
func (e *entry) show(t *Theme, focused bool) string {
	line := t.Input.Render(t.Clean(string(e.text)))
	if focused {
		line += t.Marks.Caret
	}
	return line
}
