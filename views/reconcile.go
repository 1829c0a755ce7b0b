package views

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"countersign/core"
)

// Reconcile puts snapshot, intended and now side by side, read afresh, and
// offers only the conclusions that the reading and the boundary allow.
type Reconcile struct {
	gate
	id     string
	seen   core.Comparison
	read   bool
	chosen int                          // index into the offers; the last is "leave it open"
	asking bool                         // the conclusion was chosen; the passphrase is asked
	signed *core.ReconciliationEvidence // signed elsewhere and waiting, or nil
}

// NewReconcile compares a contract in RECONCILIATION.
func NewReconcile(f *Frame, id string) *Reconcile {
	return &Reconcile{gate: gate{base: base{Frame: f}, waiting: waitFirewall}, id: id}
}

// Init reads the target afresh.
func (r *Reconcile) Init() (Intent, tea.Cmd) { return NeedComparison{r.id}, nil }

// Typing is true only while the passphrase is asked.
func (r *Reconcile) Typing() bool { return r.asking }

// SetSize keeps the comparison in bounds.
func (r *Reconcile) SetSize(width, height int) {
	r.base.SetSize(width, height)
	r.measure()
}

func (r *Reconcile) measure() { r.gate.measure(len(r.compared()), len(r.questions())) }

// Title names the contract and counts the settle window down.
func (r *Reconcile) Title() (string, string) {
	left := "Reconcile " + r.Theme.Marks.Dot + " " + r.Theme.shortID(r.id)
	if !r.read {
		return left, ""
	}
	left += "  " + r.seen.Noun + " " + r.seen.Target
	if rest := r.seen.SettleUntil.Sub(r.Now); rest > 0 {
		return left, fmt.Sprintf("settled in %s (of %s)", countdown(rest), countdown(r.seen.SettleWindow))
	}
	return left, "settled"
}

// Keys choose a conclusion, or agree to it.
func (r *Reconcile) Keys() []Binding {
	k := r.KeyMap
	if r.asking {
		return []Binding{k.Agree.as("sign and record"), k.Back.as("choose again"), k.HelpTyping, k.Operator}
	}
	return append([]Binding{k.Choose}, append(r.paging(), k.ReadAgainR, k.Evidence, k.Back.as("leave (nothing changes)"), k.Help,
		k.FromInboxT, k.ExportS, k.Up, k.Down)...)
}

// Situation says why the selected conclusion cannot be drawn.
func (r *Reconcile) Situation() Situation {
	s := r.situation("")
	s.Own["choose"] = r.closed(r.chosen)
	if s.Own["sign elsewhere"] == "" {
		s.Own["sign elsewhere"] = r.exportClosed()
	}
	if r.signed != nil {
		s.Own["take from inbox"] = r.Header.Closed
	}
	return s
}

// exportClosed is why the selected conclusion cannot be signed elsewhere, or "".
func (r *Reconcile) exportClosed() string {
	switch {
	case r.closed(r.chosen) != "":
		return r.closed(r.chosen)
	case r.chosen >= len(r.seen.Offers):
		return reasonNoChoice
	case r.seen.Offers[r.chosen].Outcome == core.ResumeRollback:
		return "resuming is approved at the console"
	}
	return ""
}

// closed is why a conclusion cannot be drawn now, or "".
func (r *Reconcile) closed(i int) string {
	switch {
	case !r.read:
		return reasonUnread
	case i >= len(r.seen.Offers):
		return ""
	case r.Header.Closed != "":
		return r.Header.Closed
	case !r.seenAll:
		return reasonSeeAll
	}
	o := r.seen.Offers[i]
	if o.Reason == "" || r.due(o) {
		return ""
	}
	return o.Reason
}

// offerWords says what a conclusion does, or why and how long it is closed.
func (r *Reconcile) offerWords(i int) string {
	why := r.closed(i)
	switch o := r.seen.Offers[i]; {
	case why == "":
		return outcomeMeaning(o.Outcome)
	case !o.At.IsZero():
		return "offered in " + countdown(o.At.Sub(r.Now)) + ": " + why
	case why == reasonSeeAll:
		return offerSeeAll
	}
	return "not offered: " + why
}

