package pfsense_test

import (
	"context"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

func newSim(t *testing.T, opts sim.Options) *sim.Server {
	t.Helper()
	srv, err := sim.New(opts)
	must(t, err)
	t.Cleanup(srv.Close)
	return srv
}

func simConfig(t *testing.T, srv *sim.Server) pfsense.Config {
	t.Helper()
	key, err := pfsense.NewAPIKey(srv.APIKey())
	must(t, err)
	trust, err := pfsense.PinnedKey(srv.Fingerprint())
	must(t, err)
	return pfsense.Config{BaseURL: srv.URL(), TLS: trust, Key: key, Deadlines: shortly()}
}

// Each fault of the simulator, and exactly what an exchange under it reports.
func TestSenderFaults(t *testing.T) {
	brief := 400 * time.Millisecond
	const failed, success = core.FullySent, "SUCCESS"
	cases := []struct {
		fault    sim.Fault
		whole    time.Duration // 0 for the usual deadlines
		sent     core.SendMark
		failure  core.FailureClass
		status   int
		id       string // "" means that the answer is not the API's own
		requests int    // that reached the web server
	}{
		// Before anything.
		{fault: sim.Fault{Kind: sim.Refuse}, failure: core.FailureConnect},
		{fault: sim.Fault{Kind: sim.BadTLS}, failure: core.FailureTLS},
		{fault: sim.Fault{Kind: sim.WrongCertificate}, failure: core.FailureTLS},
		{fault: sim.Fault{Kind: sim.AcceptHang}, failure: core.FailureTLS},
		// No effect.
		{fault: sim.Fault{Kind: sim.ResetBefore}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.ResetMiddle}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.ResetAfter}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.DropBeforeRun}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.Redirect301}, sent: failed, status: 301, requests: 1},
		{fault: sim.Fault{Kind: sim.Redirect302}, sent: failed, status: 302, requests: 1},
		{fault: sim.Fault{Kind: sim.Redirect307}, sent: failed, status: 307, requests: 1},
		{fault: sim.Fault{Kind: sim.Redirect308}, sent: failed, status: 308, requests: 1},
		{fault: sim.Fault{Kind: sim.Status400}, sent: failed, status: 400, id: "FIELD_INVALID_TYPE", requests: 1},
		{fault: sim.Fault{Kind: sim.Status401}, sent: failed, status: 401, id: "AUTH_AUTHENTICATION_FAILED", requests: 1},
		{fault: sim.Fault{Kind: sim.Status403}, sent: failed, status: 403, id: "AUTH_AUTHORIZATION_FAILED", requests: 1},
		{fault: sim.Fault{Kind: sim.Status404}, sent: failed, status: 404, id: "MODEL_OBJECT_NOT_FOUND", requests: 1},
		{fault: sim.Fault{Kind: sim.Status409}, sent: failed, status: 409, id: "MODEL_CANNOT_BE_DELETED_WHILE_REFERENCED", requests: 1},
		{fault: sim.Fault{Kind: sim.Status422}, sent: failed, status: 422, id: "UNPROCESSABLE_ENTITY", requests: 1},
		{fault: sim.Fault{Kind: sim.Status429}, sent: failed, status: 429, id: "TOO_MANY_REQUESTS", requests: 1},
		{fault: sim.Fault{Kind: sim.Proxy}, sent: failed, status: 403, requests: 1},
		{fault: sim.Fault{Kind: sim.Proxy, Status: 407}, sent: failed, status: 407, requests: 1},
		{fault: sim.Fault{Kind: sim.Status500}, sent: failed, status: 500, id: "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", requests: 1},
		{fault: sim.Fault{Kind: sim.Status502}, sent: failed, status: 502, requests: 1},
		{fault: sim.Fault{Kind: sim.Status503}, sent: failed, status: 503, id: "ENDPOINT_UNAVAILABLE", requests: 1},
		{fault: sim.Fault{Kind: sim.Fatal}, sent: failed, status: 500, requests: 1},
		{fault: sim.Fault{Kind: sim.ReadOnlyMode}, sent: failed, status: 405, id: "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE", requests: 1},
		{fault: sim.Fault{Kind: sim.APIDisabled}, sent: failed, status: 503, id: "ENDPOINT_REST_API_IS_NOT_ENABLED", requests: 1},
		{fault: sim.Fault{Kind: sim.Unavailable}, sent: failed, status: 503, id: "ENDPOINT_UNAVAILABLE", requests: 1},
		{fault: sim.Fault{Kind: sim.WriteLock, Delay: time.Millisecond}, sent: failed, status: 503, id: "MODEL_WRITE_CONFIG_LOCKED", requests: 1},
		{fault: sim.Fault{Kind: sim.NoEffect}, sent: failed, status: 200, id: success, requests: 1},
		// With an effect, or nobody knows.
		{fault: sim.Fault{Kind: sim.CommitThenDrop}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.CommitThenHang}, whole: brief, sent: failed, failure: core.FailureTimeout, requests: 1},
		{fault: sim.Fault{Kind: sim.CommitThenReset}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.CutHeader}, sent: failed, failure: core.FailureTruncated, requests: 1},
		{fault: sim.Fault{Kind: sim.CutBody}, sent: failed, status: 200, failure: core.FailureTruncated, requests: 1},
		{fault: sim.Fault{Kind: sim.Trickle, Delay: 20 * time.Millisecond}, whole: brief, sent: failed, status: 200, failure: core.FailureTimeout, requests: 1},
		{fault: sim.Fault{Kind: sim.Status500Commit}, sent: failed, status: 500, id: "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", requests: 1},
		{fault: sim.Fault{Kind: sim.Status502Commit}, sent: failed, status: 502, requests: 1},
		{fault: sim.Fault{Kind: sim.Status503Commit}, sent: failed, status: 503, id: "ENDPOINT_UNAVAILABLE", requests: 1},
		{fault: sim.Fault{Kind: sim.WrongShape}, sent: failed, status: 200, id: success, requests: 1},
		{fault: sim.Fault{Kind: sim.WrongType}, sent: failed, status: 200, requests: 1},
		{fault: sim.Fault{Kind: sim.Partial}, sent: failed, status: 200, id: success, requests: 1},
		{fault: sim.Fault{Kind: sim.LostUpdate}, sent: failed, status: 200, id: success, requests: 1},
		{fault: sim.Fault{Kind: sim.QueueFull}, sent: failed, status: 503, id: "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", requests: 1},
		{fault: sim.Fault{Kind: sim.FailedDependency}, sent: failed, status: 424, id: "DISPATCHER_MISSING_REQUIRED_PACKAGE", requests: 1},
		{fault: sim.Fault{Kind: sim.GatewayTimeout, Late: 50 * time.Millisecond}, sent: failed, status: 504, requests: 1},
		{fault: sim.Fault{Kind: sim.LateWrite, Late: 50 * time.Millisecond}, sent: failed, failure: core.FailureReset, requests: 1},
		{fault: sim.Fault{Kind: sim.AppliedNotLoaded}, sent: failed, status: 200, id: success, requests: 1},
		{fault: sim.Fault{Kind: sim.Latency, Delay: time.Millisecond}, sent: failed, status: 200, id: success, requests: 1},
	}
	covered := map[sim.Kind]bool{}
	for _, c := range cases {
		covered[c.fault.Kind] = true
		t.Run(string(c.fault.Kind), func(t *testing.T) {
			t.Parallel()
			srv := newSim(t, sim.Options{})
			cfg := simConfig(t, srv)
			if c.whole > 0 {
				cfg.Deadlines.Whole = c.whole
			}
			if c.fault.Kind == sim.AcceptHang {
				cfg.Deadlines.TLS = brief
			}
			before := srv.Wire()
			srv.Inject(c.fault)
			x := sender(t, cfg).Send(context.Background(), core.Mutation{
				Method: "PATCH", Path: "/api/v2/firewall/alias", Body: []byte(`{"id":0,"name":"web_ports","descr":"new text"}`),
			})
			if x.Sent != c.sent || x.Failure != c.failure || x.Status != c.status ||
				x.Enveloped != (c.id != "") || x.ResponseID != c.id {
				t.Errorf("got %+v", x)
			}
			seen := srv.Wire().Since(before)
			if seen.Requests != c.requests || seen.Mutations != c.requests || seen.Connections > 1 {
				t.Errorf("on the wire: %+v", seen)
			}
		})
	}
	for _, kind := range sim.Kinds() {
		if !covered[kind] {
			t.Errorf("fault %s is not in the table", kind)
		}
	}
	t.Logf("%d faults x exchange", len(cases))
}

