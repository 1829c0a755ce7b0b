package views

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Rollback asks to write the old state back: what is there now, what will be
// there, and the passphrase.
type Rollback struct {
	gate
	id   string
	seen core.Comparison
	load loading
	read bool
}

// NewRollback reviews a rollback.
func NewRollback(f *Frame, id string) *Rollback {
	return &Rollback{gate: gate{base: base{Frame: f}, waiting: waitFirewall}, id: id}
}

// Init reads the target afresh.
func (r *Rollback) Init() (Intent, tea.Cmd) { return NeedRollbackPreview{r.id}, nil }

// SetSize keeps the review in bounds.
func (r *Rollback) SetSize(width, height int) {
	r.base.SetSize(width, height)
	r.measure()
}

func (r *Rollback) measure() { r.gate.measure(len(r.reviewed()), len(r.questions())) }

// Title names the contract and the reading's age.
func (r *Rollback) Title() (string, string) {
	left := "Roll back " + r.Theme.Marks.Dot + " " + r.Theme.shortID(r.id)
	if !r.read {
		return left, ""
	}
	return left + "  " + r.target(), "read " + age(r.Now.Sub(r.seen.ReadAt)) + " ago"
}

// Keys are those of a form.
func (r *Rollback) Keys() []Binding {
	k := r.KeyMap
	return append([]Binding{k.Agree.as("roll back")}, append(append(r.paging(), r.load.binding(k)...), k.ReadAgain, k.Back.as("leave (stays VERIFIED)"),
		k.HelpTyping, k.Operator)...)
}

// Situation says why it cannot be rolled back now.
func (r *Rollback) Situation() Situation { return r.situation(r.closed()) }

func (r *Rollback) closed() string {
	switch {
	case !r.read:
		return reasonUnread
	case r.Header.Closed != "":
		return r.Header.Closed
	case r.seen.Problem != "":
		return r.seen.Problem
	case !r.seen.NowIntended:
		return "somebody changed the target after it was verified; a rollback is never forced"
	case !r.seen.SameLocator:
		return "the target's position has changed"
	case !r.seenAll:
		return reasonSeeAll
	}
	return r.settling()
}

// Update follows keys and answers.
func (r *Rollback) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		intent := r.press(msg)
		r.measure()
		return intent, nil
	case ComparisonRead:
		if msg.ID == r.id {
			return r.take(msg), nil
		}
	case RunStarted:
		if msg.ID == r.id {
			return r.begun(msg.Err), nil
		}
	}
	return nil, nil
}

func (r *Rollback) take(msg ComparisonRead) Intent {
	r.waiting, r.failure = "", msg.Err
	if msg.Err != nil {
		return Say{Refused(msg.Err)}
	}
	r.seen, r.read, r.seenAll = msg.Comparison, true, false
	r.load.offer(r.seen.Loads, r.seen.Waiting)
	r.measure()
	return nil
}

func (r *Rollback) begun(err error) Intent {
	if refusal := r.answered(err); refusal != nil {
		return refusal
	}
	return OpenExecution{ID: r.id}
}

func (r *Rollback) press(msg tea.KeyMsg) Intent {
	k := r.KeyMap
	if intent, done := r.gate.key(msg); done {
		return intent
	}
	switch {
	case k.ReadAgain.Is(msg):
		r.waiting = waitFirewall
		r.secret.wipe()
		return NeedRollbackPreview{r.id}
	case k.LoadToo.Is(msg) && r.read:
		return r.toggle(&r.load)
	case r.closed() != "":
		return nil
	case k.Agree.Is(msg):
		return r.agree(func(passphrase []byte) Intent { return RollBack{r.id, passphrase, r.load.agreement()} })
	}
	r.secret.key(msg)
	return nil
}

// View is the review above the question.
func (r *Rollback) View() string { return r.stack(r.reviewed(), r.questions()) }

func (r *Rollback) questions() []string {
	closed := r.closed()
	switch {
	case !r.read:
		return []string{""}
	case closed != "":
		return r.notNow(closed, 1)
	}
	return []string{r.prompt(true)}
}

func (r *Rollback) reviewed() []string {
	if !r.read {
		return r.unread()
	}
	p, t := r.page(), r.Theme
	p.text(t.Strong, 1, fmt.Sprintf("You are about to send ONE rollback request to %s (pin %s).", r.Header.Appliance, t.shortHex(r.Header.Pin)))
	p.blank()
	p.pair("target", fmt.Sprintf("%s   (position %d)", r.target(), r.seen.Locator))
	p.changes(r.changes())
	p.pair("neighbours", neighbourWords(r.seen))
	if r.seen.Loads != core.LoadsAtOnce {
		p.waits(r.seen.Loads, r.seen.Waiting)
		p.loading(r.load, "read back")
	}
	p.blank()
	p.text(t.Dim, 1, "The complete state from before the change is written back and read back. If anything differs from what was verified, nothing is sent.")
	return p.lines
}

// changes are what the rollback changes: the contract's own, turned round, or,
// where the target is not as it was verified, what differs from the snapshot.
func (r *Rollback) changes() []core.Change {
	var list []core.Change
	if r.seen.NowIntended {
		for _, c := range r.seen.Changes {
			c.Before, c.After = c.After, c.Before
			list = append(list, c)
		}
		return list
	}
	for _, f := range r.seen.Fields {
		if f.Now != f.Snapshot {
			list = append(list, core.Change{Field: f.Name, Before: f.Now, After: f.Snapshot})
		}
	}
	return list
}

func (r *Rollback) target() string { return r.seen.Noun + " " + r.seen.Target }

// neighbourWords says how the other objects of the list are.
func neighbourWords(c core.Comparison) string {
	if len(c.Changed) == 0 {
		return fmt.Sprintf("%d unchanged", c.Unchanged)
	}
	return fmt.Sprintf("%d unchanged, %d changed", c.Unchanged, len(c.Changed))
}
