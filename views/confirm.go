package views

import (
	"errors"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Confirm is gate two: the review in full, the target's name typed, and the
// passphrase.
type Confirm struct {
	gate
	id     string
	review core.Review
	read   bool
	load   loading
	name   entry
	named  bool                       // the name was typed; the passphrase is asked
	signed *core.ConfirmationEvidence // signed elsewhere and waiting, or nil
}

// NewConfirm reviews a contract for its confirmation.
func NewConfirm(f *Frame, id string) *Confirm {
	c := &Confirm{gate: gate{base: base{Frame: f}, waiting: waitFirewall}, id: id, name: newEntry()}
	c.name.refusePaste = true
	return c
}

// Init reads the target afresh.
func (c *Confirm) Init() (Intent, tea.Cmd) { return NeedReview{c.id}, nil }

// SetSize keeps the review in bounds.
func (c *Confirm) SetSize(width, height int) {
	c.base.SetSize(width, height)
	c.measure()
}

func (c *Confirm) measure() { c.gate.measure(len(c.reviewed()), len(c.questions())) }

// Title names the contract and its window.
func (c *Confirm) Title() (string, string) {
	left := "Confirm " + c.Theme.Marks.Dot + " " + c.Theme.shortID(c.id)
	if !c.read {
		return left, ""
	}
	until := c.review.Row.ExpiresAt.Sub(c.Now)
	if until <= 0 {
		return left, "window closed"
	}
	return left, "window closes in " + countdown(until)
}

// Keys are those of a form: letters are text.
func (c *Confirm) Keys() []Binding {
	k := c.KeyMap
	next := k.NextField
	if c.named {
		next = k.Agree.as("confirm")
	}
	return append([]Binding{next}, append(append(c.paging(), c.load.binding(k)...), k.ReadAgain, k.DeclineHere, k.Back.as("leave (stays PREPARED)"),
		k.HelpTyping, k.FromInbox, k.Operator, k.Export)...)
}

// Situation says why the form cannot go on.
func (c *Confirm) Situation() Situation {
	s := c.situation(c.closed())
	if c.signed != nil {
		s.Own["take from inbox"] = c.closed()
	}
	s.Actions = c.review.Actions
	return s
}

// closed is why nothing can be confirmed now, or "".
func (c *Confirm) closed() string {
	switch {
	case !c.read:
		return reasonUnread
	case c.review.Drift != "":
		return reasonDrift
	case !c.Now.Before(c.review.Row.ExpiresAt):
		return reasonWindow
	case !c.seenAll:
		return reasonSeeAll
	}
	return action(core.ActConfirm)(Situation{Actions: c.review.Actions})
}

// Update follows keys and answers.
func (c *Confirm) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		intent := c.press(msg)
		c.measure()
		return intent, nil
	case ReviewRead:
		if msg.ID == c.id {
			return c.take(msg), nil
		}
	case InboxRead:
		c.look(msg.Files)
		c.measure()
	case Confirmed:
		if msg.ID == c.id {
			return c.confirmed(msg.Err), nil
		}
	}
	return nil, nil
}

func (c *Confirm) take(msg ReviewRead) Intent {
	c.waiting, c.failure = "", msg.Err
	if msg.Err != nil {
		return Say{Refused(msg.Err)}
	}
	c.review, c.read, c.seenAll = msg.Review, true, false
	c.load.offer(c.review.Row.Loads, c.review.Waiting)
	c.measure()
	return NeedInbox{}
}

// look finds a confirmation of exactly this contract.
func (c *Confirm) look(files []core.InboxFile) {
	c.signed = nil
	for _, f := range files {
		if f.Confirmation != nil && f.ContractID == c.id && !f.Used && f.Stale == "" && f.Problem == "" {
			c.signed = f.Confirmation
		}
	}
}

// confirmed goes on to sending, or back to the question that was refused. What
// is confirmed is never asked again, also where loading was left out.
func (c *Confirm) confirmed(err error) Intent {
	if errors.Is(err, core.ErrLoadingLeftOut) {
		err = nil
	}
	if refusal := c.answered(err); refusal != nil {
		c.named = !errors.Is(err, core.ErrTypedTarget)
		return refusal
	}
	return OpenExecution{ID: c.id, Ready: true}
}

