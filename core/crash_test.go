package core_test

import (
	"fmt"
	"net/http"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

// crash is one point at which a process ends by SIGKILL, and what must be
// true of the next one.
type crash struct {
	do string // what the process was doing
	// at is a point of mortal's, where the process kills itself, or one of
	// heldPoints: the appliance has got that far and does not go on.
	at    string
	again string // where the process that starts after it ends as well, if it does
	fault sim.Kind
	drift bool // another administrator changes the target before the re-read

	left    core.State // on disk at the end of the process
	sends   int        // requests of this direction that reached the appliance
	done    bool       // the appliance carried the request out
	advance string     // how far the anchor's advance is known to be afterwards
}

// heldPoints are the moments in the life of a request at which the appliance
// can stop it while the process that sent it dies.
var heldPoints = map[string]sim.Point{
	"the whole request has arrived":   sim.BeforeProcessing,
	"the appliance is about to write": sim.BeforeWrite,
	"the appliance has written":       sim.BeforeAnswer,
}

// connectionAccepted is before the first byte of a request could leave.
const connectionAccepted = "the connection was accepted"

// crashPoints lists every commit and send boundary.
func crashPoints() []crash {
	var all []crash
	add := func(do string, rows ...crash) {
		for _, c := range rows {
			c.do = do
			all = append(all, c)
		}
	}
	add("execute",
		crash{at: "plan/before commit", left: core.Prepared},
		crash{at: "plan/after commit", left: core.Prepared, advance: "planned"},
		crash{at: "advance/before", left: core.Prepared, advance: "planned"},
		crash{at: "advance/after", left: core.Prepared, advance: "attributed"},
		crash{at: "acquire/before commit", left: core.Prepared, advance: "attributed"},
		crash{at: "advance/after", again: "settle anchor/before commit", left: core.Prepared, advance: "attributed"},
		crash{at: "advance/after", again: "settle anchor/after commit", left: core.Prepared, advance: "attributed"},
		crash{at: "send/after", again: "recover/before commit", left: core.Executing, sends: 1, done: true},
		crash{at: "send/after", again: "recover/after commit", left: core.Reconciliation, sends: 1, done: true},
	)
	add("execute", underWay(core.Executing, "acquire", "seal", core.Verified, core.Failed)...)
	add("roll back", crash{at: "acquire rollback/before commit", left: core.Verified})
	add("roll back", underWay(core.RollingBack, "acquire rollback", "seal rollback", core.RolledBack, core.RollbackFailed)...)
	add("resume", crash{at: "resume rollback/before commit", left: core.Reconciliation})
	for _, c := range underWay(core.RollingBack, "resume rollback", "seal rollback", core.RolledBack, core.RollbackFailed) {
		if c.drift && c.left == core.RollbackFailed {
			c.left = core.Reconciliation // not having sent proves nothing about the first rollback
		}
		add("resume", c)
	}

	add("authorize", crash{at: "create/before commit"}, crash{at: "create/after commit", left: core.Prepared})
	add("confirm", crash{at: "confirm/before commit", left: core.Prepared}, crash{at: "confirm/after commit", left: core.Prepared})
	add("decline", crash{at: "decline/before commit", left: core.Prepared}, crash{at: "decline/after commit", left: core.Failed})
	add("conclude", crash{at: "resolve/before commit", left: core.Reconciliation}, crash{at: "resolve/after commit", left: core.Verified})
	add("load",
		crash{at: "load/before commit", left: core.Verified},
		crash{at: "load/after commit", left: core.Verified},
		crash{at: "load request/before", left: core.Verified},
		crash{at: "load request/after", left: core.Verified, sends: 1, done: true},
		crash{at: "load/before commit#2", left: core.Verified, sends: 1, done: true},
		crash{at: "load/after commit#2", left: core.Verified, sends: 1, done: true})
	for i, c := range all {
		if c.advance == "" && c.do != "authorize" && c.do != "confirm" && c.do != "decline" && c.at != "plan/before commit" {
			all[i].advance = "acquired"
		}
	}
	return all
}

// underWay are the points from the durable acquisition to the final state.
func underWay(state core.State, acquire, seal string, success, failure core.State) []crash {
	sent := func(at string) crash { return crash{at: at, left: state, sends: 1, done: true} }
	return []crash{
		{at: acquire + "/after commit", left: state},
		{at: "re-read/before", left: state},
		{at: "re-read/after", left: state},
		{at: "send/before", left: state},
		{at: connectionAccepted, left: state},
		sent("the whole request has arrived"),
		sent("the appliance is about to write"),
		sent("the appliance has written"),
		sent("send/after"),
		sent("read-back/before"),
		sent("read-back/after"),
		sent(seal + "/before commit"),
		{at: seal + "/after commit", left: success, sends: 1, done: true},
		{at: "transition/before commit", fault: sim.Status400, left: state, sends: 1},
		{at: "transition/after commit", fault: sim.Status400, left: failure, sends: 1},
		{at: "transition/before commit", fault: sim.CommitThenDrop, left: state, sends: 1, done: true},
		{at: "transition/after commit", fault: sim.CommitThenDrop, left: core.Reconciliation, sends: 1, done: true},
		{at: "transition/before commit", drift: true, left: state},
		{at: "transition/after commit", drift: true, left: failure},
	}
}

func (c crash) String() string {
	name := c.do + "/" + strings.ReplaceAll(c.at, "/", " ")
	if c.fault != "" {
		name += ", " + string(c.fault)
	}
	if c.drift {
		name += ", drift"
	}
	if c.again != "" {
		name += ", again at " + strings.ReplaceAll(c.again, "/", " ")
	}
	return name
}

// after is the state that the next console shows.
func (c crash) after() core.State {
	if c.left.Interrupted() {
		return core.Reconciliation
	}
	return c.left
}

// TestCrashMatrix kills a real process at every commit and send boundary, and
// proves from outside what the next one makes of it: the state is what was
// durable or RECONCILIATION and nothing between, nothing is ever sent again,
// the chain verifies, and whatever is left can be brought to its end.
func TestCrashMatrix(t *testing.T) {
	points := crashPoints()
	var mu sync.Mutex
	outcomes := map[string]int{}
	t.Run("points", func(t *testing.T) {
		for _, c := range points {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				c.play(newRig(t, rigOptions{}))
				mu.Lock()
				defer mu.Unlock()
				outcomes[c.outcome()]++
			})
		}
	})
	var lines []string
	total := 0
	for outcome, n := range outcomes {
		lines, total = append(lines, fmt.Sprintf("%s: %d", outcome, n)), total+n
	}
	sort.Strings(lines)
	t.Logf("crash matrix: %d points x %d outcomes (%s)", total, len(outcomes), strings.Join(lines, "; "))
	if total != len(points) && !t.Failed() {
		t.Errorf("only %d of %d points were played", total, len(points))
	}
}

