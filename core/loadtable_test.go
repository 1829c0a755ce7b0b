package core_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

// loadRow is one thing that can go wrong when the appliance is asked to load,
// and what is recorded about it.
type loadRow struct {
	name      string
	fault     sim.Fault
	condition func(*sim.Conditions) // of the appliance; nil: none
	claim     core.LoadClaim
	requests  int
	inForce   bool // what is stored is really loaded afterwards
}

func rowsOfLoading() []loadRow {
	var rows []loadRow
	add := func(claim core.LoadClaim, requests int, inForce bool, kinds ...sim.Kind) {
		for _, k := range kinds {
			f := sim.Fault{Kind: k}
			switch k {
			case sim.Trickle:
				f.Delay = 500 * time.Millisecond
			case sim.GatewayTimeout, sim.Latency:
				f.Delay = 10 * time.Millisecond
			}
			rows = append(rows, loadRow{name: string(k), fault: f, claim: claim, requests: requests, inForce: inForce})
		}
	}
	// Nothing left, or the API said so itself before it started anything.
	add(core.LoadRefused, 0, false, connectionKinds...)
	add(core.LoadRefused, 1, false, sim.Status401, sim.Status403, sim.ReadOnlyMode, sim.APIDisabled, sim.Unavailable, sim.Status503,
		sim.QueueFull)
	add(core.LoadUnknown, 1, false, sim.ResetBefore, sim.ResetMiddle, sim.ResetAfter, sim.DropBeforeRun, sim.Redirect301,
		sim.Redirect302, sim.Redirect307, sim.Redirect308, sim.Status400, sim.Status404, sim.Status409, sim.Status422,
		sim.Status429, sim.Proxy, sim.Status500, sim.Status502, sim.Fatal, sim.FailedDependency)
	add(core.LoadUnknown, 1, true, sim.CommitThenDrop, sim.CommitThenHang, sim.CommitThenReset, sim.CutHeader, sim.CutBody,
		sim.Trickle, sim.Status500Commit, sim.Status502Commit, sim.WrongType, sim.GatewayTimeout, sim.LateWrite)
	add(core.LoadAsked, 1, true, sim.WrongShape)
	add(core.LoadClaimed, 1, true, sim.Latency)
	add(core.LoadClaimed, 1, false, sim.AppliedNotLoaded)
	return append(rows,
		loadRow{name: "the rules do not load", condition: func(c *sim.Conditions) { c.RulesDoNotLoad = true }, claim: core.LoadAsked, requests: 1},
		loadRow{name: "nothing", claim: core.LoadClaimed, requests: 1, inForce: true})
}

// play asks once, and once more as a person does who has looked.
func (row loadRow) play(t *testing.T, dir core.Direction) string {
	var atCommit func(string)
	r := newRig(t, rigOptions{deadlines: shortDeadlines, faultPoint: func(point string) {
		if atCommit != nil {
			atCommit(point)
		}
	}})
	id := r.confirmedChange(theEntries)
	r.execute(id)
	if dir == core.Backward {
		r.loads(id)
		r.rollback(id)
	}
	if r.inForce() {
		t.Fatal("there is nothing to load")
	}
	found, before := r.load(id), r.sim.Wire()
	atCommit = row.arm(r)
	p := r.run(id, func() error { return r.askToLoad(id) })
	r.must(r.sim.Wait(ctx()))
	atCommit = nil
	if p.Err != nil || !strings.Contains(p.Sentence, loadWords(row.claim)) {
		t.Fatalf("it says %q: %v", p.Sentence, p.Err)
	}
	r.must(r.sim.ClearFaults())

	inForce := r.inForce()
	if sent := r.sim.Wire().Since(before).Mutations; sent != row.requests || inForce != row.inForce {
		t.Fatalf("%d requests, in force: %v; want %d, %v", sent, inForce, row.requests, row.inForce)
	}
	r.mustBeRecorded(id, dir, core.LoadAsked, row.claim)
	r.restart() // nothing asks again by itself
	r.clock.move(time.Hour)
	r.makeWell()
	_, err := r.engine.Refresh(ctx())
	r.must(err)
	if sent := r.sim.Wire().Since(before).Mutations; sent != row.requests {
		t.Fatalf("%d requests after a restart, before it %d", sent, row.requests)
	}
	r.mustBeRecorded(id, dir, core.LoadAsked, row.claim)
	if now := r.load(id); !reflect.DeepEqual(now, found) {
		t.Fatalf("loading changed the contract:\n%+v\n%+v", found, now)
	}
	r.run(id, func() error { return r.askToLoad(id) })
	r.mustBeRecorded(id, dir, core.LoadAsked, row.claim, core.LoadAsked, core.LoadClaimed)
	if sent := r.sim.Wire().Since(before).Mutations; sent != row.requests+1 || !r.inForce() {
		t.Fatalf("asked again: %d requests, in force: %v", sent, r.inForce())
	}
	return fmt.Sprintf("| %s | %s | asked, %s | %d | %s | asks nothing |", dir, row.name, row.claim, row.requests,
		map[bool]string{true: "yes", false: "no"}[inForce])
}

