package views

import (
	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Decline ends a PREPARED contract before anything is sent.
type Decline struct {
	gate
	detail core.Detail
}

// NewDecline asks to decline a contract.
func NewDecline(f *Frame, d core.Detail) *Decline {
	return &Decline{gate: gate{base: base{Frame: f}}, detail: d}
}

// Gate is false: nothing is sent, and the page is short.
func (d *Decline) Gate() bool { return false }

// SetSize keeps the review in bounds.
func (d *Decline) SetSize(width, height int) {
	d.base.SetSize(width, height)
	d.gate.measure(len(d.reviewed()), 1)
}

// Title names the contract.
func (d *Decline) Title() (string, string) {
	return "Decline " + d.Theme.Marks.Dot + " " + d.Theme.shortID(d.detail.Row.ContractID), ""
}

// Keys are those of a form.
func (d *Decline) Keys() []Binding {
	k := d.KeyMap
	return []Binding{k.Agree.as("decline"), k.Back.as("leave (stays PREPARED)"), k.HelpTyping, k.Operator, k.PageUp, k.PageDown}
}

// Situation is a form's.
func (d *Decline) Situation() Situation { return d.situation(d.Header.Closed) }

// Update follows keys and the answer.
func (d *Decline) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return d.press(msg), nil
	case Declined:
		if msg.ID == d.detail.Row.ContractID {
			return d.declined(msg.Err), nil
		}
	}
	return nil, nil
}

func (d *Decline) declined(err error) Intent {
	if refusal := d.answered(err); refusal != nil {
		return refusal
	}
	return Back{}
}

func (d *Decline) press(msg tea.KeyMsg) Intent {
	if intent, done := d.gate.key(msg); done {
		return intent
	}
	if d.KeyMap.Agree.Is(msg) {
		return d.agree(func(passphrase []byte) Intent {
			return DeclineContract{d.detail.Row.ContractID, passphrase}
		})
	}
	d.secret.key(msg)
	return nil
}

// View is the review above the question.
func (d *Decline) View() string { return d.stack(d.reviewed(), []string{d.prompt(true)}) }

func (d *Decline) reviewed() []string {
	p, t, r := d.page(), d.Theme, d.detail.Row
	p.text(t.Strong, 1, "You are about to decline this contract. Nothing is sent.")
	p.blank()
	p.pair("target", r.Noun+" "+r.Target)
	p.changes(d.detail.Changes)
	p.blank()
	what := "a proven refusal before anything was sent"
	if r.Attributed {
		what = "given up, because a request of it may have left before. Read the target"
	}
	p.text(t.Dim, 1, "It becomes FAILED: "+what+". A fresh attempt needs a fresh authorization.")
	return p.lines
}
