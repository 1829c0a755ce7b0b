package views

import (
	"github.com/charmbracelet/x/ansi"
)

// FooterLine names the keys that work now, as many as fit; help is always
// among them where the screen has it.
func FooterLine(f *Frame, keys []Binding, s Situation, width int) string {
	t := f.Theme
	help := ""
	line := ""
	for _, b := range keys {
		if b.Word() == wordHelp && b.Reason(s) == "" {
			help = " " + t.keyHint(b)
		}
	}
	for _, b := range keys {
		if b.Quiet || b.Word() == wordHelp || b.Reason(s) != "" {
			continue
		}
		hint := " " + t.keyHint(b)
		if line != "" {
			hint = " " + hint
		}
		if ansi.StringWidth(line+hint)+ansi.StringWidth(help)+1 > width {
			break
		}
		line += hint
	}
	if help != "" && line != "" {
		help = " " + help
	}
	return t.fit(line+help, width)
}

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