func (c *Confirm) press(msg tea.KeyMsg) Intent {
	k := c.KeyMap
	if intent, done := c.gate.key(msg); done {
		return intent
	}
	switch {
	case k.ReadAgain.Is(msg):
		c.waiting = waitFirewall
		c.secret.wipe()
		return NeedReview{c.id}
	case k.DeclineHere.Is(msg) && k.DeclineHere.Reason(c.Situation()) == "":
		c.secret.wipe()
		return OpenDecline{c.review.Detail}
	case k.LoadToo.Is(msg) && c.read:
		return c.toggle(&c.load)
	case c.closed() != "":
		return nil
	case k.Export.Is(msg):
		return ExportConfirmation{c.id}
	case k.FromInbox.Is(msg) && c.signed != nil:
		return c.useSigned()
	case k.NextField.Is(msg):
		return c.next()
	case c.named:
		c.secret.key(msg)
		return nil
	}
	if refused := c.name.key(msg); refused {
		return Say{Notice{Text: sayPasteRefused, Refusal: true}}
	}
	return nil
}

// useSigned confirms with what was signed elsewhere; the name is typed all
// the same.
func (c *Confirm) useSigned() Intent {
	if c.name.String() != c.review.Target {
		return Say{Notice{Text: reasonTypeName, Refusal: true}}
	}
	c.waiting = waitReading
	return UseConfirmation{ID: c.id, Typed: c.name.String(), Evidence: *c.signed}
}

// next goes from the name to the passphrase, and from there to the decision.
func (c *Confirm) next() Intent {
	switch {
	case c.name.String() != c.review.Target:
		return Say{Refused(core.ErrTypedTarget)}
	case !c.named:
		c.named = true
		return nil
	}
	return c.agree(func(passphrase []byte) Intent {
		return ConfirmContract{ID: c.id, Typed: c.name.String(), Passphrase: passphrase, Load: c.load.agreement()}
	})
}

// View is the review above the two questions.
func (c *Confirm) View() string { return c.stack(c.reviewed(), c.questions()) }

func (c *Confirm) questions() []string {
	t, closed := c.Theme, c.closed()
	switch {
	case !c.read:
		return []string{"", ""}
	case closed != "":
		return c.notNow(closed, 2)
	}
	name := " " + sayTypeName + "  " + c.name.show(t, !c.named)
	return []string{name, c.prompt(c.named)}
}

// reviewed is everything that the operator agrees to.
func (c *Confirm) reviewed() []string {
	if !c.read {
		return c.unread()
	}
	p, r, t := c.page(), c.review, c.Theme
	p.text(t.Strong, 1, fmt.Sprintf(sayOneRequest, r.Appliance, t.shortHex(r.Pin)))
	p.blank()
	p.pair("capability", fmt.Sprintf("%s %s %s %s", r.Contract.Capability, t.Marks.Dot, r.Contract.Method, r.Contract.EndpointSymbol))
	p.pair("target", targetWords(r.Row.Noun, r.Target, r.Summary, r.Contract.LifecycleLocator))
	p.changes(r.Changes)
	p.text(t.Dim, 3, fmt.Sprintf(sayOnlyThis, r.Row.Noun))
	p.related(r.Related)
	p.pair("way back", r.WayBack)
	p.waits(r.Row.Loads, r.Waiting)
	p.loading(c.load, "verified")
	p.blank()
	p.pair("prepared", c.provenance())
	if c.signed != nil {
		p.styled(t.Info, "inbox", "a confirmation of "+c.signed.AuthorityID+" waits: type the name, then ^t uses it (loading is then a step of its own)")
	}
	if r.Drift != "" {
		p.blank()
		p.text(t.Warn, 1, "Sending now would be refused: "+r.Drift)
	}
	return p.lines
}

// targetWords is a target with what it was when it was read.
func targetWords(noun, target, summary string, locator int64) string {
	if summary != "" {
		summary += ", "
	}
	return fmt.Sprintf("%s %s   (%sposition %d)", noun, target, summary, locator)
}

func (c *Confirm) provenance() string {
	r, dot := c.review, " "+c.Theme.Marks.Dot+" "
	text := c.clock(r.Contract.CreatedAt) + " by " + orElse(r.Row.Actor, "an unknown operator")
	if p := r.Contract.Provenance; p != nil {
		text += dot + "authorized by " + p.AuthorityID
	}
	return text + dot + "read " + age(c.Now.Sub(r.ReadAt)) + " ago"
}
