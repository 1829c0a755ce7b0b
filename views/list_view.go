package views

import (
	"fmt"
	"strings"

	"countersign/core"
)

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
	return emptyListWords(l.list, l.Header.Closed != "")
}
