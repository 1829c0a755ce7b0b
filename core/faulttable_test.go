package core_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

var update = flag.Bool("update", false, "rewrite generated files")

var shortDeadlines = pfsense.Deadlines{Connect: time.Second, TLS: 500 * time.Millisecond, Header: time.Second, Whole: 1500 * time.Millisecond, Read: 1500 * time.Millisecond}

// TestFaultTable proves every row of the fault table from outside: by what
// the simulator received, by what is on disk, and by what a restart does.
func TestFaultTable(t *testing.T) {
	rows, loads := rowsOfTheFaultTable(), rowsOfLoading()
	mustNameEveryFault(t, rows)
	var mu sync.Mutex
	var lines, loading []string
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
	t.Run("loading", func(t *testing.T) {
		for _, row := range loads {
			for _, dir := range []core.Direction{core.Forward, core.Backward} {
				t.Run(string(dir)+"/"+row.name, func(t *testing.T) {
					t.Parallel()
					got := row.play(t, dir)
					mu.Lock()
					defer mu.Unlock()
					loading = append(loading, got)
				})
			}
		}
	})
	t.Logf("fault table: %d faults and moments x 2 directions = %d cases", len(rows), len(lines))
	t.Logf("fault table: %d faults of loading x 2 directions = %d cases", len(loads), len(loading))
	switch {
	case t.Failed():
	case len(lines) != 2*len(rows) || len(loading) != 2*len(loads):
		t.Logf("not compared with %s: only a part of the table was run", faultDoc)
	default:
		checkFaultDoc(t, lines, loading)
	}
}

// mustNameEveryFault: the simulator knows no fault that has no row.
func mustNameEveryFault(t *testing.T, rows []faultRow) {
	t.Helper()
	for _, k := range sim.Kinds() {
		if !slices.ContainsFunc(rows, func(r faultRow) bool { return r.fault.Kind == k }) {
			t.Errorf("%s has no row", k)
		}
	}
}

// playFault carries one contract into one fault and checks everything.
func playFault(t *testing.T, row faultRow, dir core.Direction) string {
	var atCommit func(string)
	r := newRig(t, rigOptions{deadlines: shortDeadlines, faultPoint: func(point string) {
		if atCommit != nil {
			atCommit(point)
		}
	}})
	id := r.confirmedChange(row.change)
	if dir == core.Backward {
		r.execute(id)
		r.mustBe(id, core.Verified)
	}
	if row.refused() {
		r.restart() // no connection is left open
	}
	events, before := r.timeline(id), r.sim.Wire()
	atCommit = row.arm(r)
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
	mustHaveItsOwnConnection(t, sent, before.Connections)
	line := faultLine{dir: dir, row: row, state: c.State, bytes: requestBytes(t, sent, row.sends), last: "none", failure: "-"}
	if row.refused() {
		r.checkRefused(id, p, events)
	} else {
		r.checkAftermath(id, dir, events[len(events)-1].Version)
		line.read(r, id)
		if n := lastNote(t, r, id).Neighbours; n != row.others && row.others > 0 || (p.Warning != "") != (n > 0) {
			t.Fatalf("%d other objects changed, recorded are %d, the warning is %q", row.others, n, p.Warning)
		}
	}
	line.reserved = r.mustBeReserved(id)
	r.restart() // a console that met a 401 does not try its key again
	r.mustBe(id, line.state)
	if again := r.sim.Wire().Since(before).Mutations; again != row.sends {
		t.Fatalf("a restart sent something: %d requests", again)
	}
	if row.refused() {
		row.sendAfterAll(r, id, dir)
	}
	if row.failure != "" && line.failure != string(row.failure) {
		t.Fatalf("the failure class is %q, want %q", line.failure, row.failure)
	}
	return line.String()
}

// refused: before the durable acquisition whatever goes wrong refuses, and
// the contract stays as it was.
func (row faultRow) refused() bool { return row.state == core.Prepared }

func (row faultRow) expected(dir core.Direction) core.State {
	if dir == core.Forward {
		return row.state
	}
	switch row.state {
	case core.Prepared:
		return core.Verified
	case core.Verified:
		return core.RolledBack
	case core.Failed:
		return core.RollbackFailed
	}
	return row.state
}

