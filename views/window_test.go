package views

import (
	"fmt"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"countersign/core"
)

// longList answers pages like a store: newest first, by keyset.
type longList struct{ ids []string }

func newLongList(n int) *longList {
	l := &longList{ids: make([]string, n)}
	for i := range l.ids {
		l.ids[i] = fmt.Sprintf("contract-%06d", n-i)
	}
	return l
}

func (l *longList) page(after string, limit int) core.Page {
	start := 0
	for i, id := range l.ids {
		if id == after {
			start = i + 1
		}
	}
	rows := []core.Row{}
	for _, id := range l.ids[start:min(len(l.ids), start+limit)] {
		rows = append(rows, core.Row{ContractID: id, State: core.Verified, Target: id})
	}
	p := core.Page{Rows: rows}
	if start+limit < len(l.ids) && len(rows) > 0 {
		p.Next = rows[len(rows)-1].ContractID
	}
	return p
}

// answer gives a list every page it asks for, until it asks for none.
func (l *longList) answer(s *List, intent Intent) (asked int) {
	for {
		need, ok := intent.(NeedPage)
		if !ok {
			return asked
		}
		asked++
		intent, _ = s.Update(PageRead{List: need.List, After: need.After, Page: l.page(need.After, need.Limit)})
	}
}

func openList(l *longList) *List {
	s := NewList(testFrame(ThemeOptions{Plain: true}))
	s.SetSize(80, 17)
	intent, _ := s.Init()
	l.answer(s, intent)
	return s
}

func press(s *List, l *longList, keys ...tea.KeyType) {
	for _, k := range keys {
		intent, _ := s.Update(tea.KeyMsg{Type: k})
		l.answer(s, intent)
	}
}

// held is how many rows a window keeps in memory.
func held(w *window) int {
	n := 0
	for _, s := range w.slots {
		n += len(s.rows)
	}
	return n
}

// The first screen of a very long list needs one or two pages, its end is
// reached, and only a few pages are ever kept.
func TestLongListScrolls(t *testing.T) {
	l := newLongList(100_000)
	s := openList(l)
	if n := s.window.length(); n > 2*pageRows {
		t.Errorf("%d rows were read for the first screen", n)
	}
	press(s, l, tea.KeyEnd)
	if r, _ := s.current(); r.ContractID != "contract-000001" {
		t.Fatalf("the end is %q", r.ContractID)
	}
	press(s, l, tea.KeyPgUp, tea.KeyPgUp)
	if most := (2*keptPages + 1) * pageRows; held(&s.window) > most {
		t.Errorf("%d rows are held, at most %d should be", held(&s.window), most)
	}
	press(s, l, tea.KeyHome)
	if r, _ := s.current(); r.ContractID != "contract-100000" {
		t.Fatalf("the top is %q", r.ContractID)
	}
}

// Wherever an operator goes, the row shown is the list's row, its page is
// held, and few others are.
func TestWindowShowsTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLongList(rapid.IntRange(0, 2500).Draw(t, "length"))
		s := openList(l)
		at := 0
		for range rapid.IntRange(1, 40).Draw(t, "keys") {
			k := rapid.SampledFrom([]tea.KeyType{tea.KeyUp, tea.KeyDown, tea.KeyPgUp, tea.KeyPgDown, tea.KeyHome, tea.KeyEnd}).Draw(t, "key")
			press(s, l, k)
			page := s.room() - 1
			at += map[tea.KeyType]int{tea.KeyUp: -1, tea.KeyDown: 1, tea.KeyPgUp: -page, tea.KeyPgDown: page, tea.KeyHome: -1 << 30, tea.KeyEnd: 1 << 30}[k]
			at = max(0, min(at, len(l.ids)-1))
			if s.selected != at {
				t.Fatalf("the selection is at %d, not %d", s.selected, at)
			}
			if len(l.ids) == 0 {
				continue
			}
			if r, ok := s.current(); !ok || r.ContractID != l.ids[at] {
				t.Fatalf("row %d is %q, not %q", at, r.ContractID, l.ids[at])
			}
			if n := held(&s.window); n > (2*keptPages+1)*pageRows {
				t.Fatalf("%d rows are held", n)
			}
			if s.top > s.selected || s.selected-s.top >= s.room() {
				t.Fatalf("row %d is not on the screen that begins at %d", s.selected, s.top)
			}
		}
	})
}

