package views

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"countersign/core"
)

// detailPoll is how often a contract that is moving is read again.
const detailPoll = 2 * time.Second

// Detail shows everything about one contract: what it changes, its bindings,
// and its history.
type Detail struct {
	base
	id        string
	detail    core.Detail
	read      bool
	failure   error
	scroll    scroll
	artifacts bool
	copies    int // how many things were copied one after the other
	lastAt    time.Time
}

// NewDetail shows a contract.
func NewDetail(f *Frame, id string) *Detail { return &Detail{base: base{Frame: f}, id: id} }

// Init asks for the contract.
func (d *Detail) Init() (Intent, tea.Cmd) { return NeedDetail{d.id}, nil }

// SetSize keeps the scroll position in bounds.
func (d *Detail) SetSize(width, height int) {
	d.base.SetSize(width, height)
	d.measure()
}

func (d *Detail) measure() { d.scroll.measure(len(d.lines()), d.height) }

// Title names the contract, its target and what runs out.
func (d *Detail) Title() (string, string) {
	left := d.Theme.shortID(d.id)
	if !d.read {
		return left, ""
	}
	r := d.detail.Row
	return left + "  " + r.Noun + " " + r.Target, d.remaining()
}

func (d *Detail) remaining() string {
	r := d.detail.Row
	switch {
	case r.State == core.Prepared && !d.Now.Before(r.ExpiresAt):
		return "window closed"
	case r.State == core.Prepared:
		return "window closes in " + countdown(r.ExpiresAt.Sub(d.Now))
	case d.Now.Before(r.SettleUntil):
		return "settled in " + countdown(r.SettleUntil.Sub(d.Now))
	}
	return ""
}

// Keys lists what can be done; only what works now is in the footer.
func (d *Detail) Keys() []Binding {
	k := d.KeyMap
	return []Binding{k.Confirm, k.Execute, k.Watch, k.Reconcile, k.Rollback, k.Load, k.Decline, k.Copy, k.Back, k.Palette, k.Help,
		k.Artifacts, k.ReadAgain.quiet(), k.Up, k.Down, k.PageUp, k.PageDown, k.Top, k.Bottom, k.Quit.quiet()}
}

// Situation carries the engine's reasons.
func (d *Detail) Situation() Situation {
	s := Situation{Header: d.Header, Actions: d.detail.Actions}
	if !d.read {
		s.Waiting = waitReading
	}
	if !d.detail.Row.State.InFlight() && d.detail.Row.Load != core.LoadAsked {
		s.Own = map[string]string{"watch": "nothing is under way"}
	}
	return s
}

// Update follows keys, and reads a moving contract again.
func (d *Detail) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return d.key(msg), nil
	case DetailRead:
		if msg.ID == d.id {
			d.take(msg)
		}
	case Progressed:
		if msg.Progress.ContractID == d.id && msg.Progress.Done {
			return NeedDetail{d.id}, nil
		}
	case Confirmed, Declined, Concluded, RunStarted:
		return NeedDetail{d.id}, nil
	case Ticked:
		if d.moving() && msg.Now.Sub(d.lastAt) >= detailPoll {
			d.lastAt = msg.Now
			return NeedDetail{d.id}, nil
		}
	}
	return nil, nil
}

func (d *Detail) take(msg DetailRead) {
	d.failure, d.lastAt = msg.Err, d.Now
	if msg.Err == nil {
		d.detail, d.read = msg.Detail, true
	}
	d.measure()
}

// moving reports whether something may change without a key.
func (d *Detail) moving() bool {
	return d.detail.Row.State.InFlight() || d.detail.Row.Load == core.LoadAsked || d.Header.Mode == core.ModeObserver ||
		d.detail.Row.State == core.Prepared || d.detail.Row.State == core.Reconciliation
}

func (d *Detail) key(msg tea.KeyMsg) Intent {
	k := d.KeyMap
	if !k.Copy.Is(msg) {
		d.copies = 0
	}
	switch {
	case d.scroll.key(k, msg):
	case k.Back.Is(msg):
		return Back{}
	case k.Confirm.Is(msg):
		return OpenConfirm{d.id}
	case k.Execute.Is(msg):
		return OpenExecution{ID: d.id, Ready: true}
	case k.Watch.Is(msg):
		return OpenExecution{ID: d.id}
	case k.Rollback.Is(msg):
		return OpenRollback{d.id}
	case k.Reconcile.Is(msg):
		return OpenReconcile{d.id}
	case k.Decline.Is(msg):
		return OpenDecline{d.detail}
	case k.Load.Is(msg):
		return OpenLoad{d.detail}
	case k.Artifacts.Is(msg):
		d.artifacts = !d.artifacts
		d.measure()
	case k.ReadAgain.Is(msg):
		return NeedDetail{d.id}
	case k.Copy.Is(msg):
		return d.copyNext()
	}
	return nil
}

