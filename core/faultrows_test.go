package core_test

import (
	"slices"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

// moment is when a fault or another administrator strikes.
type moment string

const (
	beforeAcquisition moment = "before the acquisition"
	beforeReread      moment = "between acquisition and re-read"
	beforeSend        moment = "between re-read and send"
	atSend            moment = "at the send"
	beforeReadBack    moment = "between send and read-back"
	atReadBack        moment = "at the read-back"
)

// change is a request that is carried into a fault.
type change struct {
	symbol string
	label  string // the target's, as an operator types it
	fields core.Object
}

// theDescription changes one field, theEntries two that go together.
var (
	theDescription = change{"FIREWALL_ALIAS_DESCRIPTION", rigAlias, core.Object{"alias_name": rigAlias, "description": rigValue}}
	theEntries     = change{"FIREWALL_ALIAS_ENTRIES", rigAlias, core.Object{"alias_name": rigAlias,
		"add": []any{"192.0.2.77 added"}, "remove": []any{"198.51.100.20"}}}
)

// faultRow is one line of the fault table: what happens when, and what must
// be true afterwards, forward and for the rollback.
type faultRow struct {
	name    string
	when    moment
	change  change
	fault   sim.Fault          // armed at the moment; zero Kind: none
	admin   func(a *sim.Admin) // somebody else at work at the moment
	state   core.State         // forward; PREPARED: refused, and can be sent once the fault is gone
	sends   int                // requests that reached the appliance, forward
	failure core.FailureClass  // "" where the published table alone says it
	others  int                // other objects that were seen to change
}

// connectionKinds strike whoever opens a connection.
var connectionKinds = []sim.Kind{sim.Refuse, sim.BadTLS, sim.WrongCertificate, sim.AcceptHang}

// readingKinds are answers to a reading that say nothing, or nothing that can
// be believed. They last: a reading that finds its idle connection closed is
// repeated on a fresh one, which is no send.
var readingKinds = []sim.Kind{sim.ResetBefore, sim.ResetAfter, sim.DropBeforeRun, sim.CommitThenDrop, sim.CommitThenHang,
	sim.CommitThenReset, sim.CutHeader, sim.CutBody, sim.Trickle, sim.Redirect301, sim.Redirect302, sim.Redirect307,
	sim.Redirect308, sim.Status400, sim.Status401, sim.Status403, sim.Status404, sim.Status409, sim.Status422, sim.Status429,
	sim.Proxy, sim.Status500, sim.Status502, sim.Status503, sim.Fatal, sim.APIDisabled, sim.Unavailable,
	sim.WrongType}

// doubtful leave it open what became of the request.
var doubtful = []sim.Kind{sim.ResetBefore, sim.ResetMiddle, sim.ResetAfter, sim.DropBeforeRun,
	sim.Redirect301, sim.Redirect302, sim.Redirect307, sim.Redirect308, sim.Status409, sim.Status422, sim.Status429, sim.Proxy,
	sim.Status500, sim.Status502, sim.Status503, sim.Fatal, sim.APIDisabled, sim.Unavailable, sim.WriteLock,
	sim.CommitThenDrop, sim.CommitThenHang, sim.CommitThenReset, sim.CutHeader, sim.CutBody, sim.Trickle,
	sim.Status500Commit, sim.Status502Commit, sim.Status503Commit, sim.WrongShape, sim.WrongType,
	sim.QueueFull, sim.FailedDependency, sim.GatewayTimeout, sim.LateWrite}

func rowsOfTheFaultTable() []faultRow {
	rows := slices.Concat(
		faultsOf(core.Prepared, 0, beforeAcquisition, connectionKinds...),
		faultsOf(core.Prepared, 0, beforeAcquisition, readingKinds...),
		faultsOf(core.Failed, 0, beforeReread, connectionKinds...),
		faultsOf(core.Failed, 0, beforeReread, readingKinds...),
		faultsOf(core.Failed, 0, beforeReread, sim.WrongShape),
		faultsOf(core.Failed, 0, beforeSend, connectionKinds...),
		faultsOf(core.Reconciliation, 1, atSend, doubtful...),
		faultsOf(core.Failed, 1, atSend, sim.Status400, sim.Status401, sim.Status403, sim.Status404,
			sim.ReadOnlyMode, sim.NoEffect, sim.LostUpdate),
		faultsOf(core.Verified, 1, atSend, sim.AppliedNotLoaded, sim.Latency),
		faultsOf(core.Reconciliation, 1, beforeReadBack, connectionKinds...),
		faultsOf(core.Reconciliation, 1, atReadBack, readingKinds...),
		faultsOf(core.Reconciliation, 1, atReadBack, sim.WrongShape),
		rowsOfAPartlyChangedTarget(), rowsOfAnotherAdmin())
	rows = append(rows, faultRow{name: "nothing", when: atSend, state: core.Verified, sends: 1})
	for i := range rows {
		if rows[i].change.symbol == "" {
			rows[i].change = theDescription
		}
	}
	return rows
}

func faultsOf(state core.State, sends int, when moment, kinds ...sim.Kind) []faultRow {
	var rows []faultRow
	for _, k := range kinds {
		f := sim.Fault{Kind: k}
		switch k {
		case sim.WriteLock, sim.Latency:
			f.Delay = 10 * time.Millisecond
		case sim.Trickle:
			f.Delay = 500 * time.Millisecond
		case sim.GatewayTimeout, sim.LateWrite:
			f.Delay, f.Late = time.Millisecond, 300*time.Millisecond
		}
		rows = append(rows, faultRow{name: string(k), when: when, fault: f, state: state, sends: sends})
	}
	return rows
}

// rowsOfAPartlyChangedTarget: a 2xx, and the read-back shows neither the old
// nor the new state. Of one changed field half is stored; of several, all but
// the last.
func rowsOfAPartlyChangedTarget() []faultRow {
	row := faultRow{when: atSend, fault: sim.Fault{Kind: sim.Partial}, state: core.Reconciliation, sends: 1, failure: core.FailurePartial}
	half, most := row, row
	half.name = "partial (half of a description)"
	most.name, most.change = "partial (entries without their details)", theEntries
	return []faultRow{half, most}
}

const neighbour = "another admin edits another object"

// rowsOfAnotherAdmin: somebody else at work at each moment.
func rowsOfAnotherAdmin() []faultRow {
	descr := func(a *sim.Admin) { a.SetAliasDescription(rigAlias, "somebody else's") }
	addresses := func(a *sim.Admin) { a.SetAliasAddresses(rigAlias, []string{"192.0.2.99"}, []string{"x"}) }
	rename := func(a *sim.Admin) { a.RenameAlias(rigAlias, "renamed_hosts") }
	remove := func(a *sim.Admin) { a.DeleteAlias(rigAlias) }
	double := func(a *sim.Admin) { a.DuplicateAlias(rigAlias) }
	shift := func(a *sim.Admin) { a.InsertAlias(0, "inserted_first", "192.0.2.7") }
	move := func(a *sim.Admin) { a.MoveAlias(rigAlias, 0) }
	readOnly := func(a *sim.Admin) { a.SetReadOnly(true) }
	disable := func(a *sim.Admin) { a.SetAPIEnabled(false) }

	type outcome struct {
		state core.State
		sends int
	}
	unsent, refused := outcome{core.Failed, 0}, outcome{core.Failed, 1}
	doubt, success, stays := outcome{core.Reconciliation, 1}, outcome{core.Verified, 1}, outcome{core.Prepared, 0}
	moments := [4]moment{beforeAcquisition, beforeReread, beforeSend, beforeReadBack}
	var rows []faultRow
	for _, who := range []struct {
		name  string
		does  func(*sim.Admin)
		after [4]outcome // at each of the moments
	}{
		{"another admin edits the description", descr, [4]outcome{unsent, unsent, success, doubt}},
		{"another admin edits the addresses", addresses, [4]outcome{unsent, unsent, doubt, doubt}},
		{"another admin renames", rename, [4]outcome{unsent, unsent, refused, doubt}},
		{"another admin deletes", remove, [4]outcome{unsent, unsent, refused, doubt}},
		{"another admin doubles", double, [4]outcome{unsent, unsent, doubt, doubt}},
		{"another admin re-orders (inserts before it)", shift, [4]outcome{unsent, unsent, refused, doubt}},
		{"another admin re-orders (moves it)", move, [4]outcome{unsent, unsent, refused, doubt}},
		{neighbour, func(a *sim.Admin) { a.SetAliasDescription(rigOther, "somebody else's") }, [4]outcome{success, success, success, success}},
		{"read-only mode is switched on", readOnly, [4]outcome{stays, refused, refused, success}},
		{"the API is switched off", disable, [4]outcome{stays, unsent, doubt, doubt}},
	} {
		for i, when := range moments {
			row := faultRow{name: who.name, when: when, admin: who.does, state: who.after[i].state, sends: who.after[i].sends}
			if who.name == neighbour && (when == beforeSend || when == beforeReadBack) {
				row.others = 1 // after the re-read it is a change while this was sent
			}
			rows = append(rows, row)
		}
	}
	return rows
}
