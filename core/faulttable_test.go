package core_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

var update = flag.Bool("update", false, "rewrite generated files")

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

// faultRow is one line of the fault table: what happens when, and what must
// be true afterwards, forward and for the rollback.
type faultRow struct {
	name  string
	when  moment
	fault sim.Fault          // armed at the moment; zero Kind: none
	admin func(a *sim.Admin) // somebody else at work at the moment
	state core.State         // forward
	sends int                // requests that reached the appliance, forward
}

func rowsOfTheFaultTable() []faultRow {
	var rows []faultRow
	add := func(r faultRow) { rows = append(rows, r) }
	kind := func(state core.State, sends int, when moment, kinds ...sim.Kind) {
		for _, k := range kinds {
			f := sim.Fault{Kind: k}
			switch k {
			case sim.WriteLock:
				f.Delay = 10 * time.Millisecond
			case sim.Trickle:
				f.Delay = 500 * time.Millisecond
			case sim.GatewayTimeout, sim.LateWrite:
				f.Delay, f.Late = time.Millisecond, 300*time.Millisecond
			}
			add(faultRow{name: string(k), when: when, fault: f, state: state, sends: sends})
		}
	}
	kind(core.Failed, 0, beforeSend, sim.Refuse, sim.BadTLS, sim.WrongCertificate, sim.AcceptHang)
	kind(core.Reconciliation, 1, atSend, sim.ResetBefore, sim.ResetMiddle, sim.ResetAfter, sim.DropBeforeRun,
		sim.Redirect301, sim.Redirect302, sim.Redirect307, sim.Redirect308, sim.Status409, sim.Status422, sim.Status429, sim.Proxy,
		sim.Status500, sim.Status502, sim.Status503, sim.Fatal, sim.APIDisabled, sim.Unavailable, sim.WriteLock,
		sim.CommitThenDrop, sim.CommitThenHang, sim.CommitThenReset, sim.CutHeader, sim.CutBody, sim.Trickle,
		sim.Status500Commit, sim.Status502Commit, sim.Status503Commit, sim.WrongShape, sim.WrongType,
		sim.QueueFull, sim.FailedDependency, sim.GatewayTimeout, sim.LateWrite)
	kind(core.Failed, 1, atSend, sim.Status400, sim.Status401, sim.Status403, sim.Status404,
		sim.ReadOnlyMode, sim.NoEffect, sim.LostUpdate)

	descr := func(a *sim.Admin) { a.SetAliasDescription(rigAlias, "somebody else's") }
	addresses := func(a *sim.Admin) { a.SetAliasAddresses(rigAlias, []string{"192.0.2.99"}, []string{"x"}) }
	rename := func(a *sim.Admin) { a.RenameAlias(rigAlias, "renamed_hosts") }
	remove := func(a *sim.Admin) { a.DeleteAlias(rigAlias) }
	double := func(a *sim.Admin) { a.DuplicateAlias(rigAlias) }
	shift := func(a *sim.Admin) { a.InsertAlias(0, "inserted_first", "192.0.2.7") }
	for _, when := range []moment{beforeAcquisition, beforeReread} {
		for name, f := range map[string]func(*sim.Admin){"another admin edits the description": descr,
			"another admin edits the addresses": addresses, "another admin renames": rename, "another admin deletes": remove,
			"another admin doubles": double, "another admin re-orders": shift} {
			add(faultRow{name: name, when: when, admin: f, state: core.Failed, sends: 0})
		}
	}
	for _, r := range []faultRow{
		{name: "another admin edits the description", admin: descr, state: core.Verified, sends: 1},
		{name: "another admin edits the addresses", admin: addresses, state: core.Reconciliation, sends: 1},
		{name: "another admin renames", admin: rename, state: core.Failed, sends: 1},
		{name: "another admin deletes", admin: remove, state: core.Failed, sends: 1},
		{name: "another admin re-orders", admin: shift, state: core.Failed, sends: 1},
		{name: "another admin doubles", admin: double, state: core.Reconciliation, sends: 1},
	} {
		r.when = beforeSend
		add(r)
	}
	for _, r := range []faultRow{
		{name: "another admin edits the description", admin: descr, state: core.Reconciliation, sends: 1},
		{name: "another admin edits the addresses", admin: addresses, state: core.Reconciliation, sends: 1},
		{name: "another admin renames", admin: rename, state: core.Reconciliation, sends: 1},
		{name: "another admin deletes", admin: remove, state: core.Reconciliation, sends: 1},
		{name: "another admin doubles", admin: double, state: core.Reconciliation, sends: 1},
		{name: "another admin re-orders", admin: shift, state: core.Reconciliation, sends: 1},
	} {
		r.when = beforeReadBack
		add(r)
	}
	kind(core.Reconciliation, 1, atReadBack, sim.Status500, sim.Proxy, sim.CutBody, sim.WrongShape, sim.WrongType)
	kind(core.Failed, 0, beforeReread, sim.Status500, sim.Proxy, sim.CutBody, sim.WrongShape, sim.WrongType, sim.Status401)
	add(faultRow{name: "nothing", when: atSend, state: core.Verified, sends: 1})
	return rows
}

