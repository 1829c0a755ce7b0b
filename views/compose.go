package views

import "strings"

// chrome is the lines around body and notice: two of the head, two rules and
// the foot.
const chrome = 5

// BodyHeight is how many lines a screen has between head, notice and foot.
func BodyHeight(f *Frame, s Screen, n Notice, width, height int) int {
	return max(1, height-chrome-len(noticeOf(f, s, n, width)))
}

// noticeOf is the notice, or else the screen's hint.
func noticeOf(f *Frame, s Screen, n Notice, width int) []string {
	if n.Text == "" && n.Way == "" {
		n = Told(s.Hint())
	}
	return NoticeLines(f, n, width)
}

// Compose lays out a screen with head, notice and foot in exactly the
// terminal's lines: a taller view would lose its top. On a terminal that is
// too small it says so instead.
func Compose(f *Frame, s Screen, n Notice, width, height int) string {
	if TooSmall(width, height, false) {
		return SmallView(width, height, false)
	}
	notice := noticeOf(f, s, n, width)
	body := BodyHeight(f, s, n, width, height)
	text, keys, situation := "", s.Keys(), s.Situation()
	if TooSmall(width, height, s.Gate()) {
		text, keys, situation = SmallView(width, height, true), smallKeys(f.KeyMap), Situation{}
	} else {
		text = s.View()
	}
	lines := []string{HeaderLine(f, width), secondLine(f, s, width), RuleLine(f, width)}
	lines = append(lines, exactly(splitLines(text), body)...)
	lines = append(lines, notice...)
	lines = append(lines, RuleLine(f, width), FooterLine(f, keys, situation, width))
	return strings.Join(lines, "\n")
}

func secondLine(f *Frame, s Screen, width int) string {
	left, right := s.Title()
	if left == "" {
		return HealthLine(f, width)
	}
	return TitleLine(f, left, right, width)
}

// exactly cuts or fills to n lines.
func exactly(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:n]
}
