package core_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"pgregory.net/rapid"

	"countersign/pfsense/sim"
)

// effect is what a fault at the send means for the firewall and the operator.
type effect int

const (
	refuses        effect = iota // a proven refusal
	refusesKey                   // likewise, and the console stops using its key
	turnsReadOnly                // likewise, and the API stays read-only
	changesNothing               // accepted, and the read-back shows the old state
	lostBefore                   // nothing is done and nobody can know
	lostAfter                    // it is done and nobody can know
	writesLate                   // nobody can know, and it is done minutes later
)

// sendFaults are those that take no time; the fault table runs all the others
// (those that hang or trickle) once each.
func sendFaults() map[effect][]sim.Kind {
	return map[effect][]sim.Kind{
		refuses:        {sim.Status400, sim.Status403, sim.Status404},
		refusesKey:     {sim.Status401},
		turnsReadOnly:  {sim.ReadOnlyMode},
		changesNothing: {sim.NoEffect, sim.LostUpdate},
		lostBefore: {sim.ResetBefore, sim.ResetMiddle, sim.ResetAfter, sim.DropBeforeRun, sim.Redirect302, sim.Redirect307,
			sim.Status409, sim.Status429, sim.Proxy, sim.Status500, sim.Status502, sim.Status503, sim.Fatal},
		lostAfter: {sim.CommitThenDrop, sim.CommitThenReset, sim.CutHeader, sim.CutBody, sim.Status500Commit, sim.Status502Commit,
			sim.Status503Commit, sim.WrongShape, sim.WrongType, sim.QueueFull, sim.FailedDependency},
		writesLate: {sim.LateWrite, sim.GatewayTimeout},
	}
}

func effectOf(k sim.Kind) effect {
	for e, kinds := range sendFaults() {
		if among(kinds, k) {
			return e
		}
	}
	panic("no such fault: " + string(k))
}

var (
	connectionFaults = []sim.Kind{sim.Refuse, sim.BadTLS, sim.WrongCertificate}
	readFaults       = []sim.Kind{sim.Status500, sim.Proxy, sim.CutBody, sim.WrongShape, sim.WrongType}
)

// trouble is what goes wrong in one run: a fault, or another administrator,
// at one moment.
type trouble struct {
	when moment
	kind sim.Kind
	edit *edit
	late time.Duration // until a late write lands
}

func (tr trouble) String() string {
	switch {
	case tr.edit != nil:
		return fmt.Sprintf("%s, %s", tr.edit.what, tr.when)
	case tr.kind != "":
		return fmt.Sprintf("%s, %s", tr.kind, tr.when)
	}
	return "nothing"
}

// strike does to the model what the trouble does to the firewall.
func (tr trouble) strike(when moment, w *world) {
	if tr.when == when && tr.edit != nil {
		tr.edit.model(&w.live)
	}
}

// drawTrouble draws nothing more often than any trouble.
func (m *machine) drawTrouble(t *rapid.T) trouble {
	switch rapid.SampledFrom([]string{"none", "none", "none", "none", "lost", "lost", "lost", "late", "refused", "nothing done",
		"lasting", "connection", "reading", "edit", "edit"}).Draw(t, "trouble") {
	case "lost":
		return trouble{when: atSend, kind: m.drawKind(t, rapid.SampledFrom([]effect{lostBefore, lostAfter}).Draw(t, "effect"))}
	case "late":
		return trouble{when: atSend, kind: m.drawKind(t, writesLate), late: time.Duration(rapid.IntRange(20, 170).Draw(t, "late")) * time.Second}
	case "refused":
		return trouble{when: atSend, kind: m.drawKind(t, refuses)}
	case "nothing done":
		return trouble{when: atSend, kind: m.drawKind(t, changesNothing)}
	case "lasting":
		return trouble{when: atSend, kind: m.drawKind(t, rapid.SampledFrom([]effect{refusesKey, turnsReadOnly}).Draw(t, "effect"))}
	case "connection":
		return trouble{when: beforeSend, kind: rapid.SampledFrom(connectionFaults).Draw(t, "connection")}
	case "reading":
		return trouble{when: rapid.SampledFrom([]moment{beforeReread, atReadBack}).Draw(t, "moment"),
			kind: rapid.SampledFrom(readFaults).Draw(t, "reading")}
	case "edit":
		e := m.drawEdit(t)
		return trouble{when: rapid.SampledFrom([]moment{beforeReread, beforeSend, beforeReadBack}).Draw(t, "moment"), edit: &e}
	}
	return trouble{}
}

func (m *machine) drawKind(t *rapid.T, e effect) sim.Kind {
	return rapid.SampledFrom(sendFaults()[e]).Draw(t, "fault")
}

