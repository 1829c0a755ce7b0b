package views

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Inbox lists the authorizations that wait in the fixed inbox. Nothing is
// taken from here: an artifact is used by the draft that it fits.
type Inbox struct {
	base
	files   []core.InboxFile
	read    bool
	failure error
	scroll  scroll
}

// NewInbox shows the inbox.
func NewInbox(f *Frame) *Inbox { return &Inbox{base: base{Frame: f}} }

// Init asks what waits.
func (i *Inbox) Init() (Intent, tea.Cmd) { return NeedInbox{}, nil }

// SetSize keeps the page in bounds.
func (i *Inbox) SetSize(width, height int) {
	i.base.SetSize(width, height)
	i.scroll.measure(len(i.lines()), height)
}

// Title counts the artifacts.
func (i *Inbox) Title() (string, string) { return "Inbox", counted(len(i.files), "file") }

// Keys scroll and read again.
func (i *Inbox) Keys() []Binding {
	k := i.KeyMap
	return []Binding{k.ReadAgainR.meaning("look into the folder again"), k.Back, k.Help, k.Up, k.Down, k.PageUp, k.PageDown}
}

// Update follows keys and readings.
func (i *Inbox) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		switch k := i.KeyMap; {
		case i.scroll.key(k, msg):
		case k.Back.Is(msg):
			return Back{}, nil
		case k.ReadAgainR.Is(msg):
			return NeedInbox{}, nil
		}
	case InboxRead:
		i.files, i.failure, i.read = msg.Files, msg.Err, true
		i.scroll.measure(len(i.lines()), i.height)
	}
	return nil, nil
}

// View shows the part of the page that is scrolled to.
func (i *Inbox) View() string {
	return i.scroll.show(i.Theme, i.lines(), i.width, i.height)
}

func (i *Inbox) lines() []string {
	p, t := i.page(), i.Theme
	p.blank()
	switch {
	case i.failure != nil:
		p.refusal(i.failure)
	case !i.read:
		p.text(t.Dim, 1, waitReading+t.Marks.Ellipsis)
	case len(i.files) == 0:
		p.text(t.Dim, 1, "Nothing waits. An artifact that was signed elsewhere is put into the inbox, and the draft it fits offers it.")
	}
	for _, f := range i.files {
		i.file(p, f)
	}
	return p.lines
}

func (i *Inbox) file(p *page, f core.InboxFile) {
	t := i.Theme
	p.heading(f.Name)
	switch {
	case f.Problem != "":
		p.styled(t.Warn, "refused", f.Problem)
	case f.Used:
		p.pair("used", "for "+f.ContractID)
	case f.Stale != "":
		p.styled(t.Warn, "fits nothing", f.Stale)
	}
	switch {
	case f.Problem != "":
	case f.Confirmation != nil:
		p.pair("confirms", f.Confirmation.ContractID)
		p.pair("by", f.Confirmation.AuthorityID+" ("+f.Confirmation.Algorithm+")")
		i.window(p, f.Confirmation.ExpiresAt)
	case f.Reconciliation != nil:
		p.pair("concludes", outcomeWords(f.Reconciliation.Outcome)+" about "+f.Reconciliation.ContractID)
		p.pair("by", f.Reconciliation.AuthorityID+" ("+f.Reconciliation.Algorithm+")")
	default:
		a := f.Authorization
		p.pair("authorizes", "one attempt, "+a.AuthorizationID)
		p.pair("by", a.AuthorityID+" ("+a.Algorithm+")")
		p.pair("for intent", t.shortHex(a.ExecutionIntentDigest.String()))
		i.window(p, a.ExpiresAt)
	}
	p.blank()
}

func (i *Inbox) window(p *page, until time.Time) {
	if !i.Now.Before(until) {
		p.styled(i.Theme.Warn, "window", "over since "+i.clock(until))
		return
	}
	p.pair("window", "closes in "+countdown(until.Sub(i.Now)))
}
