package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/core"
)

// timeline adds a contract's verified chain, oldest first, with what our own
// notes add to it, until when an ambiguous send may still write, and between
// its events what is known about loading and what was seen soon after.
func (p *page) timeline(f *Frame, d core.Detail) {
	p.heading(historyHeading(len(d.Events)))
	day, facts := dayOf(f, f.Now), factsOf(d)
	begin := func(at time.Time) {
		if of := dayOf(f, at); of != day {
			p.text(p.theme.Dim, 3, of)
			day = of
		}
	}
	for i, e := range d.Events {
		for len(facts) > 0 && facts[0].at.Before(e.RecordedAt) {
			begin(facts[0].at)
			p.fact(f, facts[0])
			facts = facts[1:]
		}
		begin(e.RecordedAt)
		p.event(f, d.Events, i)
		until := time.Time{}
		if i == len(d.Events)-1 {
			until = d.Row.SettleUntil
		}
		p.note(f, e.Note, until)
	}
	for _, x := range facts {
		begin(x.at)
		p.fact(f, x)
	}
}

// dayOf names a day. The timeline names every day but today once.
func dayOf(f *Frame, t time.Time) string { return t.In(f.zone()).Format("Monday, 2 January 2006") }

func historyHeading(n int) string {
	switch n {
	case 0:
		return "History is empty"
	case 1:
		return "History, 1 event, verified"
	}
	return fmt.Sprintf("History, %d events, every one verified", n)
}

func (p *page) event(f *Frame, events []core.AuditEvent, i int) {
	t, e := p.theme, events[i]
	since := ""
	if i > 0 {
		since = gap(e.RecordedAt.Sub(events[i-1].RecordedAt))
	}
	by := ""
	if e.Note != nil && e.Note.Actor != "" {
		by = "by " + e.Note.Actor
	}
	at := e.RecordedAt.In(f.zone()).Format("15:04:05.000")
	p.raw("   " + t.Dim.Render(at+"  ") + t.fit(t.Clean(eventWords(e.Type)), 12) +
		t.StateStyle(e.Current).Render(t.fit(t.StateMark(e.Current)+" "+t.Clean(StateWord(e.Current)), 18)) +
		t.fit(t.Clean(by), 12) + t.Good.Render("MAC ok") + t.Dim.Render("  "+since))
}

// note adds what one event's note says, on a line of its own.
func (p *page) note(f *Frame, n *core.Note, settleUntil time.Time) {
	if n == nil {
		return
	}
	var facts []string
	add := func(s string) {
		if s != "" {
			facts = append(facts, s)
		}
	}
	if n.Failure != core.FailureNone {
		add(n.Failure.Words())
	}
	if n.Outcome != "" {
		add("concluded: " + outcomeWords(n.Outcome))
	}
	if n.Boundary != "" {
		add("boundary: " + boundaryWords(n.Boundary))
	}
	if n.Status != 0 {
		answer := fmt.Sprintf("answer %d", n.Status)
		if n.Status >= 300 && n.Response != "" {
			answer += " " + n.Response
		}
		add(answer)
	}
	if n.LastByteAt != nil {
		add("last byte sent " + n.LastByteAt.In(f.zone()).Format("15:04:05"))
	}
	if !settleUntil.IsZero() {
		add("settle until " + settleUntil.In(f.zone()).Format("15:04:05"))
	}
	if n.Neighbours > 0 {
		add(counted(n.Neighbours, "other object") + " changed meanwhile")
	}
	if n.Evidence != "" {
		add("evidence " + p.theme.shortHex(n.Evidence))
	}
	if len(facts) > 0 {
		p.text(p.theme.Dim, 17, strings.Join(facts, " "+p.theme.Marks.Dot+" "))
	}
}

// fact is something that is known about a contract beside its chain.
type fact struct {
	at          time.Time
	kind, words string
}

// factsOf are what is known about loading and the second readings, oldest first.
func factsOf(d core.Detail) []fact {
	var facts []fact
	for _, l := range d.Loads {
		words := loadEventWords(l.Claim)
		if asks := l.Claim == core.LoadAgreed || l.Claim == core.LoadAsked; asks && l.Actor != "" {
			words += "  by " + l.Actor
		}
		facts = append(facts, fact{l.At, "load", words})
	}
	for _, l := range d.Looks {
		facts = append(facts, fact{l.At, "read again", lookWords(l)})
	}
	slices.SortStableFunc(facts, func(a, b fact) int { return a.at.Compare(b.at) })
	return facts
}

func (p *page) fact(f *Frame, x fact) {
	t := p.theme
	at := x.at.In(f.zone()).Format("15:04:05.000")
	p.raw("   " + t.Dim.Render(at+"  ") + t.fit(x.kind, 12) + t.Clean(x.words))
}

// lookWords says what a second reading found.
func lookWords(l core.Look) string {
	switch {
	case l.Found == core.LookedInVain:
		return "the firewall could not be read"
	case l.Found == core.LookedChanged:
		return "the target was changed soon after"
	case l.Neighbours > 0:
		return "as sealed; " + counted(l.Neighbours, "other object") + " changed"
	}
	return "as sealed, nothing else changed"
}

// eventWords names an event.
func eventWords(t core.EventType) string {
	switch t {
	case core.EventCreated:
		return "created"
	case core.EventTransition:
		return "moved to"
	case core.EventConfirmed:
		return "confirmed"
	case core.EventRotated:
		return "rotated"
	case core.EventResolved:
		return "concluded"
	}
	return string(t)
}

func loadEventWords(l core.LoadClaim) string {
	switch l {
	case core.LoadAgreed:
		return "loading agreed to"
	case core.LoadAsked:
		return "asked to load"
	case core.LoadClaimed:
		return "the firewall says loaded"
	case core.LoadRefused:
		return "loading was refused"
	case core.LoadUnknown:
		return "no clear answer about loading"
	}
	return string(l)
}