func (c crash) outcome() string {
	state := strings.ToUpper(string(c.after()))
	if state == "" {
		state = "nothing created"
	}
	if c.sends == 0 {
		return state + ", nothing sent"
	}
	return state + ", sent once"
}

// play kills the process at its point and checks everything.
func (c crash) play(r *rig) {
	r.t.Helper()
	id := c.begin(r)
	r.close()
	before := r.sim.Wire()
	gate := c.kill(r, id)
	if c.again != "" && !r.start(childJob{Do: "start", DieAt: c.again}).wait() {
		r.t.Fatalf("the process that started next did not come to %q", c.again)
	}

	r.mustVerify(c.left)
	r.open()
	c.checkStart(r, id, before)
	gate.Open() // what the appliance was still doing goes on now
	r.must(r.sim.Wait(ctx()))
	if committed := r.sim.Wire().Since(before).Committed; c.done != (committed == 1) && c.do != "load" {
		r.t.Fatalf("the appliance wrote %d times", committed)
	}
	first := r.everything(id)
	r.close()
	r.mustVerify(c.after())
	c.checkRows(r, id)
	r.open()
	if again := r.everything(id); len(r.report.Recovered) != 0 || !reflect.DeepEqual(again, first) {
		r.t.Fatalf("a second start changed something:\n%+v\n%+v", first, again)
	}
	if sent := r.sim.Wire().Since(before).Mutations; sent != c.sends {
		r.t.Fatalf("a start sent something: %d requests", sent)
	}
	c.finish(r, id, before)
}

// begin brings a contract to where the process starts.
func (c crash) begin(r *rig) string {
	r.t.Helper()
	switch c.do {
	case "authorize":
		return "request-key-1"
	case "confirm", "decline":
		return r.prepared(rigAlias, rigValue)
	case "roll back":
		return r.verified(rigAlias, rigValue)
	case "resume":
		id := r.ambiguous(core.Backward, sim.Fault{Kind: sim.DropBeforeRun})
		r.clock.move(past)
		return id
	case "conclude":
		return r.ambiguous(core.Forward, sim.Fault{Kind: sim.CommitThenDrop})
	case "load":
		return r.verifiedEntries()
	}
	return r.confirmed(rigAlias, rigValue)
}

