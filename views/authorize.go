package views

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Authorize is gate one: the draft with its exact difference, and the
// passphrase that issues the one-shot authorization, or an artifact of the
// inbox that fits this draft.
type Authorize struct {
	gate
	draft    core.Draft
	artifact *core.Authorization
}

// NewAuthorize reviews a draft.
func NewAuthorize(f *Frame, d core.Draft) *Authorize {
	return &Authorize{gate: gate{base: base{Frame: f}}, draft: d}
}

// Init looks for an artifact in the inbox.
func (a *Authorize) Init() (Intent, tea.Cmd) { return NeedInbox{}, nil }

// SetSize keeps the review in bounds.
func (a *Authorize) SetSize(width, height int) {
	a.base.SetSize(width, height)
	a.measure()
}

func (a *Authorize) measure() { a.gate.measure(len(a.reviewed()), len(a.questions())) }

// Title names what is authorized.
func (a *Authorize) Title() (string, string) {
	d := a.draft
	return "Authorize " + a.Theme.Marks.Dot + " " + d.Spec.Noun + " " + d.Observation.Label, readAgo(a.Now, d.PreparedAt)
}

// Keys are those of a form.
func (a *Authorize) Keys() []Binding {
	k := a.KeyMap
	return append([]Binding{k.Agree.as("authorize"), k.FromInbox}, append(a.paging(),
		k.Back.as("back to the form (nothing is created)"), k.HelpTyping, k.Operator, k.Export)...)
}

// Situation says why the draft cannot be authorized.
func (a *Authorize) Situation() Situation {
	s := a.situation(a.closed())
	if a.artifact != nil {
		s.Own["take from inbox"] = a.closed()
	}
	return s
}

func (a *Authorize) closed() string {
	switch {
	case a.Header.Closed != "":
		return a.Header.Closed
	case !a.seenAll:
		return reasonSeeAll
	}
	return a.settling()
}

// Update follows keys and answers.
func (a *Authorize) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		intent := a.press(msg)
		a.measure()
		return intent, nil
	case InboxRead:
		a.look(msg.Files)
		a.measure()
	case Authorized:
		return a.authorized(msg), nil
	}
	return nil, nil
}

// look finds an artifact that authorizes exactly this draft.
func (a *Authorize) look(files []core.InboxFile) {
	a.artifact = nil
	for _, f := range files {
		x := f.Authorization
		if f.Problem == "" && !f.Used && f.Stale == "" && x.ExecutionIntentDigest == a.draft.ExecutionIntentDigest && x.PlanDigest == a.draft.PlanDigest {
			a.artifact = &x
		}
	}
}

func (a *Authorize) authorized(msg Authorized) Intent {
	if refusal := a.answered(msg.Err); refusal != nil {
		return refusal
	}
	return OpenConfirm{msg.ID}
}

func (a *Authorize) press(msg tea.KeyMsg) Intent {
	k := a.KeyMap
	if intent, done := a.gate.key(msg); done {
		return intent
	}
	switch {
	case a.closed() != "":
		return nil
	case k.Export.Is(msg):
		return ExportAuthorization{a.draft}
	case k.FromInbox.Is(msg) && a.artifact != nil:
		a.waiting = waitReading
		return UseArtifact{Draft: a.draft, Authorization: *a.artifact}
	case k.Agree.Is(msg):
		return a.agree(func(passphrase []byte) Intent {
			return AuthorizeDraft{Draft: a.draft, Passphrase: passphrase}
		})
	}
	a.secret.key(msg)
	return nil
}

// View is the draft above the question.
func (a *Authorize) View() string { return a.stack(a.reviewed(), a.questions()) }

func (a *Authorize) questions() []string {
	if closed := a.closed(); closed != "" {
		return a.notNow(closed, 1)
	}
	return []string{a.prompt(true)}
}

// reviewed is the exact difference and what follows from it.
func (a *Authorize) reviewed() []string {
	p, d, t := a.page(), a.draft, a.Theme
	p.text(t.Strong, 1, "You are about to authorize ONE attempt at this change. Nothing is sent yet.")
	p.blank()
	p.pair("capability", fmt.Sprintf("%s %s %s %s", d.Spec.Capability, t.Marks.Dot, d.Spec.Method, d.Spec.EndpointSymbol))
	p.pair("target", targetWords(d.Spec.Noun, d.Observation.Label, d.Observation.Summary, d.Observation.Locator))
	p.changes(d.Changes)
	p.related(d.Observation.Related)
	p.pair("way back", d.Spec.WayBack)
	p.waits(d.Spec.Loads, d.Waiting)
	p.blank()
	p.pair("intent", t.shortHex(d.ExecutionIntentDigest.String()))
	if x := a.artifact; x != nil {
		p.styled(t.Info, "inbox", "an authorization of "+x.AuthorityID+" fits: ^t takes it")
	}
	return p.lines
}