// due reports whether only time was missing and it has passed. The engine
// reads and decides again in any case.
func (r *Reconcile) due(o core.OutcomeOffer) bool { return !o.At.IsZero() && !r.Now.Before(o.At) }

// Update follows keys and answers.
func (r *Reconcile) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		intent := r.press(msg)
		r.measure()
		return intent, nil
	case ComparisonRead:
		if msg.ID == r.id {
			return r.take(msg), nil
		}
	case InboxRead:
		r.look(msg.Files)
		r.measure()
	case Concluded:
		if msg.ID == r.id {
			return r.concluded(msg), nil
		}
	}
	return nil, nil
}

// take shows a new reading. A choice made on the one before is dropped.
func (r *Reconcile) take(msg ComparisonRead) Intent {
	r.waiting, r.failure, r.asking = "", msg.Err, false
	r.secret.wipe()
	if msg.Err != nil {
		return Say{Refused(msg.Err)}
	}
	r.seen, r.read, r.seenAll = msg.Comparison, true, false
	r.chosen = len(r.seen.Offers) // "leave it open" is chosen until a person chooses
	r.measure()
	return NeedInbox{}
}

// look finds a conclusion about exactly this contract and reading.
func (r *Reconcile) look(files []core.InboxFile) {
	r.signed = nil
	for _, f := range files {
		if f.Reconciliation != nil && f.ContractID == r.id && !f.Used && f.Stale == "" && f.Problem == "" {
			r.signed = f.Reconciliation
		}
	}
}

func (r *Reconcile) concluded(msg Concluded) Intent {
	if refusal := r.answered(msg.Err); refusal != nil {
		r.asking = false
		return refusal
	}
	if msg.Outcome == core.ResumeRollback {
		return OpenExecution{ID: r.id}
	}
	return Back{}
}

func (r *Reconcile) press(msg tea.KeyMsg) Intent {
	if r.asking {
		return r.answer(msg)
	}
	k := r.KeyMap
	switch {
	case k.Back.Is(msg):
		return Back{}
	case r.waiting != "":
		return nil
	case k.ReadAgainR.Is(msg):
		r.waiting = waitFirewall
		return NeedComparison{r.id}
	case k.Evidence.Is(msg):
		return OpenContract{r.id}
	case k.ExportS.Is(msg) && r.exportClosed() == "":
		return ExportConclusion{ID: r.id, Outcome: r.seen.Offers[r.chosen].Outcome, Seen: r.seen}
	case k.FromInboxT.Is(msg) && r.signed != nil:
		r.waiting = waitReading
		return UseConclusion{ID: r.id, Evidence: *r.signed, Seen: r.seen}
	case k.PageUp.Is(msg), k.PageDown.Is(msg):
		r.scroll.key(k, msg)
	case k.Up.Is(msg):
		r.chosen = max(0, r.chosen-1)
	case k.Down.Is(msg):
		r.chosen = min(len(r.seen.Offers), r.chosen+1)
	case k.Choose.Is(msg):
		return r.choose()
	}
	return nil
}

func (r *Reconcile) choose() Intent {
	switch {
	case r.closed(r.chosen) != "":
		return nil
	case r.chosen >= len(r.seen.Offers):
		return Back{}
	}
	r.asking = true
	return nil
}

// answer takes the passphrase for the chosen conclusion.
func (r *Reconcile) answer(msg tea.KeyMsg) Intent {
	k := r.KeyMap
	if r.waiting == "" && k.Back.Is(msg) {
		r.asking = false
		r.secret.wipe()
		return nil
	}
	if intent, done := r.gate.key(msg); done {
		return intent
	}
	if k.Agree.Is(msg) {
		outcome := r.seen.Offers[r.chosen].Outcome
		return r.agree(func(passphrase []byte) Intent {
			return Conclude{ID: r.id, Outcome: outcome, Seen: r.seen, Passphrase: passphrase}
		})
	}
	r.secret.key(msg)
	return nil
}