// kill lets a process run into its end. The returned gate holds what the
// appliance still has to do.
func (c crash) kill(r *rig, id string) *sim.Gate {
	r.t.Helper()
	gate := sim.NewGate()
	job := childJob{Do: c.do, Contract: id}
	reached := gate.Arrived()
	if c.drift {
		c.driftBeforeTheReread(r)
	}
	switch point, held := heldPoints[c.at]; {
	case held:
		r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: point, Gate: gate}))
	case c.at == connectionAccepted:
		reached = c.hangTheConnection(r)
	default:
		if c.fault != "" {
			r.sim.Inject(writes(sim.Fault{Kind: c.fault}))
		}
		job.DieAt = c.at
		if !r.start(job).wait() {
			r.t.Fatalf("the process did not come to %q", c.at)
		}
		return gate
	}
	process := r.start(job)
	select {
	case <-reached:
		process.kill()
	case <-process.done:
		process.wait()
		r.t.Fatalf("the process ended before %q", c.at)
	}
	return gate
}

// rereads matches the reading right after the acquisition: the first of a
// forward run, the second where a console looks before it rolls back.
func (c crash) rereads(f sim.Fault) sim.Fault {
	f.Method, f.Path = http.MethodGet, "/firewall/aliases"
	if c.do != "execute" {
		f.Skip = 1
	}
	if c.do == "resume" {
		f.Skip = 2
	}
	return f
}

func (c crash) driftBeforeTheReread(r *rig) {
	r.sim.Inject(c.rereads(sim.Fault{Kind: sim.Call, At: sim.BeforeProcessing, Func: func(a *sim.Admin) {
		a.SetAliasDescription(rigAlias, "somebody else's")
	}}))
}

// hangTheConnection makes the appliance accept the connection of the send and
// nothing more.
func (c crash) hangTheConnection(r *rig) <-chan struct{} {
	reached := make(chan struct{})
	r.sim.Inject(c.rereads(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer, Func: func(*sim.Admin) {
		r.sim.Inject(sim.Fault{Kind: sim.AcceptHang})
		open, end := r.sim.Wire().Connections, time.Now().Add(20*time.Second)
		go func() {
			for r.sim.Wire().Connections == open {
				if time.Now().After(end) {
					return
				}
				time.Sleep(time.Millisecond)
			}
			close(reached)
		}()
	}}))
	return reached
}

// checkStart checks what the next console found and did.
func (c crash) checkStart(r *rig, id string, before sim.Wire) {
	r.t.Helper()
	if r.report.Mode != core.ModeExecutor || len(r.report.Quarantined) != 0 {
		r.t.Fatalf("the start reports %+v", r.report)
	}
	recovered := len(r.report.Recovered) == 1 && r.report.Recovered[0].ContractID == id
	if recovered != c.left.Interrupted() || len(r.report.Recovered) > 1 {
		r.t.Fatalf("left in %q; the start recovered %+v", c.left, r.report.Recovered)
	}
	if sent := r.sim.Wire().Since(before).Mutations; sent != c.sends {
		r.t.Fatalf("%d requests reached the appliance, want %d", sent, c.sends)
	}
	r.mustBeAnchored()
	if c.left == "" {
		return
	}
	if c.do != "authorize" {
		r.mustBe(id, c.after())
	}
	if c.left.Interrupted() {
		note := lastNote(r.t, r, id)
		if note.Failure != core.FailureRestart || note.Knowledge != core.Ambiguous || !r.engine.Header().SettleUntil.After(r.clock.Now()) {
			r.t.Fatalf("the recovery says %+v, settling until %s", note, r.engine.Header().SettleUntil)
		}
	}
}

// checkRows reads the closed store's reservations and advances.
func (c crash) checkRows(r *rig, id string) {
	r.t.Helper()
	var reserved []string
	if c.after().HoldsReservation() {
		reserved = []string{id}
	}
	if got := r.column("SELECT contract_id FROM target_reservations"); !reflect.DeepEqual(got, reserved) {
		r.t.Fatalf("reserved by %v, want %v", got, reserved)
	}
	var advances []string
	if c.advance != "" {
		advances = append(advances, id+" planned")
	}
	if c.advance != "" && c.advance != "planned" {
		advances = append(advances, id+" "+c.advance)
	}
	if got := r.column("SELECT contract_id || ' ' || step FROM cs_advances ORDER BY sequence"); !reflect.DeepEqual(got, advances) {
		r.t.Fatalf("advances %v, want %v", got, advances)
	}
}
