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
	waiting   core.Waiting // what else waits to be loaded
	leftOut   bool
	read      bool
}

// offer takes what a fresh reading says. The operator's choice holds as long
// as it is about the same.
func (l *loading) offer(s core.Subsystem, w core.Waiting) {
	if !l.read || w.Unread != l.waiting.Unread || !slices.Equal(w.Names, l.waiting.Names) {
		l.leftOut = len(w.Names) > 0
	}
	l.subsystem, l.waiting, l.read = s, w, true
}

// offered: it can be agreed to here.
func (l loading) offered() bool { return l.subsystem != core.LoadsAtOnce && !l.waiting.Unread }

// agreement is what is agreed to, or nil.
func (l loading) agreement() *core.Waiting {
	if !l.offered() || l.leftOut {
		return nil
	}
	return &l.waiting
}

// closed is why the key that leaves loading out does nothing, or "".
func (l loading) closed() string {
	switch {
	case l.subsystem == core.LoadsAtOnce:
		return "this change works at once; nothing has to be loaded"
	case l.waiting.Unread:
		return core.ErrWaitingUnread.Error() + "; loading is a step of its own"
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
	if l.subsystem == core.LoadsAtOnce {
		return
	}
	by := "by " + subsystemWords(l.subsystem)
	switch {
	case l.agreement() == nil:
		p.pair("loading", "a step of its own, afterwards, "+by)
		return
	case len(l.waiting.Names) == 0:
		p.styled(p.theme.Strong, "loading", "once, right after it is "+when+", "+by)
	default:
		p.styled(p.theme.Warn, "loading", "once, right after it is "+when+", with "+strings.Join(l.waiting.Names, ", "))
	}
}

// unannounced says what a subsystem would load and nobody can list.
func unannounced(s core.Subsystem) string {
	if s == core.Firewall {
		return "; rules are never announced"
	}
	return ""
}