var shortDeadlines = pfsense.Deadlines{Connect: time.Second, TLS: 500 * time.Millisecond, Header: time.Second, Whole: 1500 * time.Millisecond, Read: 3 * time.Second}

// TestFaultTable proves every row of the fault table from outside: by what
// the simulator received, by what is on disk, and by what a restart does.
func TestFaultTable(t *testing.T) {
	rows := rowsOfTheFaultTable()
	var mu sync.Mutex
	var lines []string
	t.Run("rows", func(t *testing.T) {
		for _, row := range rows {
			for _, dir := range []core.Direction{core.Forward, core.Backward} {
				t.Run(fmt.Sprintf("%s/%s/%s", dir, row.when, row.name), func(t *testing.T) {
					t.Parallel()
					got := playFault(t, row, dir)
					mu.Lock()
					defer mu.Unlock()
					lines = append(lines, got)
				})
			}
		}
	})
	t.Logf("fault table: %d faults and moments x 2 directions = %d cases", len(rows), len(lines))
	if !t.Failed() {
		checkFaultDoc(t, lines)
	}
}

// playFault carries one contract into one fault and checks everything.
func playFault(t *testing.T, row faultRow, dir core.Direction) string {
	r := newRig(t, rigOptions{deadlines: shortDeadlines})
	var id string
	if dir == core.Forward {
		id = r.confirmed(rigAlias, rigValue)
	} else {
		id = r.verified(rigAlias, rigValue)
	}
	version, before := r.load(id).StateVersion, r.sim.Wire()
	row.arm(r)
	p := r.sendDirectly(id, dir)
	r.must(r.sim.ClearFaults())

	want := row.expected(dir)
	c := r.load(id)
	if c.State != want {
		t.Fatalf("state %s, want %s (%v)", c.State, want, p.Err)
	}
	sent := r.sim.Wire().Since(before)
	if sent.Mutations != row.sends {
		t.Fatalf("%d requests reached the appliance, want %d", sent.Mutations, row.sends)
	}
	r.checkAftermath(id, dir, version)
	state := c.State
	r.restart()
	r.mustBe(id, state)
	if again := r.sim.Wire().Since(before).Mutations; again != row.sends {
		t.Fatalf("a restart sent something: %d requests", again)
	}
	failure := lastNote(t, r, id).Failure
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %s | state_transition | %s | stays %s, sends 0 |", dir, row.when, row.name,
		strings.ToUpper(string(state)), row.sends, requestBytes(t, sent, row.sends), reservationWords(state),
		orDash(string(failure)), strings.ToUpper(string(state)))
}

func (row faultRow) expected(dir core.Direction) core.State {
	if dir == core.Forward {
		return row.state
	}
	switch row.state {
	case core.Verified:
		return core.RolledBack
	case core.Failed:
		return core.RollbackFailed
	}
	return row.state
}

// arm makes the fault strike at its moment.
func (row faultRow) arm(r *rig) {
	strike := func(a *sim.Admin) {
		if row.admin != nil {
			row.admin(a)
		}
		if row.fault.Kind != "" {
			r.sim.Inject(row.fault)
		}
	}
	lists := sim.Fault{Kind: sim.Call, Method: http.MethodGet, Path: "/firewall/aliases", Func: strike}
	switch row.when {
	case beforeAcquisition:
		strike(r.sim.Admin())
	case beforeReread:
		lists.At = sim.BeforeProcessing
		if row.admin == nil {
			r.sim.Inject(matching(row.fault, http.MethodGet, "/firewall/aliases"))
			return
		}
		r.sim.Inject(lists)
	case beforeSend:
		lists.At = sim.AfterAnswer
		r.sim.Inject(lists)
	case atSend:
		if row.fault.Kind != "" {
			r.sim.Inject(writes(row.fault))
		}
	case beforeReadBack:
		r.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer, Func: strike}))
	case atReadBack:
		f := matching(row.fault, http.MethodGet, "/firewall/aliases")
		f.Skip = 1
		r.sim.Inject(f)
	}
}

