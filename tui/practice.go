package tui

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/views"
)

// Practice is a simulated firewall at which a person lets things go wrong. It
// is in the same process: Armed is asked for whenever something is drawn.
type Practice interface {
	// Troubles names what can go wrong, and Explain says one in a line.
	Troubles() []string
	Explain(name string) string
	// Arm lets it happen to the next change, or at once where it is another
	// administrator's deed. Armed names what still waits; Clear takes it back.
	Arm(name string) error
	Armed() []string
	Clear() error
}

// practise serves the page of faults; it reports whether that was wanted.
func (m *Model) practise(intent views.Intent) (tea.Cmd, bool) {
	p := m.opts.Practice
	if p == nil {
		return nil, false
	}
	var do func() (views.Notice, error)
	switch i := intent.(type) {
	case views.NeedFaults:
		do = func() (views.Notice, error) { return views.Notice{}, nil }
	case views.ArmFault:
		do = func() (views.Notice, error) {
			err := p.Arm(i.Name)
			return views.ArmedNotice(i.Name, p.Armed()), err
		}
	case views.ClearFaults:
		do = func() (views.Notice, error) { return views.NothingArmed(), p.Clear() }
	default:
		return nil, false
	}
	return m.ask(func(context.Context) tea.Msg {
		notice, err := do()
		if err != nil {
			notice = views.Refused(err)
		}
		return views.FaultsRead{Faults: faultsOf(p), Notice: notice}
	}), true
}

func faultsOf(p Practice) []views.PracticeFault {
	var faults []views.PracticeFault
	armed := p.Armed()
	for _, name := range p.Troubles() {
		faults = append(faults, views.PracticeFault{Name: name, Explain: p.Explain(name), Armed: slices.Contains(armed, name)})
	}
	return faults
}
