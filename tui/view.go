package tui

import (
	"strings"

	"countersign/views"
)

// layout is what a screen was last sized for.
type layout struct {
	screen        views.Screen
	width, height int
}

// chrome is the lines around body and notice: two of the head, two rules and
// the foot.
const chrome = 5

// lay sizes the shown screen for what the head, the notice and the foot leave.
func (m *Model) lay() {
	next := layout{m.top(), m.width, m.height - chrome - len(m.noticeLines())}
	if next == m.laidOut || m.width == 0 {
		return
	}
	m.laidOut = next
	next.screen.SetSize(next.width, max(1, next.height))
}

// noticeLines are the notice, or else the screen's hint.
func (m *Model) noticeLines() []string {
	n := m.notice
	if n.Text == "" {
		n = views.Told(m.top().Hint())
	}
	return views.NoticeLines(m.frame, n, m.width)
}

// View draws exactly the terminal's lines: a taller view would lose its top.
func (m *Model) View() string {
	if m.width == 0 || m.quitting {
		return ""
	}
	top := m.top()
	if views.TooSmall(m.width, m.height, false) {
		return views.SmallView(m.frame, m.width, m.height, false)
	}
	notice := m.noticeLines()
	body := m.height - chrome - len(notice)
	text := ""
	if views.TooSmall(m.width, m.height, top.Gate()) {
		text = views.SmallView(m.frame, m.width, body, true)
	} else {
		text = top.View()
	}
	lines := []string{views.HeaderLine(m.frame, m.width), m.secondLine(), views.RuleLine(m.frame, m.width)}
	lines = append(lines, exactly(text, body)...)
	lines = append(lines, notice...)
	lines = append(lines, views.RuleLine(m.frame, m.width), views.FooterLine(m.frame, top.Keys(), top.Situation(), m.width))
	return strings.Join(lines, "\n")
}

func (m *Model) secondLine() string {
	if m.top() == views.Screen(m.list) {
		return views.HealthLine(m.frame, m.width)
	}
	left, right := m.top().Title()
	return views.TitleLine(m.frame, left, right, m.width)
}

// exactly cuts or fills text to n lines.
func exactly(text string, n int) []string {
	lines := strings.Split(text, "\n")
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:max(0, n)]
}
