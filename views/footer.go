package views

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// FooterLine names the keys that work now, as many as fit. The way out and
// help are always among them where the screen has them.
func FooterLine(f *Frame, keys []Binding, s Situation, width int) string {
	t := f.Theme
	room, full := width-1, false
	var open []Binding
	for _, b := range keys {
		if b.Reason(s) != "" || b.Quiet && !b.kept() {
			continue
		}
		open = append(open, b)
		if b.kept() {
			room -= ansi.StringWidth(t.keyHint(b)) + 2
		}
	}
	line, help := "", ""
	for _, b := range open {
		hint := "  " + t.keyHint(b)
		switch wide := ansi.StringWidth(hint); {
		case b.Word() == wordHelp:
			help = hint
		case b.kept():
			line += hint
		case full || wide > room:
			full = true
		default:
			line, room = line+hint, room-wide
		}
	}
	return t.fit(strings.TrimPrefix(line+help, " "), width)
}

// kept bindings have their place in every footer.
func (b Binding) kept() bool { return b.Word() == wordHelp || b.Shown() == "esc" }

func (t *Theme) keyHint(b Binding) string {
	return t.Key.Render(b.Shown()) + " " + t.Dim.Render(b.Word())
}

// mostNotice is how many lines a notice may take; two are always kept free.
const mostNotice = 4

// NoticeLines are the lines above the foot: what happened or what is wrong,
// and the way on. There are two at least.
func NoticeLines(f *Frame, n Notice, width int) []string {
	t := f.Theme
	style := styler(t.Text)
	if n.Refusal {
		style = t.Warn
	}
	var out []string
	add := func(s string, style styler) {
		if s == "" {
			return
		}
		for _, line := range wrap(t.Clean(s), width-2) {
			out = append(out, " "+style.Render(line))
		}
	}
	add(n.Text, style)
	add(n.Way, t.Dim)
	for len(out) < 2 {
		out = append(out, "")
	}
	return out[:min(len(out), mostNotice)]
}
