package views

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// ThemeOptions choose how much the terminal can show.
type ThemeOptions struct {
	ASCII   bool // marks and rules from ASCII; other characters are spelled out
	NoColor bool // bold, faint and reverse only (NO_COLOR)
	Plain   bool // no escape sequences at all
}

// Theme is the one set of styles and marks. It is fixed when the program
// starts. Nothing depends on a style to be understood.
type Theme struct {
	ASCII bool
	Marks Marks

	Text, Strong, Dim, Title, Rule  lipgloss.Style
	Good, Warn, Bad, Info, Busy     lipgloss.Style
	Key, Input, Before, After, Mode lipgloss.Style

	renderer *lipgloss.Renderer
	selected lipgloss.TerminalColor
	colored  bool
}

// NewTheme makes the theme for a terminal. The colours and the background are
// those that were found when the program began.
func NewTheme(o ThemeOptions) *Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(lipgloss.ColorProfile())
	r.SetHasDarkBackground(lipgloss.HasDarkBackground())
	if o.Plain {
		r.SetColorProfile(termenv.Ascii)
	} else if o.NoColor {
		r.SetColorProfile(termenv.ANSI) // for the attributes; no colour is set below
	}
	t := &Theme{ASCII: o.ASCII, Marks: marksFor(o.ASCII), renderer: r, colored: !o.NoColor && !o.Plain}

	t.Text = r.NewStyle()
	t.Strong = r.NewStyle().Bold(true)
	t.Title = r.NewStyle().Bold(true)
	t.Dim = t.ink("240", "246").Faint(!t.colored)
	t.Rule = t.ink("250", "239").Faint(!t.colored)
	t.Good = t.ink("28", "114")
	t.Info = t.ink("25", "110")
	t.Busy = t.ink("25", "117").Bold(true)
	t.Warn = t.ink("130", "221").Bold(true)
	t.Bad = t.ink("160", "210").Bold(true)
	t.Key = t.ink("25", "110").Bold(true)
	t.Input = r.NewStyle().Bold(true)
	t.Before = t.ink("160", "210")
	t.After = t.ink("28", "114")
	t.Mode = r.NewStyle().Bold(true)
	t.selected = lipgloss.NoColor{}
	if t.colored {
		t.selected = lipgloss.AdaptiveColor{Light: "254", Dark: "237"}
	}
	return t
}

// ink is a foreground for light and dark backgrounds.
func (t *Theme) ink(light, dark string) lipgloss.Style {
	s := t.renderer.NewStyle()
	if !t.colored {
		return s
	}
	return s.Foreground(lipgloss.AdaptiveColor{Light: light, Dark: dark})
}

// On is a style on the background of the selected row.
func (t *Theme) On(s lipgloss.Style, selected bool) lipgloss.Style {
	if !selected {
		return s
	}
	return s.Background(t.selected).Bold(true)
}

// Clean sanitises text for this terminal. Apply it exactly once.
func (t *Theme) Clean(s string) string { return Sanitize(s, t.ASCII) }