// Reader, probe, sender and loader against each package version, as real
// parts: the change is stored, then loaded.
func TestAgainstTheSimulator(t *testing.T) {
	for _, profile := range sim.Profiles() {
		t.Run(profile, func(t *testing.T) {
			srv := newSim(t, sim.Options{Profile: profile})
			cfg, ctx := simConfig(t, srv), context.Background()
			r := reader(t, cfg)

			id, err := r.Identify(ctx)
			must(t, err)
			if id.InstallationKind != "netgate_id" || id.Installation == "" || id.CACertificate.String() != srv.Fingerprint() {
				t.Errorf("identity %+v", id)
			}
			status, err := r.Status(ctx)
			must(t, err)
			if status.APIVersion != profile || status.Version == "" || !status.ReadOnlyKnown || status.ReadOnly || status.Pin != srv.Fingerprint() {
				t.Errorf("status %+v", status)
			}
			t.Logf("%s: pfSense %s, warnings %q", profile, status.Version, status.Warnings)

			for _, path := range []string{
				aliases, "/api/v2/firewall/rules", "/api/v2/firewall/nat/port_forwards", "/api/v2/routing/static_routes",
				"/api/v2/services/dns_resolver/host_overrides", "/api/v2/services/ntp/settings",
				"/api/v2/services/ntp/time_servers", "/api/v2/status/logs/settings",
			} {
				if _, err := r.Read(ctx, path); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}

			x := sender(t, cfg).Send(ctx, core.Mutation{Method: "PATCH", Path: "/api/v2/firewall/alias",
				Body: []byte(`{"id":1,"name":"trusted_hosts","address":["198.51.100.20"],"detail":["alice"]}`)})
			if x.Status != 200 || !x.Enveloped {
				t.Fatalf("got %+v", x)
			}
			status, err = r.Status(ctx)
			must(t, err)
			if pending := status.Pending[core.Firewall]; len(pending) != 1 || pending[0] != "aliases" {
				t.Errorf("pending %v", status.Pending)
			}
			loader, err := pfsense.NewLoader(cfg)
			must(t, err)
			defer loader.Close()
			for _, s := range []core.Subsystem{core.Firewall, core.DNSResolver, core.Routing} {
				if claim, x := loader.Load(ctx, s); claim != core.LoadClaimed {
					t.Errorf("%s: %s %+v", s, claim, x)
				}
			}
			if loaded, _ := srv.LoadedAlias("trusted_hosts"); len(loaded.Addresses) != 1 {
				t.Errorf("in force: %+v", loaded)
			}
		})
	}
}

