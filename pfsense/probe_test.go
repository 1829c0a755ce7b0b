package pfsense_test

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"testing"

	"countersign/core"
	"countersign/pfsense"
)

func healthy() map[string]string {
	data := func(s string) string { return frame(200, "SUCCESS", s) }
	return map[string]string{
		"GET /api/v2/system/version":              data(`{"version":"2.8.1","base":"2.8.1"}`),
		"GET /api/v2/system/restapi/version":      data(`{"current_version":"v2.10.0"}`),
		"GET /api/v2/system/restapi/settings":     data(`{"read_only":false,"auth_methods":["KeyAuth"],"represent_interfaces_as":"id"}`),
		"GET /api/v2/system/hasync":               data(`{"synchronizetoip":null}`),
		"GET /api/v2/firewall/apply":              data(`{"applied":true,"pending_subsystems":[]}`),
		"GET /api/v2/services/dns_resolver/apply": data(`{"applied":true}`),
		"GET /api/v2/routing/apply":               data(`{"applied":true}`),
	}
}

func TestStatus(t *testing.T) {
	denied := frame(403, "AUTH_AUTHORIZATION_FAILED", "[]")
	data := func(s string) string { return frame(200, "SUCCESS", s) }
	settings := "GET /api/v2/system/restapi/settings"
	cases := []struct {
		name    string
		change  map[string]string
		without string
		check   func(core.ApplianceStatus) bool
		warns   []string
	}{
		{name: "healthy", check: func(s core.ApplianceStatus) bool {
			return s.Version == "2.8.1" && s.APIVersion == "2.10.0" && s.ReadOnlyKnown && !s.ReadOnly && s.ReadTook > 0 &&
				reflect.DeepEqual(s.Pending, map[core.Subsystem][]string{core.Firewall: nil, core.DNSResolver: nil, core.Routing: nil})
		}},
		{name: "read-only", change: map[string]string{settings: data(`{"read_only":true,"auth_methods":["KeyAuth"]}`)},
			check: func(s core.ApplianceStatus) bool { return s.ReadOnly && s.ReadOnlyKnown },
			warns: []string{"read-only mode"}},
		{name: "settings hidden", change: map[string]string{settings: denied},
			check: func(s core.ApplianceStatus) bool { return !s.ReadOnly && !s.ReadOnlyKnown },
			warns: []string{"api-v2-system-restapi-settings-get", "not known"}},
		{name: "own method gone", change: map[string]string{settings: data(`{"read_only":false,"auth_methods":["BasicAuth"]}`)},
			warns: []string{"KeyAuth"}},
		{name: "interfaces by name", change: map[string]string{settings: data(`{"read_only":false,"represent_interfaces_as":"descr"}`)},
			warns: []string{"description"}},
		{name: "pending", change: map[string]string{
			"GET /api/v2/firewall/apply":              data(`{"applied":false,"pending_subsystems":["aliases","natconf"]}`),
			"GET /api/v2/services/dns_resolver/apply": data(`{"applied":false}`),
		}, check: func(s core.ApplianceStatus) bool {
			return reflect.DeepEqual(s.Pending, map[core.Subsystem][]string{core.Firewall: {"aliases", "natconf"}, core.DNSResolver: {"dns_resolver"}, core.Routing: nil})
		}},
		{name: "may read one thing only", change: map[string]string{
			"GET /api/v2/system/version": denied, "GET /api/v2/system/restapi/version": denied, settings: denied,
			"GET /api/v2/services/dns_resolver/apply": denied, "GET /api/v2/routing/apply": denied,
		}, check: func(s core.ApplianceStatus) bool { // what may not be read is not known, rather than nothing
			return reflect.DeepEqual(s.Pending, map[core.Subsystem][]string{core.Firewall: nil})
		}, warns: []string{"api-v2-system-version-get", "api-v2-system-restapi-version-get", "api-v2-system-restapi-settings-get", "not known",
			"api-v2-services-dns-resolver-apply-get", "api-v2-routing-apply-get"}},
		{name: "package of 2.7.1 has no HA endpoint", without: "GET /api/v2/system/hasync",
			change: map[string]string{"GET /api/v2/system/restapi/version": data(`{"current_version":"v2.7.1"}`)}},
		{name: "very old package", change: map[string]string{"GET /api/v2/system/restapi/version": data(`{"current_version":"v2.1.1"}`)},
			warns: []string{"2.2.0"}},
		{name: "HA", change: map[string]string{"GET /api/v2/system/hasync": data(`{"synchronizetoip":"203.0.113.2"}`)},
			warns: []string{"peer"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bodies := healthy()
			maps.Copy(bodies, c.change)
			delete(bodies, c.without)
			w := newWire(t, api(bodies))
			s, err := reader(t, w.config(t)).Status(context.Background())
			must(t, err)
			if s.Pin != pfsense.Fingerprint(w.identity.leaf).String() || c.check != nil && !c.check(s) {
				t.Errorf("got %+v", s)
			}
			if len(s.Warnings) != len(c.warns) {
				t.Fatalf("warnings %q, want %d", s.Warnings, len(c.warns))
			}
			for i, want := range c.warns {
				if !strings.Contains(s.Warnings[i], want) {
					t.Errorf("warning %q, want %q in it", s.Warnings[i], want)
				}
			}
			if strings.Contains(w.received.String(), "PATCH") || strings.Contains(w.received.String(), "POST") {
				t.Error("the probe did more than read")
			}
		})
	}
}

func TestStatusFails(t *testing.T) {
	for name, c := range map[string]struct {
		bodies map[string]string
		class  pfsense.Class
	}{
		"no package": {nil, pfsense.NoEndpoint},
		"bad key":    {map[string]string{"GET /api/v2/system/version": frame(401, "AUTH_AUTHENTICATION_FAILED", "[]")}, pfsense.BadKey},
		"disabled":   {map[string]string{"GET /api/v2/system/version": frame(503, "ENDPOINT_REST_API_IS_NOT_ENABLED", "[]")}, pfsense.Disabled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, api(c.bodies))
			_, err := reader(t, w.config(t)).Status(context.Background())
			checkReadError(t, err, c.class, "")
			if _, requests := w.count(); requests != 1 {
				t.Errorf("%d requests after the first failure", requests)
			}
		})
	}
}

// Many readings at once with a bad key are one failed login, not many.
func TestBadKeyFailsOnce(t *testing.T) {
	w := newWire(t, api(map[string]string{"GET " + aliases: frame(401, "AUTH_AUTHENTICATION_FAILED", "[]")}))
	r := reader(t, w.config(t))
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := r.Read(context.Background(), aliases)
			results <- err
		}()
	}
	for range 8 {
		checkReadError(t, <-results, pfsense.BadKey, "KeyAuth")
	}
	if _, requests := w.count(); requests != 1 {
		t.Errorf("%d failed logins", requests)
	}
}
