package views

import (
	"slices"
	"strings"

	"countersign/core"
)

// loading is the part of a gate that agrees to loading in the same decision
// (design section 4, rule 7). It can be left out; where other changes would be
// loaded too, it has to be taken in.
type loading struct {
	subsystem core.Subsystem
	pending   []string // what else waits to be loaded
	leftOut   bool
	read      bool
}

// offer takes what a fresh reading says. The operator's choice holds as long
// as it is about the same.
func (l *loading) offer(s core.Subsystem, pending []string) {
	if !l.read || !slices.Equal(pending, l.pending) {
		l.leftOut = len(pending) > 0
	}
	l.subsystem, l.pending, l.read = s, pending, true
}

// agreement is what is agreed to, or nil.
func (l loading) agreement() *LoadToo {
	if l.subsystem == core.LoadsAtOnce || l.leftOut {
		return nil
	}
	return &LoadToo{l.pending}
}

// binding is the key that leaves loading out or takes it in again.
func (l loading) binding(k KeyMap) []Binding {
	switch {
	case l.subsystem == core.LoadsAtOnce:
		return nil
	case l.leftOut:
		return []Binding{k.LoadToo.as("load too")}
	}
	return []Binding{k.LoadToo.as("do not load")}
}

// loading says what is agreed to about loading, once a change is where `when`
// says.
func (p *page) loading(l loading, when string) {
	if l.subsystem == core.LoadsAtOnce {
		return
	}
	by := "by " + subsystemWords(l.subsystem)
	switch {
	case l.leftOut:
		p.pair("loading", "a step of its own, afterwards, "+by)
	case len(l.pending) == 0:
		p.styled(p.theme.Strong, "loading", "once, right after it is "+when+", "+by)
	default:
		p.styled(p.theme.Warn, "loading", "once, right after it is "+when+", with "+strings.Join(l.pending, ", "))
	}
}
