package views

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// gate is the part that every agreement shares: a review that must be seen to
// its end, the passphrase, who is asked, and whether an answer is awaited.
// Keys that arrive meanwhile are dropped, so nothing typed ahead can agree to
// the next question.
type gate struct {
	base
	secret  secret
	waiting string // what is awaited, or ""
	failure error  // why there is nothing to review
	scroll  scroll
	seenAll bool
}

func (g *gate) Gate() bool   { return true }
func (g *gate) Typing() bool { return true }

// situation has the screen's own reason for the binding "next".
func (g *gate) situation(closed string) Situation {
	own := map[string]string{"next": closed, "sign elsewhere": closed, "take from inbox": reasonNoFit}
	if !g.Exports {
		own["sign elsewhere"] = reasonNoRequest
	}
	return Situation{Header: g.Header, Operator: len(g.Operators), Waiting: g.waiting, Own: own}
}

// Close overwrites the passphrase of a screen that is left in any way.
func (g *gate) Close() { g.secret.wipe() }

// paging is in the footer as long as something is still to be seen.
func (g *gate) paging() []Binding {
	down := g.KeyMap.PageDown
	if !g.seenAll && g.scroll.total > g.scroll.room {
		down = down.as("read on").loud()
	}
	return []Binding{down, g.KeyMap.PageUp}
}

// measure keeps the review in bounds and remembers that its end was on screen.
func (g *gate) measure(review, questions int) {
	room := g.height - questions - 1
	g.scroll.measure(review, max(1, room))
	g.seenAll = g.seenAll || (review > 0 && room > 0 && g.scroll.atEnd())
}

// stack shows the review above the questions, which never scroll away.
func (g *gate) stack(review, questions []string) string {
	room := max(1, g.height-len(questions)-1)
	lines := append(splitLines(g.scroll.show(g.Theme, review, g.width, room)), "")
	return g.Theme.join(append(lines, questions...), g.width, g.height)
}

// key handles what every gate does with a key, and reports whether the key is
// done with.
func (g *gate) key(msg tea.KeyMsg) (Intent, bool) {
	k := g.KeyMap
	switch {
	case k.Back.Is(msg):
		g.secret.wipe()
		return Back{}, true
	case g.waiting != "":
		return nil, true
	case k.Operator.Is(msg):
		g.secret.wipe()
		return SwitchOperator{}, true
	case k.PageUp.Is(msg), k.PageDown.Is(msg), msg.Type == tea.KeyUp, msg.Type == tea.KeyDown:
		return nil, g.scroll.key(k, msg)
	}
	return nil, false
}

// toggle takes loading into the decision or leaves it out. What is agreed to
// has changed, so its end must be seen again.
func (g *gate) toggle(l *loading) Intent {
	if why := l.closed(); why != "" {
		return Say{Notice{Text: why, Refusal: true}}
	}
	l.leftOut = !l.leftOut
	g.seenAll = false
	return nil
}

// agree hands the passphrase over and waits, unless it is still empty.
func (g *gate) agree(decision func(passphrase []byte) Intent) Intent {
	if g.secret.empty() {
		return Say{Notice{Text: reasonTypePass, Refusal: true}}
	}
	g.waiting = waitPassphrase
	return decision(g.secret.take())
}

// answered ends the wait and shows a refusal.
func (g *gate) answered(err error) Intent {
	g.waiting = ""
	g.secret.wipe()
	if err != nil {
		return Say{Refused(err)}
	}
	return nil
}

// prompt asks for the passphrase of the operator.
func (g *gate) prompt(focused bool) string {
	t := g.Theme
	line := " " + t.Clean(fmt.Sprintf(sayPassphraseOf, g.Operator)) + " "
	switch {
	case g.waiting == waitPassphrase:
		return line + t.Dim.Render("checking"+t.Marks.Ellipsis)
	case !focused:
		return t.Dim.Render(line)
	case !g.secret.empty():
		line += t.Dim.Render(t.Marks.Hidden)
	}
	return line + t.Marks.Caret
}

// notNow says why a gate is closed, in at least n lines.
func (g *gate) notNow(closed string, n int) []string {
	var lines []string
	for _, line := range wrap(g.Theme.Clean("Not now: "+closed), g.width-2) {
		lines = append(lines, " "+g.Theme.Warn.Render(line))
	}
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines
}

// unread is what a gate shows while there is nothing to review.
func (g *gate) unread() []string {
	p := g.page()
	if g.failure == nil {
		p.text(g.Theme.Dim, 1, waitFirewall+g.Theme.Marks.Ellipsis)
		return p.lines
	}
	p.refusal(g.failure)
	return p.lines
}

// refusal adds a refusal to a page.
func (p *page) refusal(err error) {
	wrong, way := Explain(err)
	p.text(p.theme.Warn, 1, wrong)
	if way != "" {
		p.text(p.theme.Dim, 1, way)
	}
}