// arm makes the fault strike at its moment. What it returns is to be called
// at every commit of the store.
func (row faultRow) arm(r *rig) (atCommit func(point string)) {
	kind, connection := row.fault.Kind, slices.Contains(connectionKinds, row.fault.Kind)
	lasting := matching(row.fault, http.MethodGet, "/firewall/aliases")
	lasting.Times = -1
	strike := func(a *sim.Admin) {
		if row.admin != nil {
			row.admin(a)
		}
		if connection {
			r.reader.Close() // an open connection would not meet the fault
			r.sim.Inject(lasting)
		}
	}
	lists := sim.Fault{Kind: sim.Call, Method: http.MethodGet, Path: "/firewall/aliases", Func: strike}
	switch row.when {
	case beforeAcquisition:
		if kind != "" && !connection {
			r.sim.Inject(matching(lasting, http.MethodGet, "/"))
		}
		strike(r.sim.Admin())
	case beforeReread:
		switch {
		case connection:
			return func(point string) {
				if strings.HasPrefix(point, "acquire") && strings.HasSuffix(point, "/after commit") {
					strike(r.sim.Admin())
				}
			}
		case kind != "":
			r.sim.Inject(lasting)
		default:
			lists.At = sim.BeforeProcessing
			r.sim.Inject(lists)
		}
	case beforeSend:
		lists.At = sim.AfterAnswer
		r.sim.Inject(lists)
	case atSend:
		if kind != "" {
			r.sim.Inject(writes(row.fault))
		}
	case beforeReadBack:
		r.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer, Func: strike}))
	case atReadBack:
		lasting.Skip = 1
		r.sim.Inject(lasting)
	}
	return nil
}

func matching(f sim.Fault, method, path string) sim.Fault {
	f.Method, f.Path = method, path
	return f
}

// confirmedChange makes a confirmed contract of any kind.
func (r *rig) confirmedChange(c change) string {
	r.t.Helper()
	id := r.preparedChange(c.symbol, c.fields)
	r.must(r.engine.Confirm(ctx(), id, c.label, rigOperator, pass()))
	return id
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

func (r *rig) timeline(id string) []core.AuditEvent {
	r.t.Helper()
	events, err := r.store.Timeline(ctx(), id)
	r.must(err)
	return events
}

// checkRefused: nothing was written, and it says that nothing was sent.
func (r *rig) checkRefused(id string, p core.Progress, before []core.AuditEvent) {
	r.t.Helper()
	if p.Err == nil || p.Sentence != "nothing was sent" {
		r.t.Fatalf("it says %q: %v", p.Sentence, p.Err)
	}
	if now := r.timeline(id); !reflect.DeepEqual(now, before) {
		r.t.Fatalf("the chain was %+v, and is %+v", before, now)
	}
}

// sendAfterAll sends what was refused, once the fault is gone.
func (row faultRow) sendAfterAll(r *rig, id string, dir core.Direction) {
	r.t.Helper()
	r.makeWell()
	r.sendDirectly(id, dir)
	ends := faultRow{state: core.Verified}
	r.mustBe(id, ends.expected(dir))
}

// checkAftermath checks the chain, the key and containment after a run.
func (r *rig) checkAftermath(id string, dir core.Direction, before int64) {
	r.t.Helper()
	ctx := context.Background()
	c := r.load(id)
	events := r.timeline(id)
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
	events := r.timeline(id)
	n := events[len(events)-1].Note
	if n == nil {
		t.Fatal("the last event has no note")
	}
	return *n
}

// requestBytes says whether any byte of a change reached the appliance: none
// may where nothing was sent. What arrived on a connection is what its
// readings are long, and all the rest belongs to a change, a request that was
// cut short included.
func requestBytes(t *testing.T, sent sim.Wire, sends int) string {
	t.Helper()
	bytes := int64(0)
	for _, n := range sent.Spoken {
		bytes += n
	}
	for _, request := range sent.Log {
		if request.Method == http.MethodGet {
			bytes -= int64(request.Bytes)
		}
	}
	if bytes < 0 || (bytes > 0) != (sends > 0) {
		t.Fatalf("%d bytes of changes reached the appliance, with %d sends", bytes, sends)
	}
	if bytes > 0 {
		return "some"
	}
	return "0"
}

// mustHaveItsOwnConnection: a change goes over a connection that was opened
// for it and carries nothing else.
func mustHaveItsOwnConnection(t *testing.T, sent sim.Wire, before int) {
	t.Helper()
	carried := map[int]int{}
	for _, request := range sent.Log {
		carried[request.Connection]++
	}
	for _, request := range sent.Log {
		if n := request.Connection; request.Method != http.MethodGet && (n <= before || carried[n] != 1) {
			t.Fatalf("a change went over connection %d, which carried %d requests; %d were open before", n, carried[n], before)
		}
	}
}

// mustBeReserved reads the file: exactly a contract whose state holds its
// target has a reservation.
func (r *rig) mustBeReserved(id string) string {
	r.t.Helper()
	state, reserved := r.load(id).State, r.column("SELECT contract_id FROM target_reservations")
	if slices.Contains(reserved, id) != state.HoldsReservation() || len(reserved) > 1 {
		r.t.Fatalf("a contract in %s; reserved by %v", state, reserved)
	}
	if len(reserved) > 0 {
		return "kept"
	}
	return "free"
}
