package core_test

import (
	"slices"
	"strings"
	"testing"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// oneFlag are the capabilities whose change is a single yes or no, with
// nothing linked to it: a part of it is nothing at all.
var oneFlag = []string{"FIREWALL_RULE_ENABLED", "ROUTING_STATIC_ROUTE_ENABLED", "NTP_TIME_SERVER_PREFER"}

// TestPartlyChangedTargets: whatever is changed, a 2xx after which only a part
// of it is stored proves nothing (design section 4, rule 3). No part of a
// change satisfies a capability's predicate, and the reading afterwards
// supports no conclusion that would let a fresh attempt through.
func TestPartlyChangedTargets(t *testing.T) {
	known := changes()
	known["FIREWALL_RULE_DESCRIPTION"] = aChange{fields: core.Object{"tracker": int64(1700000002), "description": "Half of this will be stored"}}
	for _, c := range pfsense.Capabilities() {
		spec := c.Spec()
		for _, dir := range []core.Direction{core.Forward, core.Backward} {
			t.Run(string(dir)+"/"+spec.EndpointSymbol, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
				d, err := r.engine.Prepare(ctx(), spec.EndpointSymbol, known[spec.EndpointSymbol].fields, "")
				r.must(err)
				id := r.confirmedChange(change{spec.EndpointSymbol, d.Observation.Label, known[spec.EndpointSymbol].fields})
				run := r.execute
				if dir == core.Backward {
					r.execute(id)
					r.mustBe(id, core.Verified)
					run = r.rollback
				}
				sends := r.sends()
				r.sim.Inject(matching(sim.Fault{Kind: sim.Partial}, spec.Method, strings.TrimPrefix(spec.WritePath, "/api/v2")))
				run(id)
				if r.sends() != sends+1 {
					t.Fatalf("%d sends", r.sends()-sends)
				}
				want := faultRow{state: core.Reconciliation, failure: core.FailurePartial}
				if slices.Contains(oneFlag, spec.EndpointSymbol) {
					want = faultRow{state: core.Failed, failure: core.FailureNoEffect}
				}
				r.mustBe(id, want.expected(dir))
				if got := lastNote(t, r, id).Failure; got != want.failure {
					t.Fatalf("the failure class is %q, want %q", got, want.failure)
				}
				r.mustBeReserved(id)
				if want.state == core.Reconciliation {
					r.mustStayOpen(id, dir)
				}
			})
		}
	}
}

// mustStayOpen: neither state is there, so neither can be concluded, also
// when nothing can be written late any more. A rollback that is half done may
// be given up; the target then stays reserved.
func (r *rig) mustStayOpen(id string, dir core.Direction) {
	r.t.Helper()
	for _, settled := range []bool{false, true} {
		seen := r.observe(id)
		if seen.NowIntended || seen.NowSnapshot {
			r.t.Fatalf("half a change is taken for a whole one: %+v", seen)
		}
		for _, offer := range seen.Offers {
			gives := dir == core.Backward && offer.Outcome == core.ConfirmedRollbackNotApplied
			if offer.Reason == "" && !(gives && settled) {
				r.t.Fatalf("%s is offered, settled: %v", offer.Outcome, settled)
			}
			if err := r.reconcile(id, offer.Outcome, seen); (err == nil) != (offer.Reason == "") {
				r.t.Fatalf("%s: %v", offer.Outcome, err)
			}
		}
		r.clock.move(past)
	}
}
