package views

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// PracticeFault is one thing that can go wrong at a simulated firewall.
type PracticeFault struct {
	Name, Explain string
	Armed         bool // it waits for the next change
}

// Practice is the demo's page of faults. Nothing leads to it but the palette.
type Practice struct {
	base
	faults []PracticeFault
	picker picker
}

// NewPractice shows the faults that can be armed.
func NewPractice(f *Frame) *Practice {
	return &Practice{base: base{Frame: f}, picker: newPicker(f.Theme, nil)}
}

// Init asks what can be armed.
func (p *Practice) Init() (Intent, tea.Cmd) { return NeedFaults{}, nil }

// SetSize fits the list.
func (p *Practice) SetSize(width, height int) {
	p.base.SetSize(width, height)
	p.picker.resize(height - 2)
}

// Title names the screen; what is armed is in the first line.
func (p *Practice) Title() (string, string) {
	place := ""
	if n := len(p.faults); n > 0 {
		place = fmt.Sprintf("%d of %d", p.picker.current()+1, n)
	}
	if len(p.Armed) == 0 {
		place = "nothing is armed   " + place
	}
	return "Faults to practise with", place
}

// Keys arm and clear.
func (p *Practice) Keys() []Binding {
	k := p.KeyMap
	return []Binding{k.Arm, k.Disarm, k.Back, k.Help, k.Up, k.Down, k.PageUp, k.PageDown, k.Top, k.Bottom}
}

// Hint says in full what the selected fault does.
func (p *Practice) Hint() string {
	if i := p.picker.current(); i >= 0 {
		return p.faults[i].Name + ": " + p.faults[i].Explain
	}
	return ""
}

// Update moves, arms and clears.
func (p *Practice) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return p.key(msg), nil
	case FaultsRead:
		p.list(msg.Faults)
	case Ticked:
		return NeedFaults{}, nil
	}
	return nil, nil
}

func (p *Practice) key(msg tea.KeyMsg) Intent {
	k, all := p.KeyMap, len(p.faults)
	switch {
	case k.Back.Is(msg):
		return Back{}
	case k.Disarm.Is(msg):
		return ClearFaults{}
	case k.Arm.Is(msg):
		if i := p.picker.current(); i >= 0 {
			return ArmFault{p.faults[i].Name}
		}
	case k.Up.Is(msg):
		p.picker.move(-1)
	case k.Down.Is(msg):
		p.picker.move(1)
	case k.PageUp.Is(msg):
		p.picker.move(-p.picker.height)
	case k.PageDown.Is(msg):
		p.picker.move(p.picker.height)
	case k.Top.Is(msg):
		p.picker.move(-all)
	case k.Bottom.Is(msg):
		p.picker.move(all)
	}
	return nil
}

// list takes what can be armed, and keeps the selection.
func (p *Practice) list(faults []PracticeFault) {
	p.faults = faults
	choices := make([]choice, len(faults))
	for i, f := range faults {
		choices[i] = choice{label: "  " + f.Name, note: f.Explain}
		if f.Armed {
			choices[i] = choice{label: p.Theme.Marks.Running + " " + f.Name, note: "ARMED: " + f.Explain}
		}
	}
	selected, height := p.picker.selected, p.picker.height
	p.picker = newPicker(p.Theme, choices)
	p.picker.resize(height)
	p.picker.move(selected)
}

// View is the list.
func (p *Practice) View() string {
	lines := append([]string{"", " " + p.Theme.Dim.Render(sayPractice)}, p.picker.lines(p.width)...)
	return p.Theme.join(lines, p.width, p.height)
}

// armedWords says what is armed: by its name, or how much.
func armedWords(names []string) string {
	if len(names) == 1 {
		return "armed: " + names[0]
	}
	return counted(len(names), "fault") + " armed"
}

// ArmedNotice is the notice after a fault was armed, or somebody's deed done.
func ArmedNotice(name string, armed []string) Notice {
	for _, other := range armed {
		if other == name {
			return Told("armed for the next change: " + strings.Join(armed, ", "))
		}
	}
	return Told(name + " is done")
}

// NothingArmed is the notice after everything was taken back.
func NothingArmed() Notice { return Told("nothing is armed any more") }