func matching(f sim.Fault, method, path string) sim.Fault {
	f.Method, f.Path = method, path
	return f
}

// sendDirectly drives the executor itself, so that the first reading of the
// list is the one after the acquisition in both directions.
func (r *rig) sendDirectly(id string, dir core.Direction) core.Progress {
	r.t.Helper()
	var last core.Progress
	watch := func(p core.Progress) { last = p }
	x := r.executor()
	ctx := context.Background()
	if dir == core.Forward {
		opened, err := core.OpenContract(ctx, r.load(id), x.Capabilities, x.Sealer)
		r.must(err)
		_, _ = x.Execute(ctx, id, opened.Request, watch)
		return last
	}
	a, authority := r.approval(id, core.ApproveRollback)
	defer authority.Close()
	_, _ = x.Rollback(ctx, id, a, authority, watch)
	return last
}

// checkAftermath checks reservation, chain and containment after a run.
func (r *rig) checkAftermath(id string, dir core.Direction, before int64) {
	r.t.Helper()
	ctx := context.Background()
	c := r.load(id)
	events, err := r.store.Timeline(ctx, id)
	r.must(err)
	if got := events[len(events)-1]; got.Current != c.State || got.Version != c.StateVersion || c.StateVersion != before+2 {
		r.t.Fatalf("the chain ends in %s, version %d; the record is %s, version %d, before it was %d", got.Current, got.Version, c.State, c.StateVersion, before)
	}
	note := lastNote(r.t, r, id)
	if note.Direction != dir {
		r.t.Fatalf("the note says direction %q", note.Direction)
	}
	blocking, err := r.store.FindByIdempotencyKey(ctx, c.IdempotencyKey)
	r.must(err)
	if blocks := blocking != nil; blocks != core.BlocksFreshAttempt(c.State) {
		r.t.Fatalf("a contract in %s blocks: %v", c.State, blocks)
	}
	if c.State == core.Reconciliation {
		r.mustBeSettling()
	}
}

// mustBeSettling: while an ambiguous send may still be writing, nothing new
// is sent to this appliance.
func (r *rig) mustBeSettling() {
	r.t.Helper()
	d, err := r.engine.Prepare(context.Background(), "FIREWALL_ALIAS_DESCRIPTION",
		core.Object{"alias_name": "web_ports", "description": "another change"}, "")
	if err != nil {
		return // the fault is still on: nothing can be prepared, so nothing can be sent
	}
	if _, err := r.engine.Authorize(context.Background(), d, rigOperator, pass()); !errors.Is(err, core.ErrSettling) {
		r.t.Fatalf("a new change was let through while settling: %v", err)
	}
}

func lastNote(t testing.TB, r *rig, id string) core.Note {
	t.Helper()
	events, err := r.store.Timeline(context.Background(), id)
	r.must(err)
	n := events[len(events)-1].Note
	if n == nil {
		t.Fatal("the last event has no note")
	}
	return *n
}

// requestBytes says whether any byte of a change reached the appliance: none
// may where nothing was sent.
func requestBytes(t *testing.T, sent sim.Wire, sends int) string {
	t.Helper()
	bytes := 0
	for _, request := range sent.Log {
		if request.Method != http.MethodGet {
			bytes += request.Bytes
		}
	}
	if (bytes > 0) != (sends > 0) {
		t.Fatalf("%d bytes of changes reached the appliance, with %d sends", bytes, sends)
	}
	if bytes > 0 {
		return "some"
	}
	return "0"
}

func reservationWords(s core.State) string {
	if s.HoldsReservation() {
		return "kept"
	}
	return "free"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

const faultDoc = "../docs/faults.md"

// checkFaultDoc compares the published table with the one that was run.
func checkFaultDoc(t *testing.T, lines []string) {
	t.Helper()
	sort.Strings(lines)
	text := "# The fault table, as it was run\n\nWritten by `go test ./core -run FaultTable -update`. Every line was carried out against the simulator over HTTPS:\n" +
		"the state is read back from disk, *sends* are counted by the simulator, and after each line the console was\n" +
		"restarted and changed nothing and sent nothing.\n\n" +
		"| direction | when | what happens | state | sends | bytes | reservation | last event | failure class | a restart |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n" +
		strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(faultDoc, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	published, err := os.ReadFile(faultDoc)
	if err != nil || string(published) != text {
		t.Errorf("%s is not the table that was run; run with -update", faultDoc)
	}
}
