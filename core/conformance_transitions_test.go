package core_test

import (
	"net/http"
	"testing"
	"time"

	"countersign/canon/canontest"
	"countersign/core"
	"countersign/pfsense/sim"
)

func TestConformanceTransitions(t *testing.T) {
	var file struct {
		States []struct {
			State       core.State
			Terminal    bool
			Blocks      bool   `json:"blocks_fresh_attempt"`
			Reserves    bool   `json:"holds_target_reservation"`
			Interrupted bool   `json:"interrupted_on_restart"`
			InFlight    bool   `json:"counts_as_in_flight"`
			Cooldown    bool   `json:"starts_target_cooldown"`
			Verified    string `json:"verified_fingerprint"`
		}
		Matrix []struct {
			From, To core.State
			Rule     string
		}
		Faults []struct {
			Boundary  core.Boundary
			Knowledge core.Knowledge
			State     core.State
			Manual    bool `json:"manual_reconciliation"`
			Retry     bool `json:"automatic_retry"`
		} `json:"fault_classification"`
		Outcomes map[core.Outcome]core.State `json:"reconciliation_outcome_target"`
	}
	canontest.Load(t, "transitions.json", &file)
	rules := map[string]core.FingerprintRule{"forbidden": core.FingerprintForbidden,
		"optional": core.FingerprintOptional, "required": core.FingerprintRequired}
	for _, s := range file.States {
		got := []any{s.State.Terminal(), core.BlocksFreshAttempt(s.State), s.State.HoldsReservation(),
			s.State.Interrupted(), s.State.InFlight(), s.State.StartsCooldown(), s.State.VerifiedFingerprint()}
		want := []any{s.Terminal, s.Blocks, s.Reserves, s.Interrupted, s.InFlight, s.Cooldown, rules[s.Verified]}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: fact %d is %v, want %v", s.State, i, got[i], want[i])
			}
		}
	}
	if want := core.States(); len(file.States) != len(want) || len(file.Matrix) != len(want)*len(want) {
		t.Errorf("%d states with %d pairs, want %d with every pair", len(file.States), len(file.Matrix), len(want))
	}
	if len(file.Faults) != 4*4 {
		t.Errorf("%d faults, want every boundary with every knowledge", len(file.Faults))
	}
	edges := map[string]core.EdgeRule{"illegal": core.EdgeIllegal, "legal": core.EdgeLegal, "manual_only": core.EdgeManual}
	for _, m := range file.Matrix {
		if got := core.Edge(m.From, m.To); got != edges[m.Rule] {
			t.Errorf("%s to %s: %v, want %s", m.From, m.To, got, m.Rule)
		}
	}
	for _, f := range file.Faults {
		state, manual := core.Resolve(f.Boundary, f.Knowledge)
		if state != f.State || manual != f.Manual || f.Retry {
			t.Errorf("%s, %s: %s %v", f.Boundary, f.Knowledge, state, manual)
		}
	}
	for o, want := range file.Outcomes {
		if got, ok := o.Target(); !ok || got != want {
			t.Errorf("%s leads to %s, want %s", o, got, want)
		}
	}
	canontest.Ran(t, "transitions.json", map[string]int{"states": len(file.States), "matrix": len(file.Matrix),
		"fault_classification": len(file.Faults), "reconciliation_outcome_target": len(file.Outcomes)})
}

// seen is what stands for one of the cases' send observations: exchanges, or
// what happens at a read-back after an accepted send.
type seen struct {
	exchanges []core.Exchange
	readBacks []faultRow
	// goesOn: an accepted answer decides nothing, the read-back does.
	goesOn bool
	// unproven are more exchanges that the reference would judge like the row
	// and ours leaves open: it wants proof that nothing was written (design
	// section 4, rule 3).
	unproven []core.Exchange
}

// listedRefusal is a refusal that the appliance gives only before it writes.
func listedRefusal() core.Refusals { return core.Refusals{http.StatusBadRequest: {"LISTED"}} }