// copyNext copies the contract's id, and each digest in turn.
func (d *Detail) copyNext() Intent {
	things := bindingsOf(d.detail)
	thing := things[d.copies%len(things)]
	d.copies++
	return Copy{What: thing.name, Text: thing.text}
}

// View shows the part of the page that is scrolled to.
func (d *Detail) View() string {
	return d.scroll.show(d.Theme, d.lines(), d.width, d.height)
}

func (d *Detail) lines() []string {
	p := d.page()
	switch {
	case d.failure != nil && !d.read:
		p.refusal(d.failure)
	case !d.read:
		p.text(d.Theme.Dim, 1, waitReading)
	default:
		d.summary(p)
		d.bound(p)
		p.blank()
		p.timeline(d.Frame, d.detail)
	}
	return p.lines
}

// summary says where the contract stands and what it changes.
func (d *Detail) summary(p *page) {
	r, t := d.detail.Row, d.Theme
	p.standing(r.State, r.Sentence)
	if words := standing(d.Now, r); words != "" {
		p.text(t.Dim, 1, words)
	}
	p.blank()
	target := r.Noun + " " + r.Target
	if d.detail.Summary != "" {
		target += "   (" + d.detail.Summary + ")"
	}
	p.pair("firewall", d.detail.Appliance)
	p.pair("target", target)
	if d.detail.Unreadable != "" {
		p.styled(t.Bad, "change", "cannot be shown: "+d.detail.Unreadable)
	}
	p.changes(d.detail.Changes)
	if d.detail.WayBack != "" {
		p.pair("way back", d.detail.WayBack)
	}
	if rowHeight(r) == 2 {
		p.pair("loading", t.words(loadWords(r.Load))+", by "+subsystemWords(r.Loads))
	}
	p.blank()
}

// standing adds a state and what it means now.
func (p *page) standing(s core.State, sentence string) {
	lead := " " + p.theme.State(s) + "  "
	p.hanging(p.theme.Text, lead, strings.Repeat(" ", ansi.StringWidth(lead)), p.theme.words(sentence))
}

// standing adds what an operator must know about a state that waits.
func standing(now time.Time, r core.Row) string {
	switch {
	case r.State == core.RollbackFailed:
		return sayRollbackLost
	case r.State == core.Prepared && !now.Before(r.ExpiresAt):
		return sayExpiredStays
	}
	return ""
}

// bound shows what the contract binds, abbreviated.
func (d *Detail) bound(p *page) {
	c, t := d.detail.Contract, d.Theme
	p.heading("Bindings")
	p.pair("capability", fmt.Sprintf("%s %s %s %s", c.Capability, t.Marks.Dot, c.Method, c.EndpointSymbol))
	p.pair("contract", fmt.Sprintf("%s %s position %d", d.detail.Row.ContractID, t.Marks.Dot, c.LifecycleLocator))
	var digests []string
	for _, b := range bindingsOf(d.detail) {
		if b.digest {
			digests = append(digests, b.name+" "+t.shortHex(b.text))
		}
	}
	p.pair("digests", strings.Join(digests, " "+t.Marks.Dot+" "))
	if d.artifacts {
		d.sealed(p)
	}
}

// sealed shows how the protected artifacts are kept, on request.
func (d *Detail) sealed(p *page) {
	c := d.detail.Contract
	for _, a := range []struct {
		name string
		core.Artifact
	}{{"target", c.ProtectedTarget}, {"intent", c.ProtectedIntent}, {"snapshot", c.ProtectedSnapshot}} {
		p.pair("sealed", fmt.Sprintf("%s: %s under %s, %s", a.name, a.Algorithm, a.KeyID, counted(len(a.Ciphertext), "byte")))
	}
}

// bindingFact is something of a contract that can be copied.
type bindingFact struct {
	name, text string
	digest     bool
}

func bindingsOf(d core.Detail) []bindingFact {
	c := d.Contract
	facts := []bindingFact{
		{"contract", d.Row.ContractID, false},
		{"intent", c.IntentDigest.String(), true},
		{"fingerprint", c.TargetFingerprint.String(), true},
		{"target id", c.TargetIdentityDigest.String(), true},
		{"snapshot", c.SnapshotDigest.String(), true},
		{"replay key", c.IdempotencyKey.String(), true},
	}
	if c.VerifiedTargetFingerprint != nil {
		facts = append(facts, bindingFact{"verified", c.VerifiedTargetFingerprint.String(), true})
	}
	if c.ConfirmationDigest != nil {
		facts = append(facts, bindingFact{"confirmation", c.ConfirmationDigest.String(), true})
	}
	return facts
}

// ID is the contract that is shown.
func (d *Detail) ID() string { return d.id }
