package pfsense

import (
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

// faultCase is a trouble of the field and the state it must end in, whatever
// the capability (seed 003, fault decisions; design section 4, rule 3). Here
// the exchange is judged on every version; core's TestCapabilityFaults carries
// every fault through the engine.
type faultCase struct {
	fault sim.Fault
	want  core.State
}

func faultCases() []faultCase {
	return []faultCase{
		{sim.Fault{Kind: sim.Refuse}, core.Failed},
		{sim.Fault{Kind: sim.BadTLS}, core.Failed},
		{sim.Fault{Kind: sim.WrongCertificate}, core.Failed},

		{sim.Fault{Kind: sim.Status400}, core.Failed},
		{sim.Fault{Kind: sim.Status401}, core.Failed},
		{sim.Fault{Kind: sim.Status403}, core.Failed},
		{sim.Fault{Kind: sim.ReadOnlyMode}, core.Failed},
		{sim.Fault{Kind: sim.NoEffect}, core.Failed},

		{sim.Fault{Kind: sim.Status400, ResponseID: "NOT_AN_ID_OF_THE_PACKAGE"}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status403, ResponseID: "MODEL_MANY_MINIMUM_REACHED"}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status400, Status: 406, ResponseID: "BINARY_CONTENT_HANDLER_RESOURCE_NOT_SUPPORTED"}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status422}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status429}, core.Reconciliation},
		{sim.Fault{Kind: sim.Proxy}, core.Reconciliation},
		{sim.Fault{Kind: sim.Redirect301}, core.Reconciliation},
		{sim.Fault{Kind: sim.Redirect307}, core.Reconciliation},
		{sim.Fault{Kind: sim.ResetBefore}, core.Reconciliation},
		{sim.Fault{Kind: sim.ResetAfter}, core.Reconciliation},
		{sim.Fault{Kind: sim.DropBeforeRun}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status500}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status502}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status503}, core.Reconciliation},
		{sim.Fault{Kind: sim.Fatal}, core.Reconciliation},
		{sim.Fault{Kind: sim.WriteLock, Delay: time.Millisecond}, core.Reconciliation},

		{sim.Fault{Kind: sim.CommitThenDrop}, core.Reconciliation},
		{sim.Fault{Kind: sim.CommitThenReset}, core.Reconciliation},
		{sim.Fault{Kind: sim.CutHeader}, core.Reconciliation},
		{sim.Fault{Kind: sim.CutBody}, core.Reconciliation},
		{sim.Fault{Kind: sim.WrongShape}, core.Reconciliation},
		{sim.Fault{Kind: sim.WrongType}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status500Commit}, core.Reconciliation},
		{sim.Fault{Kind: sim.Status502Commit}, core.Reconciliation},
		{sim.Fault{Kind: sim.QueueFull}, core.Reconciliation},
		{sim.Fault{Kind: sim.FailedDependency}, core.Reconciliation},
	}
}

// checkFaults sends the change into every trouble. Before each, the target is
// put back by the one who is not this console.
func checkFaults(b *bench) {
	_, req, o := b.prepare()
	body := b.forward(req, o)
	back, err := b.c.Rollback(o.Projection, o)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range faultCases() {
		if f.fault.Kind != sim.Refuse && f.fault.Kind != sim.BadTLS && f.fault.Kind != sim.WrongCertificate {
			f.fault.Method = b.spec.Method
		}
		wire := b.server.Wire()
		remove := b.server.Inject(f.fault)
		state, x := b.send(core.Forward, body, req, o)
		remove()
		if state != f.want {
			b.t.Errorf("%s %s ended in %s, not %s (%d %s)", f.fault.Kind, f.fault.ResponseID, state, f.want, x.Status, x.ResponseID)
		}
		if n := b.server.Wire().Since(wire).Mutations; n > 1 {
			b.t.Errorf("%s: %d requests were sent", f.fault.Kind, n)
		}
		b.server.Admin().SetReadOnly(false)
		if b.fingerprint(b.observe()) != b.fingerprint(o) {
			if _, x := b.send(core.Backward, back, req, o); x.Status != 200 {
				b.t.Fatalf("%s: could not be put back: %d", f.fault.Kind, x.Status)
			}
		}
	}
}
