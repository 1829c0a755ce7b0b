package views

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"countersign/core"
)

// HeaderLine is the first line of every screen: which firewall, who, whether
// they may act, and how long nothing new may be sent.
func HeaderLine(f *Frame, width int) string {
	t, h := f.Theme, f.Header
	mode := string(h.Mode)
	right := t.Clean(f.Operator) + "  " + t.modeStyle(h).Render(mode) + " "
	if left := f.settlesIn(); left > 0 {
		right = t.Warn.Render("settling "+countdown(left)) + "  " + right
	}
	if len(f.Armed) > 0 {
		right = t.Warn.Render(t.Clean(armedWords(f.Armed))) + "  " + right
	}
	left := " " + t.Strong.Render(t.Clean(h.Appliance))
	for _, part := range headerFacts(t, h) {
		next := left + t.Dim.Render(part)
		if ansi.StringWidth(next)+ansi.StringWidth(right)+1 > width {
			break
		}
		left = next
	}
	return t.spread(left, right, width)
}

// headerFacts in the order in which they give way on a narrow terminal.
func headerFacts(t *Theme, h core.Header) []string {
	facts := []string{"  pin " + t.pin(h.Pin)}
	if h.Version == "" {
		return []string{"  not read yet"}
	}
	facts = append(facts, " "+t.Marks.Dot+" pfSense "+t.Clean(h.Version))
	return append(facts, " "+t.Marks.Dot+" API "+t.Clean(h.APIVersion))
}

func (t *Theme) pin(pin string) string {
	if pin == "" {
		return "unknown"
	}
	return t.Clean(t.shortHex(pin))
}

func (t *Theme) modeStyle(h core.Header) styler {
	switch {
	case h.Mode == core.ModeExecutor && h.Closed == "":
		return t.Mode
	case h.Mode == core.ModeStarting:
		return t.Dim
	}
	return t.Warn
}

// styler is what a lipgloss style does.
type styler interface{ Render(...string) string }

// HealthLine is the list's second line: store, anchor, and what needs a person.
func HealthLine(f *Frame, width int) string {
	t, h := f.Theme, f.Header
	parts := []string{storeHealth(f), anchorHealth(t, h)}
	add := func(n int, words string, style styler) {
		if n > 0 {
			parts = append(parts, style.Render(count(n)+" "+words))
		}
	}
	add(h.Counts.NeedsYou, needYou(h.Counts.NeedsYou), t.Warn)
	add(h.Counts.Quarantined, "quarantined", t.Bad)
	return t.fit(" "+strings.Join(parts, t.Dim.Render(" "+t.Marks.Dot+" ")), width)
}

func needYou(n int) string {
	if n == 1 {
		return "needs you"
	}
	return "need you"
}

func storeHealth(f *Frame) string {
	t, h := f.Theme, f.Header
	switch {
	case h.Mode == core.ModeStarting:
		return t.Dim.Render(t.Clean(orElse(h.StoreNote, "store is being verified")))
	case !h.StoreOK:
		return t.Bad.Render("store: " + t.Clean(orElse(h.StoreNote, "not usable")))
	case h.VerifiedAt.IsZero():
		return t.Dim.Render("store ok, not verified yet")
	}
	return t.Dim.Render("store ok, verified " + h.VerifiedAt.In(f.zone()).Format("15:04"))
}

func anchorHealth(t *Theme, h core.Header) string {
	if h.AnchorOK {
		return t.Dim.Render("anchor ok")
	}
	if h.Mode != core.ModeExecutor && h.AnchorNote == "" {
		return t.Dim.Render("anchor not checked")
	}
	return t.Bad.Render("anchor: " + t.Clean(orElse(h.AnchorNote, "not in order")))
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// TitleLine is the second line of every screen but the list.
func TitleLine(f *Frame, left, right string, width int) string {
	t := f.Theme
	return t.spread(" "+t.Title.Render(t.Clean(left)), t.Clean(right)+" ", width)
}

// RuleLine separates head, body and foot.
func RuleLine(f *Frame, width int) string {
	return f.Theme.Rule.Render(strings.Repeat(f.Theme.Marks.Rule, max(0, width)))
}