// What the firewall's own condition does to a reading.
func TestReaderConditions(t *testing.T) {
	cases := []struct {
		name  string
		opts  sim.Options
		class pfsense.Class
		says  string
	}{
		{"fresh install", sim.Options{FreshInstall: true}, pfsense.BadKey, "Basic only"},
		{"not reloaded", sim.Options{Conditions: sim.Conditions{NotReloaded: true}}, pfsense.NotReloaded, "restart"},
		{"updating", sim.Options{Conditions: sim.Conditions{PackageUpdating: true}}, pfsense.Disabled, "updated"},
		{"php down", sim.Options{Conditions: sim.Conditions{PHPDown: true}}, pfsense.ServerFault, "restarting"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			srv := newSim(t, c.opts)
			r := reader(t, simConfig(t, srv))
			for range 2 {
				_, err := r.Read(context.Background(), aliases)
				checkReadError(t, err, c.class, c.says)
			}
			if n := srv.Wire().Requests; c.class == pfsense.BadKey && n != 1 {
				t.Errorf("%d failed logins", n)
			}
		})
	}
}

// A sender that is told to wait still waits out the lock, and the answer says
// that nothing was stored.
func TestSenderWaitsForTheLock(t *testing.T) {
	clock := sim.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	srv := newSim(t, sim.Options{Clock: clock})
	srv.Admin().HoldWriteLock(true)
	before := srv.Wire()
	answered := make(chan core.Exchange, 1)
	s := sender(t, simConfig(t, srv))
	go func() {
		answered <- s.Send(context.Background(), core.Mutation{Method: "PATCH", Path: "/api/v2/firewall/alias",
			Body: []byte(`{"id":0,"name":"web_ports","descr":"late"}`)})
	}()
	var x core.Exchange
	for waiting := true; waiting; {
		select {
		case x = <-answered:
			waiting = false
		case <-time.After(5 * time.Millisecond):
			if clock.Sleepers() > 0 {
				clock.Advance(time.Second)
			}
		}
	}
	if x.Status != 503 || x.ResponseID != "MODEL_WRITE_CONFIG_LOCKED" {
		t.Errorf("got %+v", x)
	}
	if seen := srv.Wire().Since(before); seen.Mutations != 1 || seen.Committed != 0 {
		t.Errorf("on the wire: %+v", seen)
	}
}
