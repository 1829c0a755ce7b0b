package views

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// choice is one line of a picker.
type choice struct {
	label, note string
	refused     string // why it cannot be taken, or ""
}

// picker is a list to choose from, narrowed by what is typed. Letters go to
// the filter at once, so there is no mode to remember.
type picker struct {
	theme    *Theme
	choices  []choice
	filter   entry
	shown    []int // indexes into choices that match the filter
	selected int   // index into shown
	top      int
	height   int
	widest   int // label, in cells
}

func newPicker(t *Theme, choices []choice) picker {
	p := picker{theme: t, choices: choices, filter: newEntry()}
	for _, c := range choices {
		p.widest = max(p.widest, ansi.StringWidth(t.Clean(c.label)))
	}
	p.narrow()
	return p
}

func (p *picker) narrow() {
	text := strings.ToLower(p.filter.String())
	var noted []int // only their note matches: behind the others
	p.shown = nil
	for i, c := range p.choices {
		switch {
		case strings.Contains(strings.ToLower(c.label), text):
			p.shown = append(p.shown, i)
		case strings.Contains(strings.ToLower(c.note), text):
			noted = append(noted, i)
		}
	}
	p.shown = append(p.shown, noted...)
	p.move(-p.selected)
}

func (p *picker) move(by int) {
	p.selected = max(0, min(p.selected+by, len(p.shown)-1))
	p.top = max(0, min(p.top, p.selected), p.selected-p.height+1)
}

// current is the index of the selected choice, or -1.
func (p *picker) current() int {
	if p.selected >= len(p.shown) {
		return -1
	}
	return p.shown[p.selected]
}

// key moves or filters.
func (p *picker) key(msg tea.KeyMsg) {
	switch msg.Type {
	case tea.KeyUp:
		p.move(-1)
	case tea.KeyDown:
		p.move(1)
	case tea.KeyPgUp:
		p.move(-p.height)
	case tea.KeyPgDown:
		p.move(p.height)
	case tea.KeyHome:
		p.move(-len(p.shown))
	case tea.KeyEnd:
		p.move(len(p.shown))
	default:
		before := p.filter.String()
		if p.filter.key(msg); p.filter.String() != before {
			p.narrow()
		}
	}
}

// resize keeps the selection on screen.
func (p *picker) resize(height int) {
	p.height = max(1, height)
	p.move(0)
}

// lines draws the choices on the screen, and how many there are.
func (p *picker) lines(width int) []string {
	t := p.theme
	var out []string
	label := min(36, width*2/5, p.widest)
	for i := p.top; i < len(p.shown) && len(out) < p.height; i++ {
		c := p.choices[p.shown[i]]
		selected := i == p.selected
		cursor := " "
		if selected {
			cursor = t.Marks.Cursor
		}
		name, note, noteStyle := t.Text, c.note, t.Dim
		if c.refused != "" {
			name, note = t.Dim, c.refused
		}
		out = append(out, t.On(t.Text, selected).Render(" ")+t.On(t.Key, selected).Render(cursor)+t.On(t.Text, selected).Render(" ")+
			t.On(name, selected).Render(t.fit(t.Clean(c.label), label)+"  ")+
			t.On(noteStyle, selected).Render(t.fit(t.Clean(note), width-label-6)))
	}
	if len(p.shown) == 0 {
		out = append(out, "   "+t.Dim.Render("nothing matches"))
	}
	return out
}

// filterLine shows what is typed and how much matches.
func (p *picker) filterLine(width int) string {
	t := p.theme
	return t.spread(" filter: "+p.filter.show(t, true), t.Dim.Render(count(len(p.shown))+" of "+count(len(p.choices)))+" ", width)
}