// arm makes a trouble strike the next run, which reads the list skip times
// before it acquires anything.
func (m *machine) arm(tr trouble, skip int) {
	lists := sim.Fault{Kind: sim.Call, Method: http.MethodGet, Path: "/firewall/aliases", Skip: skip}
	switch {
	case tr.edit != nil && tr.when == beforeReadBack:
		m.r.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer, Func: tr.edit.admin}))
	case tr.edit != nil:
		lists.Func, lists.At = tr.edit.admin, sim.BeforeProcessing
		if tr.when == beforeSend {
			lists.At = sim.AfterAnswer
		}
		m.r.sim.Inject(lists)
	case tr.when == beforeSend:
		lists.At, lists.Func = sim.AfterAnswer, func(*sim.Admin) { m.r.sim.Inject(sim.Fault{Kind: tr.kind}) }
		m.r.sim.Inject(lists)
	case tr.when == beforeReread:
		m.r.sim.Inject(sim.Fault{Kind: tr.kind, Method: http.MethodGet, Path: "/firewall/aliases", Skip: skip})
	case tr.when == atReadBack:
		m.r.sim.Inject(sim.Fault{Kind: tr.kind, Method: http.MethodGet, Path: "/firewall/aliases", Skip: skip + 1})
	case tr.late > 0:
		// The request stands at its write until the model says that it is
		// time; a wait in the appliance's own time could be overtaken.
		m.gate = sim.NewGate()
		m.r.sim.Inject(writes(sim.Fault{Kind: tr.kind}))
		m.r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: m.gate}))
	case tr.kind != "":
		m.r.sim.Inject(writes(sim.Fault{Kind: tr.kind}))
	}
}

// edit is something that another administrator does, to the model and to the
// simulator.
type edit struct {
	what  string
	model func(*firewall)
	admin func(*sim.Admin)
}

func (f *firewall) change(name string, change func(*object)) {
	for i := range f.objects {
		if f.objects[i].name == name {
			change(&f.objects[i])
			return
		}
	}
}

func (f *firewall) drop(at int) {
	f.objects = append(f.objects[:at:at], f.objects[at+1:]...)
}

// drawEdit draws one action of another administrator. Descriptions come from
// the same few values that contracts use, so that edits meet them.
func (m *machine) drawEdit(t *rapid.T) edit {
	name := m.drawTarget(t)
	switch rapid.SampledFrom([]string{"describe", "describe", "describe", "readdress", "shift", "rename", "double"}).Draw(t, "edit") {
	case "readdress":
		entry := rapid.SampledFrom(m.entries[name]).Draw(t, "entry")
		return edit{"another admin changes the entries of " + name,
			func(f *firewall) { f.change(name, func(o *object) { o.addresses, o.details = entry, "edited" }) },
			func(a *sim.Admin) { a.SetAliasAddresses(name, []string{entry}, []string{"edited"}) }}
	case "shift":
		return edit{"another admin inserts an alias before the others",
			func(f *firewall) {
				f.objects = append([]object{{name: insertedName, addresses: "192.0.2.7"}}, f.objects...)
			},
			func(a *sim.Admin) { a.InsertAlias(0, insertedName, "192.0.2.7") }}
	case "rename":
		return edit{"another admin renames " + name,
			func(f *firewall) { f.change(name, func(o *object) { o.name = name + renamed }) },
			func(a *sim.Admin) { a.RenameAlias(name, name+renamed) }}
	case "double":
		return edit{"another admin doubles " + name,
			func(f *firewall) {
				for _, o := range f.objects {
					if o.name == name {
						f.objects = append(f.objects, o)
						return
					}
				}
			},
			func(a *sim.Admin) { a.DuplicateAlias(name) }}
	}
	text := m.drawText(t, name)
	return edit{"another admin describes " + name,
		func(f *firewall) { f.change(name, func(o *object) { o.descr = text }) },
		func(a *sim.Admin) { a.SetAliasDescription(name, text) }}
}

const (
	insertedName = "inserted_first"
	renamed      = "_old"
)

// tidy undoes inserted, renamed and doubled aliases and the read-only mode,
// so that a sequence does not end in a firewall that nothing can be done with.
func (m *machine) tidy() edit {
	return edit{"another admin tidies up",
		func(f *firewall) {
			f.readOnly = false
			for at := len(f.objects) - 1; at >= 0; at-- {
				if f.surplus(at) {
					f.drop(at)
				}
			}
			for i := range f.objects {
				f.objects[i].name = strings.TrimSuffix(f.objects[i].name, renamed)
			}
		},
		func(a *sim.Admin) {
			a.Edit("web GUI", func(c *sim.Config) {
				before := m.w.live.clone()
				for at := len(before.objects) - 1; at >= 0; at-- {
					if before.surplus(at) {
						c.Delete(fmt.Sprintf("aliases/alias/%d", at))
					}
				}
				for i := range c.Len("aliases/alias") {
					path := fmt.Sprintf("aliases/alias/%d/name", i)
					c.Set(path, strings.TrimSuffix(c.Text(path), renamed))
				}
			})
			a.SetReadOnly(false)
		}}
}

// surplus says whether an object was inserted, or is a second one of its kind.
func (f *firewall) surplus(at int) bool {
	name := strings.TrimSuffix(f.objects[at].name, renamed)
	for _, o := range f.objects[:at] {
		if strings.TrimSuffix(o.name, renamed) == name {
			return true
		}
	}
	return name == insertedName
}
