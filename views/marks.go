package views

import (
	"strings"

	"github.com/charmbracelet/lipgloss"

	"countersign/core"
)

// Marks are the one-cell signs of the console's own; each has an ASCII form.
type Marks struct {
	Cursor, Dot, Ellipsis, Rule  string
	Done, Running, Stopped, Skip string
	Differs, More, Caret         string
	Up, Down                     string
	Full, Empty                  string // of a bar
	Hidden                       string // stands for a passphrase of any length
}

func marksFor(ascii bool) Marks {
	if ascii {
		return Marks{Cursor: "|", Dot: "-", Ellipsis: "~", Rule: "-",
			Done: "+", Running: ">", Stopped: "x", Skip: ".",
			Differs: "*", More: "v", Caret: "_", Up: "up", Down: "down", Full: "#", Empty: ".", Hidden: "(hidden)"}
	}
	return Marks{Cursor: "▌", Dot: "·", Ellipsis: "…", Rule: "─",
		Done: "✓", Running: "▶", Stopped: "✗", Skip: "·",
		Differs: "≠", More: "▾", Caret: "█", Up: "↑", Down: "↓", Full: "█", Empty: "░", Hidden: "(hidden)"}
}

// stateLook is how a state is shown. The word alone is enough.
type stateLook struct {
	mark, ascii string
	style       func(*Theme) lipgloss.Style
}

func lookOf(s core.State) stateLook {
	switch s {
	case core.Preparing:
		return stateLook{"◌", "o", func(t *Theme) lipgloss.Style { return t.Info }}
	case core.Prepared:
		return stateLook{"◍", "O", func(t *Theme) lipgloss.Style { return t.Info }}
	case core.Executing:
		return stateLook{"▶", ">", func(t *Theme) lipgloss.Style { return t.Busy }}
	case core.Verified:
		return stateLook{"✓", "+", func(t *Theme) lipgloss.Style { return t.Good }}
	case core.Failed:
		return stateLook{"✗", "x", func(t *Theme) lipgloss.Style { return t.Dim }}
	case core.Reconciliation:
		return stateLook{"?", "?", func(t *Theme) lipgloss.Style { return t.Warn }}
	case core.RollingBack:
		return stateLook{"◀", "<", func(t *Theme) lipgloss.Style { return t.Busy }}
	case core.RolledBack:
		return stateLook{"↺", "=", func(t *Theme) lipgloss.Style { return t.Good }}
	case core.RollbackFailed:
		return stateLook{"!", "!", func(t *Theme) lipgloss.Style { return t.Bad }}
	case core.Expired:
		return stateLook{"·", ".", func(t *Theme) lipgloss.Style { return t.Dim }}
	}
	return stateLook{"#", "#", func(t *Theme) lipgloss.Style { return t.Bad }}
}

// StateMark is a state's sign; an unknown state has the quarantine's.
func (t *Theme) StateMark(s core.State) string {
	if l := lookOf(s); t.ASCII {
		return l.ascii
	} else {
		return l.mark
	}
}

// StateWord is a state's name as the seeds write it.
func StateWord(s core.State) string { return strings.ToUpper(string(s)) }

// StateStyle is a state's colour.
func (t *Theme) StateStyle(s core.State) lipgloss.Style { return lookOf(s).style(t) }

// State is mark and word, in the state's colour.
func (t *Theme) State(s core.State) string {
	return t.StateStyle(s).Render(t.StateMark(s) + " " + t.Clean(StateWord(s)))
}

// words gives a sentence of our own or of core this terminal's dot.
func (t *Theme) words(s string) string {
	return strings.ReplaceAll(s, " · ", " "+t.Marks.Dot+" ")
}
