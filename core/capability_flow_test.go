package core_test

import (
	"errors"
	"slices"
	"testing"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// aChange is a request that the practice appliance can serve.
type aChange struct {
	fields core.Object
	absent []string // profiles without the endpoint
}

// changes has one request for every capability of the build.
func changes() map[string]aChange {
	return map[string]aChange{
		"FIREWALL_ALIAS_DESCRIPTION": {fields: core.Object{"alias_name": "trusted_hosts", "description": "Zürich, on call"}},
		"FIREWALL_ALIAS_ENTRIES": {fields: core.Object{"alias_name": "blocklist", "add": []any{"192.0.2.66 blocked by jo"},
			"remove": []any{"203.0.113.9"}}},
		"FIREWALL_RULE_ENABLED":     {fields: core.Object{"tracker": int64(1700000002), "enabled": false}},
		"FIREWALL_RULE_DESCRIPTION": {fields: core.Object{"tracker": int64(1700000005), "description": "DNS for guests"}},
		"NAT_PORT_FORWARD_ENABLED": {fields: core.Object{"interface": "wan", "protocol": "tcp", "destination": "wan:ip",
			"destination_port": "443", "descr": "Web server", "enabled": false}},
		"DNS_RESOLVER_HOST_OVERRIDE_ADDRESS": {fields: core.Object{"host": "files", "domain": "example.net",
			"addresses": []any{"198.51.100.12", "2001:db8::12"}}},
		"ROUTING_STATIC_ROUTE_ENABLED": {fields: core.Object{"network": "10.40.0.0/16", "enabled": true}},
		"NTP_TIME_SERVER_PREFER":       {fields: core.Object{"timeserver": "1.pool.example.net", "prefer": true}},
		"NTP_SETTINGS_OBSERVABILITY_TOGGLES": {fields: core.Object{"logpeer": true, "logsys": true, "clockstats": false,
			"loopstats": true, "peerstats": false, "statsgraph": true}},
		"LOG_DISPLAY_PREFERENCES": {fields: core.Object{"format": "rfc5424", "reverseorder": true, "nentries": int64(200),
			"filterdescriptions": int64(2), "rawfilter": true}},
		"LOG_RETENTION_SETTINGS": {fields: core.Object{"logfilesize": int64(1000000), "rotatecount": int64(9), "logcompressiontype": "zstd"}},
		"SYSTEM_TIMEZONE":        {fields: core.Object{"timezone": "Europe/Berlin"}, absent: []string{sim.Profile243}},
	}
}

// practice is the demo's appliance.
func practice(t *testing.T, profile string) *sim.Server {
	t.Helper()
	p, err := sim.NewPractice(sim.Options{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p.Server
}

// Every capability goes the whole way over HTTPS on every version: a second
// identical attempt is blocked while the first is, loading is a fact of its
// own, and rollback restores the fingerprint.
func TestCapabilityFlow(t *testing.T) {
	known, cases := changes(), 0
	for _, profile := range sim.Profiles() {
		for _, c := range pfsense.Capabilities() {
			spec := c.Spec()
			change, ok := known[spec.EndpointSymbol]
			if !ok {
				t.Fatalf("%s has no request in this test", spec.EndpointSymbol)
			}
			cases++
			t.Run(profile+"/"+spec.EndpointSymbol, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, rigOptions{simServer: practice(t, profile)})
				if slices.Contains(change.absent, profile) {
					if _, err := r.engine.Prepare(ctx(), spec.EndpointSymbol, change.fields, ""); err == nil {
						t.Fatal("prepared on a version without the endpoint")
					}
					return
				}
				r.wholeWay(spec, change.fields)
			})
		}
	}
	t.Logf("capability flow: %d capabilities x %d profiles = %d", len(known), len(sim.Profiles()), cases)
}

func (r *rig) wholeWay(spec core.Spec, fields core.Object) {
	r.t.Helper()
	prepare := func() (core.Draft, error) { return r.engine.Prepare(ctx(), spec.EndpointSymbol, fields, "") }
	d, err := prepare()
	r.must(err)
	id, err := r.engine.Authorize(ctx(), d, rigOperator, pass())
	r.must(err)
	second, err := prepare()
	r.must(err)
	if _, err := r.engine.Authorize(ctx(), second, rigOperator, pass()); !errors.Is(err, core.ErrBlocked) {
		r.t.Fatalf("a second identical attempt: %v", err)
	}
	detail, err := r.engine.Detail(ctx(), id)
	r.must(err)
	if detail.Summary == "" || detail.Summary != d.Observation.Summary {
		r.t.Fatalf("the contract's target is summarised as %q, the draft's as %q", detail.Summary, d.Observation.Summary)
	}
	review, err := r.engine.Review(ctx(), id)
	r.must(err)
	if review.Drift != "" || len(review.Changes) == 0 || review.Target == "" {
		r.t.Fatalf("the review shows drift %q, %d changes, target %q", review.Drift, len(review.Changes), review.Target)
	}
	r.must(r.engine.Confirm(ctx(), id, review.Target, rigOperator, pass()))
	if p := r.execute(id); p.Final != core.Verified {
		r.t.Fatalf("ended in %s: %v (%s)", p.Final, p.Err, lastNote(r.t, r, id).Failure)
	}
	sends := 1
	if r.sends() != sends {
		r.t.Fatalf("%d sends", r.sends())
	}
	if spec.Loads != core.LoadsAtOnce {
		sends += r.loads(id)
	}
	if p := r.rollback(id); p.Final != core.RolledBack {
		r.t.Fatalf("the rollback ended in %s: %v (%s)", p.Final, p.Err, lastNote(r.t, r, id).Failure)
	}
	if r.sends() != sends+1 {
		r.t.Fatalf("%d sends after the rollback, want %d", r.sends(), sends+1)
	}
	again, err := prepare()
	r.must(err)
	if again.Fingerprint != d.Fingerprint || again.Observation.Locator != d.Observation.Locator {
		r.t.Fatal("the rollback did not restore the fingerprint")
	}
}

// loads asks for loading once and checks what is recorded about it.
func (r *rig) loads(id string) int {
	r.t.Helper()
	before := r.sends()
	r.run(id, func() error { return r.askToLoad(id) })
	records, err := r.store.Loads(ctx(), id)
	r.must(err)
	if len(records) != 2 || records[0].Claim != core.LoadAsked || records[1].Claim != core.LoadClaimed {
		r.t.Fatalf("recorded about loading: %+v", records)
	}
	r.mustBe(id, core.Verified)
	return r.sends() - before
}

// An on-call operator blocks an address, loads it, sees stored and loaded
// apart, and rolls back.
func TestBlockingAnAddressIsStoredThenLoaded(t *testing.T) {
	r := newRig(t, rigOptions{simServer: practice(t, sim.Profile271)})
	has := func(entry sim.AliasEntry) bool { return slices.Contains(entry.Addresses, "192.0.2.66") }
	d, err := r.engine.Prepare(ctx(), "FIREWALL_ALIAS_ENTRIES", core.Object{"alias_name": "blocklist",
		"add": []any{"192.0.2.66 blocked by jo"}, "remove": []any{}}, "")
	r.must(err)
	id, err := r.engine.Authorize(ctx(), d, rigOperator, pass())
	r.must(err)
	r.must(r.engine.Confirm(ctx(), id, "blocklist", rigOperator, pass()))
	r.execute(id)
	r.mustBe(id, core.Verified)
	stored, _ := r.sim.Alias("blocklist")
	loaded, _ := r.sim.LoadedAlias("blocklist")
	if !has(stored) || has(loaded) {
		t.Fatalf("after the send: stored %v, loaded %v", stored.Addresses, loaded.Addresses)
	}
	r.loads(id)
	if loaded, _ = r.sim.LoadedAlias("blocklist"); !has(loaded) {
		t.Fatalf("after loading: loaded %v", loaded.Addresses)
	}
	r.rollback(id)
	r.mustBe(id, core.RolledBack)
	stored, _ = r.sim.Alias("blocklist")
	if loaded, _ = r.sim.LoadedAlias("blocklist"); has(stored) || !has(loaded) {
		t.Fatalf("after the rollback: stored %v, loaded %v", stored.Addresses, loaded.Addresses)
	}
	detail, err := r.engine.Detail(ctx(), id)
	r.must(err)
	if detail.Row.Load == core.LoadClaimed {
		t.Fatal("the rolled-back state is shown as loaded; only the forward change was")
	}
}