// loadWords: what the appliance claims is told as its claim.
func loadWords(c core.LoadClaim) string {
	switch c {
	case core.LoadClaimed:
		return "the firewall says that it is loaded"
	case core.LoadRefused:
		return "not loaded: the firewall refused"
	}
	return "whether it is loaded is not known"
}

// arm makes the fault strike the request to load. A fault of the connection
// waits until the question is on disk: every reading was made by then.
func (row loadRow) arm(r *rig) (atCommit func(string)) {
	if row.condition != nil {
		r.sim.Admin().SetConditions(row.condition)
	}
	switch {
	case slices.Contains(connectionKinds, row.fault.Kind):
		armed := false
		return func(point string) {
			if point == "load/after commit" && !armed {
				armed = true
				r.sim.Inject(row.fault)
			}
		}
	case row.fault.Kind == sim.GatewayTimeout:
		r.sim.Admin().SetConditions(func(c *sim.Conditions) { c.ReloadTime = 300 * time.Millisecond })
	}
	if row.fault.Kind != "" {
		r.sim.Inject(matching(row.fault, http.MethodPost, "/firewall/apply"))
	}
	return nil
}

// makeWell takes back what outlives a fault.
func (r *rig) makeWell() {
	r.sim.Admin().SetReadOnly(false)
	r.sim.Admin().SetAPIEnabled(true)
	r.sim.Admin().SetConditions(func(c *sim.Conditions) { *c = sim.Conditions{} })
}

// inForce: the alias is loaded as it is stored.
func (r *rig) inForce() bool {
	stored, _ := r.sim.Alias(rigAlias)
	loaded, _ := r.sim.LoadedAlias(rigAlias)
	return reflect.DeepEqual(stored, loaded)
}

// mustBeRecorded compares what is recorded about loading in one direction,
// and what the screens show of it.
func (r *rig) mustBeRecorded(id string, dir core.Direction, want ...core.LoadClaim) {
	r.t.Helper()
	records, err := r.store.Loads(ctx(), id)
	r.must(err)
	var got []core.LoadClaim
	for _, l := range records {
		if l.Direction == dir {
			got = append(got, l.Claim)
		}
		if l.Actor != rigOperator || l.Evidence == "" || l.Subsystem != core.Firewall || l.At.IsZero() {
			r.t.Fatalf("recorded without saying who, what or when: %+v", l)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Fatalf("recorded %v, want %v", got, want)
	}
	d, err := r.engine.Detail(ctx(), id)
	r.must(err)
	if last := want[len(want)-1]; d.Row.Load != last || !reflect.DeepEqual(d.Loads, records) {
		r.t.Fatalf("it shows %q of %+v, want %q", d.Row.Load, d.Loads, last)
	}
}