func sendObservations(oldText string) map[string]seen {
	answer := func(statuses ...int) (all []core.Exchange) {
		for _, status := range statuses {
			all = append(all, core.Exchange{Sent: core.FullySent, Status: status, Enveloped: true, ResponseID: "OTHER"})
		}
		return all
	}
	without := func(sent core.SendMark, failures ...core.FailureClass) (all []core.Exchange) {
		for _, f := range failures {
			all = append(all, core.Exchange{Sent: sent, Failure: f})
		}
		return all
	}
	atReading := func(kind sim.Kind) faultRow {
		return faultRow{when: atReadBack, change: theDescription, fault: sim.Fault{Kind: kind}}
	}
	meanwhile := func(edit func(a *sim.Admin)) faultRow {
		return faultRow{when: beforeReadBack, change: theDescription, admin: edit}
	}
	return map[string]seen{
		"refused by the allow-list before any network use": {exchanges: without(core.NotSent, core.FailurePolicy)},
		"connection never established":                     {exchanges: without(core.NotSent, core.FailureConnect, core.FailureTLS)},
		"timeout":                                          {exchanges: without(core.FullySent, core.FailureTimeout)},
		"any other exception": {exchanges: without(core.FullySent,
			core.FailureReset, core.FailureTruncated, core.FailureMalformed)},
		"status 200..299": {exchanges: answer(200, 201, 299), goesOn: true,
			unproven: []core.Exchange{{Sent: core.FullySent, Status: 200}}},
		"status 400..499": {
			exchanges: []core.Exchange{{Sent: core.FullySent, Status: 400, Enveloped: true, ResponseID: "LISTED"}},
			unproven:  append(answer(400, 401, 404, 409, 499), core.Exchange{Sent: core.FullySent, Status: 400, ResponseID: "LISTED"})},
		"status below 200, 300..399 or 500 and above": {exchanges: answer(0, 100, 199, 300, 301, 399, 500, 503, 599, 999)},
		"2xx but read-back shows the change is not there": {readBacks: []faultRow{
			meanwhile(func(a *sim.Admin) { a.SetAliasDescription(rigAlias, oldText) })}},
		"2xx but read-back failed, or identity or locator changed": {readBacks: []faultRow{
			atReading(sim.Status500),
			meanwhile(func(a *sim.Admin) { a.DeleteAlias(rigAlias) }),
			meanwhile(func(a *sim.Admin) { a.RenameAlias(rigAlias, "another") }),
			meanwhile(func(a *sim.Admin) { a.InsertAlias(0, "newcomer", "192.0.2.9") })}},
	}
}

// What the reference concludes from each observation of a send, ours does
// too, or it leaves the outcome open where it has no proof.
func TestConformanceSendObservations(t *testing.T) {
	var file struct {
		Observations []struct {
			Observation string
			Boundary    core.Boundary
			Knowledge   core.Knowledge
		} `json:"send_observations"`
	}
	canontest.Load(t, "transitions.json", &file)
	old := newRig(t, rigOptions{}).description(rigAlias)
	known := sendObservations(old)
	for _, row := range file.Observations {
		t.Run(row.Observation, func(t *testing.T) {
			s, ok := known[row.Observation]
			if !ok {
				t.Fatal("no test knows this observation")
			}
			for _, x := range s.exchanges {
				if got := core.JudgeSend(core.Forward, x, listedRefusal()); got.Boundary != row.Boundary || got.Knowledge != row.Knowledge {
					t.Errorf("%+v: %+v, want %s, %s", x, got, row.Boundary, row.Knowledge)
				}
			}
			for _, x := range s.unproven {
				if got := core.JudgeSend(core.Forward, x, listedRefusal()); got.Boundary != row.Boundary || got.Knowledge != core.Ambiguous {
					t.Errorf("%+v: %+v, want it left open", x, got)
				}
			}
			for _, fault := range s.readBacks {
				if got := noteAfter(t, fault); got.Boundary != row.Boundary || got.Knowledge != row.Knowledge {
					t.Errorf("%s: %+v, want %s, %s", fault.when, got, row.Boundary, row.Knowledge)
				}
			}
			if s.goesOn {
				if got := noteAfter(t, faultRow{change: theDescription}); got.Knowledge != core.VerifiedSuccess {
					t.Errorf("with nothing in the way the read-back concludes %+v", got)
				}
			}
		})
		delete(known, row.Observation)
	}
	for missing := range known {
		t.Errorf("the file has no observation %q", missing)
	}
	canontest.Ran(t, "transitions.json", map[string]int{"send_observations": len(file.Observations)})
}

// noteAfter sends one change into a fault and returns what was concluded.
func noteAfter(t *testing.T, fault faultRow) core.Note {
	t.Helper()
	r := newRig(t, rigOptions{deadlines: shortDeadlines})
	id := r.confirmedChange(fault.change)
	fault.arm(r)
	r.sendDirectly(id, core.Forward)
	if r.sends() != 1 {
		t.Fatalf("%d requests were sent, want one", r.sends())
	}
	return lastNote(t, r, id)
}

// A console without a policy of its own has the limits of the reference; the
// store's tests hold the rules that use them.
func TestConformanceDefaultLimits(t *testing.T) {
	var file struct {
		Rate struct {
			Limits struct {
				InFlight int           `json:"max_global_in_flight"`
				Prepared int           `json:"max_outstanding_prepared_per_target"`
				Cooldown time.Duration `json:"target_cooldown_seconds"`
				Lockout  int           `json:"reconciliation_lockout_threshold"`
			} `json:"limits_in_ADR_015"`
		}
	}
	canontest.Load(t, "transitions.json", &file)
	l := file.Rate.Limits
	want := core.Limits{MaxInFlight: l.InFlight, MaxPreparedPerTarget: l.Prepared,
		TargetCooldown: l.Cooldown * time.Second, ReconciliationThreshold: l.Lockout}
	if got := core.DefaultLimits(); got != want {
		t.Errorf("the limits are %+v, want %+v", got, want)
	}
	canontest.Ran(t, "transitions.json", map[string]int{"rate.limits_in_ADR_015": 4})
}