// View is the comparison above the conclusions.
func (r *Reconcile) View() string { return r.stack(r.compared(), r.questions()) }

// compared is the reading: where certainty was lost, and field by field.
func (r *Reconcile) compared() []string {
	if !r.read {
		return r.unread()
	}
	p, t, c := r.page(), r.Theme, r.seen
	p.text(t.Strong, 1, certaintyWords(c))
	at := "Read from the firewall " + age(r.Now.Sub(c.ReadAt)) + " ago"
	if c.Problem != "" {
		p.text(t.Warn, 1, at+": "+c.Problem)
	} else {
		p.text(t.Dim, 1, fmt.Sprintf("%s, position %d, %s.", at, c.Locator, sameWords(c.SameLocator)))
	}
	p.blank()
	r.table(p)
	if x := r.signed; x != nil {
		p.text(t.Info, 1, "The inbox holds a conclusion of "+x.AuthorityID+": "+outcomeWords(x.Outcome)+". t uses it.")
	}
	return p.lines
}

func sameWords(same bool) string {
	if same {
		return "same as when prepared"
	}
	return "not the one when prepared"
}

// table shows the fields in three columns; long values wrap, none is cut.
func (r *Reconcile) table(p *page) {
	t := r.Theme
	name := 13
	value := (r.width - 3 - name) / 3
	widths := []int{name, value, value, value}
	plain := []lipgloss.Style{t.Dim, t.Dim, t.Dim, t.Dim}
	p.columns("   ", widths, plain, []string{"FIELD", "SNAPSHOT", "INTENDED", "NOW"})
	for _, f := range telling(r.seen.Fields) {
		lead, now := "   ", t.Text
		if f.Differs {
			lead, now = " "+t.Warn.Render(t.Marks.Differs)+" ", t.Warn
		}
		p.columns(lead, widths, []lipgloss.Style{t.Dim, t.Text, t.Text, now}, []string{f.Name, f.Snapshot, f.Intended, f.Now})
	}
	if r.seen.Problem == "" {
		p.raw("   " + t.Dim.Render(t.fit("neighbours", name)+t.Clean(neighbourWords(r.seen))))
	}
	if len(r.seen.Changed) > 0 {
		p.text(t.Warn, 3+name, "changed: "+strings.Join(r.seen.Changed, ", "))
	}
}

// telling puts the fields first that are not the same in all three columns.
func telling(fields []core.ComparedField) []core.ComparedField {
	same := func(f core.ComparedField) int {
		if f.Snapshot == f.Intended && f.Intended == f.Now {
			return 1
		}
		return 0
	}
	fields = slices.Clone(fields)
	slices.SortStableFunc(fields, func(a, b core.ComparedField) int { return same(a) - same(b) })
	return fields
}

// questions are the conclusions, or the passphrase for one.
func (r *Reconcile) questions() []string {
	if !r.read {
		return []string{""}
	}
	t := r.Theme
	if r.asking {
		o := r.seen.Offers[r.chosen].Outcome
		return []string{
			" " + t.Strong.Render(t.Clean("You conclude: "+outcomeWords(o))),
			" " + t.Dim.Render(outcomeMeaning(o)),
			r.prompt(true),
		}
	}
	lines := []string{" What do you conclude?"}
	for i, o := range r.seen.Offers {
		lines = append(lines, r.option(i, outcomeWords(o.Outcome), r.offerWords(i)))
	}
	return append(lines, r.option(len(r.seen.Offers), sayNoConclusion, sayStillBlocks))
}

func (r *Reconcile) option(i int, words, why string) string {
	t, cursor, style := r.Theme, " ", r.Theme.Text
	if i == r.chosen {
		cursor, style = t.Key.Render(t.Marks.Cursor), t.Strong
	}
	if r.closed(i) != "" {
		style = t.Dim
	}
	return " " + cursor + " " + style.Render(t.fit(t.Clean(words), 26)) + t.Dim.Render(t.Clean(why))
}
