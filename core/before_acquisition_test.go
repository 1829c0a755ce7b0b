package core_test

import (
	"net/http"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

// Whatever goes wrong before the durable acquisition refuses: the contract
// stays as it was, in both directions, the wire stays silent, and the same
// contract can be sent once the fault is gone.
func TestFaultsBeforeTheAcquisition(t *testing.T) {
	kinds := []sim.Kind{sim.Refuse, sim.BadTLS, sim.WrongCertificate, sim.AcceptHang, sim.Status401, sim.Status403, sim.Status500,
		sim.Status502, sim.Proxy, sim.WrongType, sim.CutBody, sim.CutHeader, sim.Fatal, sim.Unavailable}
	cases := 0
	for _, kind := range kinds {
		for _, dir := range []core.Direction{core.Forward, core.Backward} {
			cases++
			t.Run(string(dir)+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rigOptions{deadlines: shortDeadlines})
				id, stays, ends := r.confirmed(rigAlias, rigValue), core.Prepared, core.Verified
				if dir == core.Backward {
					r.execute(id)
					stays, ends = core.Verified, core.RolledBack
				}
				r.restart() // no connection is left open
				version, before := r.load(id).StateVersion, r.sim.Wire()
				fault := matching(sim.Fault{Kind: kind, Times: -1}, http.MethodGet, "/")
				r.sim.Inject(fault)
				p := r.sendDirectly(id, dir)
				r.must(r.sim.ClearFaults())
				if p.Err == nil {
					t.Fatal("nothing was refused")
				}
				if c := r.load(id); c.State != stays || c.StateVersion != version {
					t.Fatalf("the contract is %s, version %d", c.State, c.StateVersion)
				}
				if sent := r.sim.Wire().Since(before); sent.Mutations != 0 || requestBytes(t, sent, 0) != "0" {
					t.Fatalf("%d requests reached the appliance", sent.Mutations)
				}
				r.restart() // a console that met a 401 does not try its key again
				r.mustBe(id, stays)
				r.sendDirectly(id, dir)
				r.mustBe(id, ends)
			})
		}
	}
	t.Logf("before the acquisition: %d faults x 2 directions = %d cases", len(kinds), cases)
}
