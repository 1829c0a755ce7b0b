package views

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

// fit cuts or pads a line to exactly width cells; a cut is marked.
func (t *Theme) fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if w := ansi.StringWidth(s); w <= width {
		return s + strings.Repeat(" ", width-w)
	}
	s = ansi.Truncate(s, width, t.Marks.Ellipsis)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// spread puts left and right at the two ends of a line; left gives way.
func (t *Theme) spread(left, right string, width int) string {
	room := width - ansi.StringWidth(right)
	if room < 1 {
		return t.fit(right, width)
	}
	if ansi.StringWidth(left) >= room {
		left = ansi.Truncate(left, room-1, t.Marks.Ellipsis)
	}
	return left + strings.Repeat(" ", room-ansi.StringWidth(left)) + right
}

// wrap breaks text at words, and long words anywhere, to lines of at most
// width cells. Nothing is lost.
func wrap(s string, width int) []string {
	return strings.Split(ansi.Wrap(s, max(1, width), ""), "\n")
}

// page builds a body line by line. Its methods sanitise what they are given,
// except raw, which takes finished lines.
type page struct {
	theme *Theme
	width int
	lines []string
}

// labelWidth is the column of values beside labels.
const labelWidth = 13

func (p *page) raw(lines ...string) { p.lines = append(p.lines, lines...) }

func (p *page) blank() { p.raw("") }

// text adds wrapped text.
func (p *page) text(style lipgloss.Style, indent int, s string) {
	p.hanging(style, strings.Repeat(" ", indent), strings.Repeat(" ", indent), s)
}

// hanging adds wrapped text whose first line begins with lead and whose
// others begin with rest; both are finished.
func (p *page) hanging(style lipgloss.Style, lead, rest, s string) {
	room := p.width - max(ansi.StringWidth(lead), ansi.StringWidth(rest)) - 1
	for i, line := range wrap(p.theme.Clean(s), room) {
		if i == 0 {
			p.raw(lead + style.Render(line))
		} else {
			p.raw(rest + style.Render(line))
		}
	}
}

// pair adds a label and its value.
func (p *page) pair(label, value string) { p.styled(p.theme.Text, label, value) }

func (p *page) styled(style lipgloss.Style, label, value string) {
	lead := "   " + p.theme.Dim.Render(p.theme.fit(label, labelWidth))
	p.hanging(style, lead, strings.Repeat(" ", 3+labelWidth), value)
}

// heading adds a heading.
func (p *page) heading(s string) { p.raw(" " + p.theme.Title.Render(p.theme.Clean(s))) }

// columns places cells side by side; each wraps within its own width.
func (p *page) columns(lead string, widths []int, styles []lipgloss.Style, cells []string) {
	var wrapped [][]string
	height := 1
	for i, cell := range cells {
		lines := wrap(p.theme.Clean(cell), widths[i]-1)
		wrapped = append(wrapped, lines)
		height = max(height, len(lines))
	}
	for row := range height {
		line := lead
		if row > 0 {
			line = strings.Repeat(" ", ansi.StringWidth(lead))
		}
		for i, lines := range wrapped {
			text := ""
			if row < len(lines) {
				text = lines[row]
			}
			line += styles[i].Render(p.theme.fit(text, widths[i]))
		}
		p.raw(line)
	}
}

func splitLines(s string) []string { return strings.Split(s, "\n") }

// join fits lines to the width and joins them.
func (t *Theme) join(lines []string, width, height int) string {
	if len(lines) > height {
		lines = lines[:max(0, height)]
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		if ansi.StringWidth(line) > width {
			line = ansi.Truncate(line, width, t.Marks.Ellipsis)
		}
		out[i] = line
	}
	return strings.Join(out, "\n")
}
