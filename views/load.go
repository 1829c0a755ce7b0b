package views

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Load asks the firewall to load what is stored: a step of its own (design
// section 4, rule 7). Other people's unloaded changes are shown first.
type Load struct {
	gate
	detail core.Detail
	review core.Review
	read   bool
}

// NewLoad asks to load a contract's change.
func NewLoad(f *Frame, d core.Detail) *Load {
	return &Load{gate: gate{base: base{Frame: f}, waiting: waitFirewall}, detail: d}
}

// Init reads what else would be loaded.
func (l *Load) Init() (Intent, tea.Cmd) { return NeedReview{l.id()}, nil }

func (l *Load) id() string { return l.detail.Row.ContractID }

// SetSize keeps the review in bounds.
func (l *Load) SetSize(width, height int) {
	l.base.SetSize(width, height)
	l.measure()
}

func (l *Load) measure() { l.gate.measure(len(l.reviewed()), len(l.questions())) }

// Title names the contract.
func (l *Load) Title() (string, string) {
	return "Load " + l.Theme.Marks.Dot + " " + l.Theme.shortID(l.id()), ""
}

// Keys are those of a form.
func (l *Load) Keys() []Binding {
	k := l.KeyMap
	return append([]Binding{k.Agree.as("ask to load")}, append(l.paging(), k.ReadAgain, k.Back.as("leave (nothing is asked)"),
		k.HelpTyping, k.Operator)...)
}

// Situation is a form's.
func (l *Load) Situation() Situation { return l.situation(l.closed()) }

func (l *Load) closed() string {
	switch {
	case !l.read:
		return reasonUnread
	case l.Header.Closed != "":
		return l.Header.Closed
	case !l.seenAll:
		return reasonSeeAll
	}
	return l.settling()
}

// Update follows keys and answers.
func (l *Load) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		intent := l.press(msg)
		l.measure()
		return intent, nil
	case ReviewRead:
		if msg.ID == l.id() {
			l.waiting, l.failure = "", msg.Err
			l.review, l.read, l.seenAll = msg.Review, msg.Err == nil, false
			l.measure()
		}
	case RunStarted:
		if msg.ID == l.id() {
			return l.begun(msg.Err), nil
		}
	}
	return nil, nil
}

func (l *Load) begun(err error) Intent {
	if refusal := l.answered(err); refusal != nil {
		return refusal
	}
	return OpenExecution{ID: l.id()}
}

func (l *Load) press(msg tea.KeyMsg) Intent {
	if intent, done := l.gate.key(msg); done {
		return intent
	}
	switch {
	case l.KeyMap.ReadAgain.Is(msg):
		l.waiting = waitFirewall
		l.secret.wipe()
		return NeedReview{l.id()}
	case l.closed() != "":
		return nil
	case l.KeyMap.Agree.Is(msg):
		return l.agree(func(passphrase []byte) Intent { return LoadChange{l.id(), passphrase, l.review.Waiting} })
	}
	l.secret.key(msg)
	return nil
}

// View is the review above the question.
func (l *Load) View() string {
	return l.stack(l.reviewed(), l.questions())
}

func (l *Load) questions() []string {
	closed := l.closed()
	switch {
	case !l.read:
		return []string{""}
	case closed != "":
		return l.notNow(closed, 1)
	}
	return []string{l.prompt(true)}
}

func (l *Load) reviewed() []string {
	if !l.read {
		return l.unread()
	}
	p, t, r := l.page(), l.Theme, l.detail.Row
	p.text(t.Strong, 1, fmt.Sprintf("You are about to ask %s to load what is stored, once.", subsystemWords(r.Loads)))
	p.blank()
	p.pair("target", r.Noun+" "+r.Target)
	p.pair("now", t.words(loadWords(r.Load)))
	waiting, names := "nothing is announced; somebody may have loaded it already", l.review.Waiting.Names
	switch {
	case l.review.Waiting.Unread:
		waiting = strings.Join(append(names, core.ErrWaitingUnread.Error()), "; ")
	case len(names) > 0:
		waiting = strings.Join(names, ", ") + ": this change, and whatever else is stored there"
	}
	p.pair("waiting", waiting+unannounced(r.Loads))
	p.blank()
	p.text(t.Dim, 1, "Loading is asked once and never repeated by itself. Only the firewall's own answer counts.")
	return p.lines
}