// When rows are added or taken away, the selection stays on its contract.
func TestSelectionStaysOnItsContract(t *testing.T) {
	l := newLongList(250)
	s := openList(l)
	press(s, l, tea.KeyDown, tea.KeyDown, tea.KeyDown)
	before, _ := s.current()
	l.ids = append([]string{"contract-new-2", "contract-new-1"}, l.ids...)
	l.answer(s, s.again())
	if r, _ := s.current(); r.ContractID != before.ContractID {
		t.Errorf("after two new rows the selection is %q, not %q", r.ContractID, before.ContractID)
	}
	l.ids = l.ids[3:]
	l.answer(s, s.again())
	if r, _ := s.current(); r.ContractID != before.ContractID {
		t.Errorf("after three rows went the selection is %q, not %q", r.ContractID, before.ContractID)
	}
	press(s, l, tea.KeyEnd)
	if r, _ := s.current(); r.ContractID != "contract-000001" {
		t.Errorf("pages behind a moved row were not read again: the end is %q", r.ContractID)
	}
}

// An answer for a list that was left, or for a page that was not asked for,
// changes nothing.
func TestLateAnswersAreDropped(t *testing.T) {
	l := newLongList(10)
	s := openList(l)
	s.Show(core.ListHistory)
	s.Update(PageRead{List: core.ListNeedsYou, Page: l.page("", pageRows)})
	if s.length() != 0 {
		t.Error("a page of another list was taken")
	}
	s.Update(PageRead{List: core.ListHistory, After: "contract-000004", Page: l.page("contract-000004", pageRows)})
	if s.length() != 0 {
		t.Error("a page that was not asked for was taken")
	}
}

// The filter walks a long list only as far as the screen needs, and finds
// what lies far behind.
func TestFilterWalksAsFarAsNeeded(t *testing.T) {
	l := newLongList(3000)
	s := openList(l)
	intent, _ := s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'/'}})
	l.answer(s, intent)
	for _, r := range "contract-" {
		intent, _ = s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		if n := l.answer(s, intent); n > 2 {
			t.Fatalf("%d pages were read although every row matches", n)
		}
	}
	for _, r := range "000007" {
		intent, _ = s.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		l.answer(s, intent)
	}
	if r, ok := s.current(); !ok || r.ContractID != "contract-000007" || s.length() != 1 {
		t.Fatalf("the filter found %d rows, the first %q", s.length(), r.ContractID)
	}
	press(s, l, tea.KeyEsc)
	if s.search != nil || s.length() < pageRows {
		t.Error("esc does not show all rows again")
	}
}

// A row that comes in at the top is on screen at once, and nothing is hidden
// above while there is room; further down the rows on screen stay.
func TestNewRowsAreOnScreen(t *testing.T) {
	page := func(from, n int) PageRead {
		p := PageRead{List: core.ListNeedsYou}
		for i := from; i < from+n; i++ {
			r := testRow(core.Prepared, fmt.Sprintf("t%d", i))
			r.ContractID = fmt.Sprintf("aliasdescr-%d", i)
			p.Page.Rows = append(p.Page.Rows, r)
		}
		return p
	}
	for _, c := range []struct {
		rows, selected, top int
		wantSelected        int
		wantTop             int
	}{{2, 0, 0, 1, 0}, {40, 0, 0, 1, 0}, {40, 20, 15, 21, 16}} {
		l := NewList(testFrame(ThemeOptions{Plain: true}))
		_, _ = l.Init()
		l.SetSize(80, 12)
		l.Update(page(1, c.rows))
		l.choose(c.selected)
		l.top = c.top
		l.again()
		l.Update(page(0, c.rows+1))
		if l.selected != c.wantSelected || l.top != c.wantTop {
			t.Errorf("%d rows, %d selected: now %d selected and %d on top, want %d and %d", c.rows, c.selected, l.selected, l.top, c.wantSelected, c.wantTop)
		}
	}
}
