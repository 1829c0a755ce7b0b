package views

import "countersign/core"

// loading is the part of a gate that agrees to loading in the same decision
// (design section 4, rule 7). It can be left out, and it is not offered where
// other people's changes would be loaded too.
type loading struct {
	subsystem core.Subsystem
	pending   []string
	leftOut   bool
}

// offer takes what a fresh reading says, and keeps the operator's choice.
func (l *loading) offer(s core.Subsystem, pending []string) { l.subsystem, l.pending = s, pending }

func (l loading) offered() bool { return l.subsystem != core.LoadsAtOnce && len(l.pending) == 0 }

func (l loading) agreed() bool { return l.offered() && !l.leftOut }

func (l *loading) toggle() { l.leftOut = !l.leftOut }

// closed is why the key that leaves loading out does nothing, or "".
func (l loading) closed() string {
	switch {
	case l.subsystem == core.LoadsAtOnce:
		return "this change works at once; nothing has to be loaded"
	case !l.offered():
		return "other people's changes would be loaded too; loading is a step of its own here"
	}
	return ""
}

// binding is the key that leaves loading out or takes it in again.
func (l loading) binding(k KeyMap) []Binding {
	switch {
	case !l.offered():
		return nil
	case l.leftOut:
		return []Binding{k.LoadToo.as("load too")}
	}
	return []Binding{k.LoadToo.as("do not load")}
}

// loading says what is agreed to about loading, once a change is where `when`
// says.
func (p *page) loading(l loading, when string) {
	by := subsystemWords(l.subsystem)
	switch {
	case l.subsystem == core.LoadsAtOnce:
	case l.agreed():
		p.styled(p.theme.Strong, "loading", "once, right after it is "+when+", by "+by)
	case l.offered():
		p.pair("loading", "left out: a step of its own, afterwards, by "+by)
	default:
		p.pair("loading", "a step of its own, afterwards, by "+by)
	}
}
