package views

import "countersign/core"

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
		if l.top > 0 { // at the top, what is new stays on screen
			l.top = max(0, l.top+i-l.selected)
		}
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

// follow scrolls so that the selected row is on screen, and nothing is hidden
// above where there is room for it.
func (l *List) follow() {
	room, last := l.room(), l.length()-1
	l.top = max(0, min(l.top, l.selected), l.selected-room+1)
	for l.top < l.selected && l.linesBetween(l.top, l.selected) > room {
		l.top++
	}
	for l.top > 0 && last-l.top < room && l.linesBetween(l.top-1, last) <= room {
		l.top--
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
