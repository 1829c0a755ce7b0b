package views

import (
	"fmt"
	"strings"
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
	l := &List{base: base{Frame: f}, list: core.ListActive, window: newWindow()}
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
	case Started, Authorized, Confirmed, Declined, Concluded, RunStarted, Progressed:
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
		return l.setFilter("")
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
		return l.setFilter("")
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

func (l *List) setFilter(text string) Intent {
	l.typing, l.toEnd = false, false
	l.filter = entry{text: []rune(text)}
	return l.setFilterText(text)
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
	l.filter, l.typing, l.toEnd, l.failure = entry{}, false, false, nil
	l.selected, l.top, l.id, l.asked = 0, 0, "", false
	return l.want("")
}

// want asks for one page; one is asked for at a time.
func (l *List) want(after string) Intent {
	l.asked, l.cursor = true, after
	return NeedPage{List: l.list, After: after, Limit: pageRows}
}

// fetch asks for what the selection needs next, if anything.
func (l *List) fetch() Intent {
	if l.asked {
		return nil
	}
	if s := l.search; s != nil {
		if s.more && len(s.rows) < l.selected+2*max(1, l.height) {
			return l.want(s.next)
		}
		return nil
	}
	if l.toEnd && l.window.more {
		return l.want(l.window.next)
	}
	if after, ok := l.window.missing(l.selected); ok {
		return l.want(after)
	}
	return nil
}

// again reads the page on the screen once more.
func (l *List) again() Intent {
	if l.asked || l.search != nil {
		return nil
	}
	if k := l.window.at(l.top); k >= 0 {
		return l.want(l.window.slots[k].after)
	}
	return l.want("")
}

func (l *List) pageRead(msg PageRead) Intent {
	if !l.asked || msg.List != l.list || msg.After != l.cursor {
		return nil
	}
	l.asked, l.lastAt, l.failure = false, l.Now, msg.Err
	if msg.Err != nil {
		l.toEnd = false
		return nil
	}
	if l.search != nil {
		l.search.put(msg.Page)
	} else {
		l.window.put(msg.After, msg.Page, l.selected)
		l.keepSelection()
	}
	if l.toEnd {
		l.toEnd = l.hasMore()
		l.choose(l.length() - 1)
	}
	l.choose(l.selected)
	return l.fetch()
}

// keepSelection stays on the same contract when rows have moved.
func (l *List) keepSelection() {
	if r, ok := l.window.row(l.selected); l.id == "" || (ok && r.ContractID == l.id) {
		return
	}
	if i := l.window.find(l.id); i >= 0 {
		l.top = max(0, l.top+i-l.selected)
		l.selected = i
	}
}

func (l *List) choose(i int) {
	l.selected = max(0, min(i, l.length()-1))
	if r, ok := l.current(); ok {
		l.id = r.ContractID
	}
	l.follow()
}

// follow scrolls so that the selected row is on screen.
func (l *List) follow() {
	room := l.room()
	l.top = max(0, min(l.top, l.selected), l.selected-room+1)
	for l.top < l.selected && l.linesBetween(l.top, l.selected) > room {
		l.top++
	}
}

// linesBetween is how many lines the rows from a to b take.
func (l *List) linesBetween(a, b int) int {
	n := 0
	for i := a; i <= b; i++ {
		r, _ := l.row(i)
		n += rowHeight(r)
	}
	return n
}

func (l *List) row(i int) (core.Row, bool) {
	if s := l.search; s != nil {
		if i < 0 || i >= len(s.rows) {
			return core.Row{}, false
		}
		return s.rows[i], true
	}
	return l.window.row(i)
}

func (l *List) current() (core.Row, bool) { return l.row(l.selected) }

func (l *List) length() int {
	if l.search != nil {
		return len(l.search.rows)
	}
	return l.window.length()
}

func (l *List) hasMore() bool {
	if l.search != nil {
		return l.search.more
	}
	return l.window.more
}

// head is everything above the rows.
func (l *List) head() []string {
	t := l.Theme
	var lines []string
	if l.Banner != "" {
		lines = append(lines, " "+t.Info.Render(t.Clean(l.Banner)))
	}
	if l.Header.Mode == core.ModeObserver {
		lines = append(lines, " "+t.Warn.Render(t.Clean("OBSERVER "+t.Marks.Dot+" "+orElse(l.Header.LockHolder, "another console")+" holds the executor")))
	}
	return append(lines, l.tabLine(), rowsHead(t, l.width))
}

// room is how many lines the rows have.
func (l *List) room() int {
	head := 2 // tabs and column names
	if l.Banner != "" {
		head++
	}
	if l.Header.Mode == core.ModeObserver {
		head++
	}
	return max(1, l.height-head)
}

func (l *List) tabLine() string {
	t := l.Theme
	var parts []string
	for _, name := range tabs() {
		label := tabName(name) + " " + count(l.size(name))
		if name == l.list {
			parts = append(parts, t.Strong.Render("["+label+"]"))
		} else {
			parts = append(parts, t.Dim.Render(" "+label+" "))
		}
	}
	return t.spread(" "+strings.Join(parts, " "), l.position()+" ", l.width)
}

func (l *List) size(name core.ListName) int {
	switch c := l.Header.Counts; name {
	case core.ListNeedsYou:
		return c.NeedsYou
	case core.ListActive:
		return c.Active
	default:
		return c.History
	}
}

// position says where in the list this is, or what is filtered.
func (l *List) position() string {
	t := l.Theme
	switch {
	case l.typing || l.filter.String() != "":
		found := ""
		if l.search != nil {
			found = t.Dim.Render(fmt.Sprintf("  %s of %s read", count(len(l.search.rows)), count(l.search.seen)))
		}
		return "/" + l.filter.show(t, l.typing) + found
	case l.toEnd:
		return t.Dim.Render("reading " + count(l.window.length()) + " of " + count(l.size(l.list)))
	case l.length() == 0:
		return t.Dim.Render("newest first")
	}
	return t.Dim.Render(fmt.Sprintf("newest first  %s/%s", count(l.selected+1), count(max(l.size(l.list), l.window.length()))))
}

// View draws the rows on the screen and no others.
func (l *List) View() string {
	lines := l.head()
	for i := l.top; i < l.length() && len(lines) < l.height; i++ {
		r, ok := l.row(i)
		if !ok {
			lines = append(lines, l.Theme.Dim.Render("     reading"+l.Theme.Marks.Ellipsis))
			continue
		}
		lines = append(lines, rowLines(l.Frame, r, l.width, i == l.selected)...)
	}
	if l.length() == 0 {
		lines = append(lines, "", "     "+l.Theme.Dim.Render(l.emptyWords()))
	}
	return l.Theme.join(lines, l.width, l.height)
}

func (l *List) emptyWords() string {
	switch {
	case l.failure != nil:
		return "This list could not be read."
	case l.asked || l.hasMore():
		return "reading" + l.Theme.Marks.Ellipsis
	case l.search != nil:
		return "No row contains this."
	}
	return emptyListWords(l.list)
}

// Show goes to one of the three lists.
func (l *List) Show(name core.ListName) Intent { return l.switchTo(name) }
