package views

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"
)

func TestEntryRefusesPasteWhereItMust(t *testing.T) {
	paste := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("web_servers"), Paste: true}
	name := newEntry()
	name.refusePaste = true
	if refused := name.key(paste); !refused || name.String() != "" {
		t.Errorf("a typed name took pasted text: %q", name.String())
	}
	filter := newEntry()
	if refused := filter.key(paste); refused || filter.String() != "web_servers" {
		t.Errorf("a filter refused pasted text")
	}
	filter.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("\x1b[2J\n")})
	if filter.String() != "web_servers[2J" {
		t.Errorf("control characters were taken: %q", filter.String())
	}
}

// The line is edited in the middle too, and shows where.
func TestEntryEdits(t *testing.T) {
	theme := NewTheme(ThemeOptions{Plain: true, ASCII: true})
	for _, c := range []struct {
		name  string
		keys  []tea.KeyType
		shown string
	}{
		{"as typed", nil, "web servers_"},
		{"backspace", []tea.KeyType{tea.KeyBackspace}, "web server_"},
		{"in the middle", []tea.KeyType{tea.KeyLeft, tea.KeyLeft, tea.KeyBackspace}, "web serv_rs"},
		{"a word", []tea.KeyType{tea.KeyCtrlW}, "web _"},
		{"to the start", []tea.KeyType{tea.KeyHome, tea.KeyDelete}, "_eb servers"},
		{"all", []tea.KeyType{tea.KeyCtrlU}, "_"},
		{"keys of the screens", []tea.KeyType{tea.KeyCtrlB, tea.KeyCtrlD, tea.KeyCtrlF, tea.KeyCtrlO, tea.KeyTab, tea.KeyUp, tea.KeyDown}, "web servers_"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEntry()
			for _, r := range "web servers" {
				e.key(letter(r))
			}
			for _, k := range c.keys {
				e.key(tea.KeyMsg{Type: k})
			}
			if got := e.show(theme, true); got != c.shown {
				t.Errorf("shows %q, want %q", got, c.shown)
			}
		})
	}
}

// No key runs a clipboard program, wakes the console while it is idle, or
// breaks the line, wherever the caret is.
func TestEntryTakesEveryKey(t *testing.T) {
	common := []tea.KeyMsg{letter('a'), {Type: tea.KeySpace, Runes: []rune{' '}},
		{Type: tea.KeyRunes, Runes: []rune("ä b\n"), Paste: true}, {Type: tea.KeyLeft}, {Type: tea.KeyRight}, {Type: tea.KeyCtrlV}}
	for _, r := range "bdf" {
		common = append(common, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: true})
	}
	every := slices.Clone(common)
	for k := tea.KeyType(-100); k < 128; k++ {
		every = append(every, tea.KeyMsg{Type: k}, tea.KeyMsg{Type: k, Alt: true})
	}
	rapid.Check(t, func(t *rapid.T) {
		e, input := newEntry(), newEntry().input
		pressed := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(common), rapid.SampledFrom(every)))
		for _, k := range pressed.Draw(t, "keys") {
			var cmd tea.Cmd
			if input, cmd = input.Update(k); cmd != nil {
				t.Fatalf("%s gives a command", k)
			}
			e.key(k)
			if at := e.input.Position(); at < 0 || at > len([]rune(e.String())) {
				t.Fatalf("after %s the caret is at %d of %q", k, at, e.String())
			}
		}
		if strings.ContainsFunc(e.String(), unicode.IsControl) {
			t.Fatalf("control characters were taken: %q", e.String())
		}
	})
}

func TestEntryIsBounded(t *testing.T) {
	e := newEntry()
	e.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.Repeat("ä", mostEntry+1)), Paste: true})
	if got := len([]rune(e.String())); got != mostEntry {
		t.Errorf("%d runes were taken", got)
	}
}
