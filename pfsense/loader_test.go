package pfsense_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"countersign/core"
	"countersign/pfsense"
)

func TestLoader(t *testing.T) {
	data := func(s string) string { return frame(200, "SUCCESS", s) }
	const firewall, dns = "/api/v2/firewall/apply", "/api/v2/services/dns_resolver/apply"
	cases := []struct {
		name      string
		subsystem core.Subsystem
		bodies    map[string]string
		want      core.LoadClaim
		requests  int
	}{
		{"firewall says so", core.Firewall, map[string]string{"POST " + firewall: data(`{"applied":true,"pending_subsystems":[]}`)}, core.LoadClaimed, 1},
		{"firewall does not load", core.Firewall, map[string]string{"POST " + firewall: data(`{"applied":false,"pending_subsystems":["aliases"]}`), "GET " + firewall: data(`{"applied":true}`)}, core.LoadAsked, 1},
		{"dns after its stale answer", core.DNSResolver, map[string]string{"POST " + dns: data(`{"applied":false}`), "GET " + dns: data(`{"applied":true}`)}, core.LoadClaimed, 2},
		{"dns still pending", core.DNSResolver, map[string]string{"POST " + dns: data(`{"applied":true}`), "GET " + dns: data(`{"applied":false}`)}, core.LoadAsked, 2},
		{"dns cannot be read", core.DNSResolver, map[string]string{"POST " + dns: data(`{"applied":false}`)}, core.LoadAsked, 2},
		{"routing", core.Routing, map[string]string{"POST /api/v2/routing/apply": data(`{"applied":false}`), "GET /api/v2/routing/apply": data(`{"applied":true}`)}, core.LoadClaimed, 2},
		{"queue full", core.Firewall, map[string]string{"POST " + firewall: frame(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", "[]")}, core.LoadRefused, 1},
		{"read-only", core.Firewall, map[string]string{"POST " + firewall: frame(405, "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE", "[]")}, core.LoadRefused, 1},
		{"no privilege", core.Firewall, map[string]string{"POST " + firewall: frame(403, "AUTH_AUTHORIZATION_FAILED", "[]")}, core.LoadRefused, 1},
		{"spawn failed", core.Firewall, map[string]string{"POST " + firewall: frame(500, "DISPATCHER_FAILED_TO_SPAWN_PROCESS", "[]")}, core.LoadUnknown, 1},
		{"unexpected error", core.Firewall, map[string]string{"POST " + firewall: frame(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", "[]")}, core.LoadUnknown, 1},
		{"html", core.Firewall, nil, core.LoadUnknown, 1},
		{"nothing to load", core.LoadsAtOnce, nil, core.LoadRefused, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWire(t, api(c.bodies))
			l, err := pfsense.NewLoader(w.config(t))
			must(t, err)
			defer l.Close()
			claim, x := l.Load(context.Background(), c.subsystem)
			if claim != c.want {
				t.Errorf("%s, want %s: %+v", claim, c.want, x)
			}
			if _, requests := w.count(); requests != c.requests {
				t.Errorf("%d requests, want %d", requests, c.requests)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if posts := strings.Count(w.received.String(), "POST "); posts > 1 || posts == 1 && !strings.Contains(w.received.String(), "\r\n\r\n"+`{"async":false}`) {
				t.Errorf("%d posts: %q", posts, w.received.String())
			}
		})
	}
}

// A lost answer is unknown, and never asked for again.
func TestLoaderLostAnswer(t *testing.T) {
	w := newWire(t, func(w *wire, conn *tls.Conn) { w.request(conn) })
	l, err := pfsense.NewLoader(w.config(t))
	must(t, err)
	defer l.Close()
	claim, x := l.Load(context.Background(), core.Firewall)
	if claim != core.LoadUnknown || x.Sent != core.FullySent || x.Failure != core.FailureReset {
		t.Errorf("%s %+v", claim, x)
	}
	if connections, requests := w.count(); connections != 1 || requests != 1 {
		t.Errorf("%d connections, %d requests", connections, requests)
	}
}
