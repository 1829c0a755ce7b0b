package views

import (
	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Palette chooses a command by its name: the keys of the screen below it, and
// the places one can go to.
type Palette struct {
	base
	commands []command
	picker   picker
}

type command struct {
	name, long, closed string
	intent             Intent
}

// NewPalette offers the bindings of a screen, and navigation.
func NewPalette(f *Frame, keys []Binding, s Situation) *Palette {
	p := &Palette{base: base{Frame: f}}
	for _, b := range keys {
		if b.Always && b.Quiet || b.Word() == f.KeyMap.Palette.Word() {
			continue
		}
		p.commands = append(p.commands, command{b.Word(), b.Long, b.Reason(s), PressKey{b.Keys()[0]}})
	}
	for _, c := range places(f) {
		if !p.has(c.name) {
			p.commands = append(p.commands, c)
		}
	}
	choices := make([]choice, len(p.commands))
	for i, c := range p.commands {
		choices[i] = choice{label: c.name, note: c.long, refused: notNow(c.closed)}
	}
	p.picker = newPicker(f.Theme, choices)
	return p
}

func (p *Palette) has(name string) bool {
	for _, c := range p.commands {
		if c.name == name {
			return true
		}
	}
	return false
}

func notNow(why string) string {
	if why == "" {
		return ""
	}
	return "not now: " + why
}

func places(f *Frame) []command {
	commands := []command{
		{"list: needs you", "what waits for a person", "", ShowList{core.ListNeedsYou}},
		{"list: active", "what is not finished", "", ShowList{core.ListActive}},
		{"list: history", "every contract", "", ShowList{core.ListHistory}},
		{"new change", f.KeyMap.New.Long, f.KeyMap.New.Reason(Situation{Header: f.Header}), StartChange{}},
		{"health", f.KeyMap.Health.Long, "", OpenHealth{}},
		{"inbox", f.KeyMap.Inbox.Long, "", OpenInbox{}},
		{f.KeyMap.Refresh.Word(), f.KeyMap.Refresh.Long, "", Refresh{}},
		{"quit", f.KeyMap.Quit.Long, "", Leave{}},
	}
	if f.Practice {
		commands = append(commands, command{"faults", sayPractice, "", OpenPractice{}})
	}
	return commands
}

// Typing: letters narrow the commands.
func (p *Palette) Typing() bool { return true }

// SetSize fits the picker.
func (p *Palette) SetSize(width, height int) {
	p.base.SetSize(width, height)
	p.picker.resize(height - 2)
}

// Title names the screen.
func (p *Palette) Title() (string, string) { return "Command", "" }

// Keys choose and leave.
func (p *Palette) Keys() []Binding {
	return []Binding{p.KeyMap.Choose, p.KeyMap.Back}
}

// Situation says why the selected command is closed.
func (p *Palette) Situation() Situation {
	s := p.base.Situation()
	s.Own = map[string]string{"choose": reasonNothing}
	if i := p.picker.current(); i >= 0 {
		s.Own["choose"] = p.commands[i].closed
	}
	return s
}

// Update narrows and chooses.
func (p *Palette) Update(msg tea.Msg) (Intent, tea.Cmd) {
	key, ok := msg.(tea.KeyMsg)
	if !ok {
		return nil, nil
	}
	switch {
	case p.KeyMap.Back.Is(key):
		return Back{}, nil
	case p.KeyMap.Choose.Is(key):
		return p.chosen(), nil
	}
	p.picker.key(key)
	return nil, nil
}

func (p *Palette) chosen() Intent {
	i := p.picker.current()
	if i < 0 || p.commands[i].closed != "" {
		return nil
	}
	return p.commands[i].intent
}

// View is the picker.
func (p *Palette) View() string {
	lines := append([]string{p.picker.filterLine(p.width), ""}, p.picker.lines(p.width)...)
	return p.Theme.join(lines, p.width, p.height)
}
