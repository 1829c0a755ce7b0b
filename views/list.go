package views

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// listPoll is how often a shown list is read again.
const listPoll = 5 * time.Second

// List is the first screen: three lists, of which what needs a person comes
// first.
type List struct {
	base
	list   core.ListName
	chosen bool // the operator has chosen a list; none is chosen for them any more

	window window
	search *search
	filter entry
	typing bool // the filter is being typed

	asked   bool   // a page is being read
	cursor  string // its cursor
	toEnd   bool   // going to the last row
	lastAt  time.Time
	failure error

	selected int
	id       string // of the selected row
	top      int    // first row on screen
}

// NewList starts with what needs a person, or else with what is under way.
func NewList(f *Frame) *List {
	l := &List{base: base{Frame: f}, list: core.ListActive, window: newWindow(), filter: newEntry()}
	if f.Header.Counts.NeedsYou > 0 {
		l.list = core.ListNeedsYou
	}
	return l
}

// Init asks for the first page.
func (l *List) Init() (Intent, tea.Cmd) { return l.want(""), nil }

// Typing is true while the filter is typed.
func (l *List) Typing() bool { return l.typing }

// SetSize keeps the selection on screen.
func (l *List) SetSize(width, height int) {
	l.base.SetSize(width, height)
	l.follow()
}

// Title is empty: the list's second line is the health line.
func (l *List) Title() (string, string) { return "", "" }

// Keys lists the browsing keys.
func (l *List) Keys() []Binding {
	k := l.KeyMap
	if l.typing {
		return []Binding{k.Choose.as("keep filter"), k.Back.as("clear filter"), k.HelpTyping}
	}
	keys := []Binding{k.Open, k.New, k.Filter, k.NextList, k.Palette, k.Help, k.Quit,
		k.PrevList, k.Up, k.Down, k.PageUp, k.PageDown, k.Top, k.Bottom, k.Health, k.Inbox, k.Refresh}
	if l.search != nil || l.toEnd {
		keys = append(keys, k.Back.as("show all"))
	}
	return keys
}

// Situation adds whether anything is selected.
func (l *List) Situation() Situation {
	s := l.base.Situation()
	if r, ok := l.current(); !ok {
		s.Empty = true
	} else if r.Quarantined != "" {
		s.Own = map[string]string{"open": reasonQuarantined}
	}
	return s
}

// Hint explains the selected row in one sentence.
func (l *List) Hint() string {
	if l.failure != nil {
		wrong, _ := Explain(l.failure)
		return wrong
	}
	r, ok := l.current()
	if !ok {
		return ""
	}
	return l.Theme.words(r.Sentence)
}

// Update follows keys, pages and time.
func (l *List) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return l.key(msg), nil
	case PageRead:
		return l.pageRead(msg), nil
	case HeaderRead:
		return l.headerRead(), nil
	case Ticked:
		if msg.Now.Sub(l.lastAt) >= listPoll {
			return l.again(), nil
		}
	case Authorized, Confirmed, Declined, Concluded, RunStarted, Progressed:
		return l.again(), nil
	}
	return nil, nil
}

// headerRead goes to Needs you as long as nobody has chosen another list.
func (l *List) headerRead() Intent {
	if !l.chosen && l.list == core.ListActive && l.Header.Counts.NeedsYou > 0 {
		return l.open(core.ListNeedsYou)
	}
	return nil
}

func (l *List) key(msg tea.KeyMsg) Intent {
	k := l.KeyMap
	if l.typing {
		return l.typeFilter(msg)
	}
	switch {
	case k.Back.Is(msg):
		return l.showAll()
	case k.Filter.Is(msg):
		l.typing = true
		return nil
	case k.NextList.Is(msg):
		return l.switchTo(l.neighbour(1))
	case k.PrevList.Is(msg):
		return l.switchTo(l.neighbour(-1))
	case k.Open.Is(msg):
		if r, ok := l.current(); ok {
			return OpenContract{r.ContractID}
		}
		return nil
	}
	return l.move(msg)
}

func (l *List) move(msg tea.KeyMsg) Intent {
	k, page := l.KeyMap, max(1, l.room()-1)
	l.toEnd = false
	switch {
	case k.Up.Is(msg):
		l.choose(l.selected - 1)
	case k.Down.Is(msg):
		l.choose(l.selected + 1)
	case k.PageUp.Is(msg):
		l.choose(l.selected - page)
	case k.PageDown.Is(msg):
		l.choose(l.selected + page)
	case k.Top.Is(msg):
		l.choose(0)
	case k.Bottom.Is(msg):
		l.toEnd = l.hasMore()
		l.choose(l.length() - 1)
	default:
		return nil
	}
	return l.fetch()
}

// typeFilter edits the filter; every letter narrows the list at once.
func (l *List) typeFilter(msg tea.KeyMsg) Intent {
	switch k := l.KeyMap; {
	case k.Back.Is(msg):
		return l.showAll()
	case k.Choose.Is(msg):
		l.typing = false
		return nil
	case msg.Type == tea.KeyUp || msg.Type == tea.KeyDown:
		return l.move(msg)
	}
	before := l.filter.String()
	l.filter.key(msg)
	if after := l.filter.String(); after != before {
		return l.setFilterText(after)
	}
	return nil
}

// showAll takes the filter away.
func (l *List) showAll() Intent {
	l.filter, l.typing, l.toEnd = newEntry(), false, false
	return l.setFilterText("")
}

func (l *List) setFilterText(text string) Intent {
	l.search = nil
	if text != "" {
		l.search = newSearch(text)
	}
	l.asked = false
	l.choose(0)
	return l.fetch()
}

func (l *List) neighbour(step int) core.ListName {
	lists := tabs()
	for i, name := range lists {
		if name == l.list {
			return lists[(i+step+len(lists))%len(lists)]
		}
	}
	return lists[0]
}

func tabs() []core.ListName {
	return []core.ListName{core.ListNeedsYou, core.ListActive, core.ListHistory}
}

func (l *List) switchTo(name core.ListName) Intent {
	l.chosen = true
	return l.open(name)
}

// open starts a list from its beginning.
func (l *List) open(name core.ListName) Intent {
	l.list, l.window, l.search = name, newWindow(), nil
	l.filter, l.typing, l.toEnd, l.failure = newEntry(), false, false, nil
	l.selected, l.top, l.id, l.asked = 0, 0, "", false
	return l.want("")
}

// Show goes to one of the three lists.
func (l *List) Show(name core.ListName) Intent { return l.switchTo(name) }
