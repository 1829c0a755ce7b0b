package core_test

import (
	"errors"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// What is sent beside a request to load could be loaded with it, unseen: as
// long as one is out, nothing else leaves this console.
func TestNothingIsSentBesideALoading(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.confirmedChange(theEntries)
	r.execute(id)
	toRollBack := r.verified(waitingAlias, "Blocked networks, checked")
	other := r.confirmed(rigOther, rigOtherValue)
	gate := sim.NewGate()
	r.sim.Inject(asks(sim.Fault{Kind: sim.Block, At: sim.BeforeProcessing, Gate: gate}))
	r.must(r.askToLoad(id))
	<-gate.Arrived()
	sends := r.sends()
	if err := r.engine.Execute(ctx(), other); !errors.Is(err, core.ErrBusy) {
		t.Errorf("executing: %v", err)
	}
	if err := r.engine.Rollback(ctx(), toRollBack, rigOperator, pass()); !errors.Is(err, core.ErrBusy) {
		t.Errorf("rolling back: %v", err)
	}
	if r.sends() != sends {
		t.Errorf("%d requests were sent beside it", r.sends()-sends)
	}
	gate.Open()
	r.wait(id)
	r.execute(other)
	r.mustBe(other, core.Verified)
}

// A claim is not a proof: what the firewall claims to have loaded can be asked
// for again, by a person.
func TestClaimedLoadingCanBeAskedForAgain(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.confirmedChange(theEntries)
	r.execute(id)
	r.sim.Inject(asks(sim.Fault{Kind: sim.AppliedNotLoaded}))
	for range 2 {
		r.run(id, func() error { return r.askToLoad(id) })
		detail, err := r.engine.Detail(ctx(), id)
		r.must(err)
		for _, a := range detail.Actions {
			if a.Name == core.ActLoad && a.Reason != "" {
				t.Fatal(a.Reason)
			}
		}
	}
	r.mustKnow(id, core.LoadAsked, core.LoadClaimed, core.LoadAsked, core.LoadClaimed)
}
