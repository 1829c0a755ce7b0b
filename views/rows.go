package views

import (
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"countersign/core"
)

// columnsOf is the layout of a list for one width.
type columnsOf struct{ target, change, when, by, age, left int }

// stateWidth holds the longest state's word, ROLLBACK_FAILED.
const stateWidth = 16

// leadWidth is everything before the target: cursor, mark and state.
const leadWidth = 5 + stateWidth

func columnsFor(width int) columnsOf {
	c := columnsOf{age: 5, left: 7}
	if width >= 72 {
		c.by = 8
	}
	if width >= 110 {
		c.when = 14
	}
	room := width - leadWidth - c.age - c.left - c.by - c.when - 1
	if width >= 58 {
		c.change = room * 9 / 20
	}
	c.target = room - c.change
	return c
}

// rowsHead names the columns.
func rowsHead(t *Theme, width int) string {
	c := columnsFor(width)
	return t.Dim.Render("     " + t.fit("STATE", stateWidth) + cells(t, c, "TARGET", "CHANGE", "WHEN", "BY", "AGE", "LEFT"))
}

// cells lays out the plain cells behind the state.
func cells(t *Theme, c columnsOf, target, change, when, by, age, left string) string {
	return t.fit(target, c.target-1) + " " + t.fit(change, c.change) +
		t.fit(when, c.when) + t.fit(by, c.by) + right(age, c.age) + right(left, c.left)
}

func right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-lipgloss.Width(s))) + s
}

// rowLines renders one row: a line, and a second where loading is a fact of
// its own.
func rowLines(f *Frame, r core.Row, width int, selected bool) []string {
	t, c := f.Theme, columnsFor(width)
	cursor := " "
	if selected {
		cursor = t.Marks.Cursor
	}
	text := t.On(t.Text, selected)
	lead := text.Render(" ") + t.On(t.Key, selected).Render(cursor) + text.Render(" ")
	if r.Quarantined != "" {
		return []string{lead + quarantinedRow(f, r, width, selected)}
	}
	state := t.On(t.StateStyle(r.State), selected).Render(t.fit(t.StateMark(r.State)+" "+t.Clean(StateWord(r.State)), stateWidth+2))
	when := r.CreatedAt.In(f.zone()).Format("02 Jan 15:04")
	line := cells(t, c, t.Clean(strings.TrimSpace(r.Noun+" "+r.Target)), t.Clean(r.Change), when, t.Clean(r.Actor),
		age(f.Now.Sub(r.UpdatedAt)), timeLeft(f.Now, r))
	lines := []string{lead + state + text.Render(line) + text.Render(" ")}
	if rowHeight(r) == 2 {
		sub := t.fit("     "+t.words(loadWords(r.Load)), width)
		lines = append(lines, t.On(t.Dim, selected).Render(sub))
	}
	return lines
}

// rowHeight is how many lines a row takes.
func rowHeight(r core.Row) int {
	if r.Loads != core.LoadsAtOnce && (r.State == core.Verified || r.State == core.RolledBack) {
		return 2
	}
	return 1
}

func quarantinedRow(f *Frame, r core.Row, width int, selected bool) string {
	t := f.Theme
	word := t.On(t.Bad, selected).Render(t.fit("# QUARANTINED", stateWidth+2))
	rest := t.fit(t.Clean(t.shortID(r.ContractID)+"  "+r.Quarantined), width-leadWidth)
	return word + t.On(t.Text, selected).Render(rest)
}

// timeLeft is what runs out for a row.
func timeLeft(now time.Time, r core.Row) string {
	switch {
	case r.State == core.Prepared && !now.Before(r.ExpiresAt):
		return "over"
	case r.State == core.Prepared:
		return countdown(r.ExpiresAt.Sub(now))
	case now.Before(r.SettleUntil):
		return countdown(r.SettleUntil.Sub(now))
	}
	return "-"
}
