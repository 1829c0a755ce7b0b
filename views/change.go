package views

import (
	"strings"

	"countersign/core"
)

// changes adds the exact difference, before and after, in plain text. Texts
// are quoted, so that spaces at their ends are seen. The members of one list
// stand under one heading, each with the side it has.
func (p *page) changes(list []core.Change) {
	t := p.theme
	for i, c := range list {
		if !c.Member || i == 0 || list[i-1].Field != c.Field {
			p.pair("change", c.Field)
		}
		if c.Before != "" || !c.Member {
			p.side(t.Before, "- ", c.Before)
		}
		if c.After != "" || !c.Member {
			p.side(t.After, "+ ", c.After)
		}
	}
}

// side adds one side of a difference; an empty text is said to be one.
func (p *page) side(style styler, sign, value string) {
	indent := strings.Repeat(" ", 3+labelWidth+2)
	room := p.width - len(indent) - len(sign) - 1
	text := p.theme.Clean(`"` + value + `"`)
	if value == "" {
		text = "(empty)"
	}
	for i, line := range wrap(text, room) {
		lead := indent + sign
		if i > 0 {
			lead = indent + "  "
		}
		p.raw(lead[:len(indent)] + style.Render(lead[len(indent):]+line))
	}
}

// related adds linked objects that a change also concerns.
func (p *page) related(list []core.Change) {
	for _, c := range list {
		value := c.Before
		if c.After != c.Before {
			value += " -> " + c.After
		}
		p.pair("linked", c.Field+": "+value)
	}
}

// waits says what waits to be loaded besides this change; loading it would
// load that too (design section 4, rule 7).
func (p *page) waits(s core.Subsystem, w core.Waiting) {
	names := strings.Join(w.Names, ", ")
	switch {
	case w.Unread:
		p.styled(p.theme.Warn, "waiting", strings.TrimPrefix(names+"; ", "; ")+core.ErrWaitingUnread.Error())
	case len(w.Names) == 0:
		p.pair("waiting", "no unloaded changes are known"+unannounced(s))
	case s == core.LoadsAtOnce:
		p.pair("waiting", "not loaded yet, and not touched by this: "+names)
	default:
		p.styled(p.theme.Warn, "waiting", "not loaded yet, and loaded with it: "+names+unannounced(s))
	}
}
