package pfsense

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/canon"
	"countersign/core"
	"countersign/pfsense/sim"
)

// suiteCase says how to try one capability on the simulator's seed. The
// checks themselves know nothing about any capability.
type suiteCase struct {
	symbol string
	target core.Object // the members of a request that name the target
	values core.Object // new values that the target does not have
	// setup makes the seed's object one that can be changed.
	setup func(*sim.Config)
	// list is the config path of the list, and shift puts something before
	// the target, so that its position is another one.
	shift func(*sim.Admin)
	// unguarded says why nothing on the appliance refuses a shifted position.
	unguarded string
	// absent names the profiles that do not have the endpoint.
	absent []string
}

func suiteCases() []suiteCase {
	shiftAlias := func(a *sim.Admin) { a.InsertAlias(0, "made_meanwhile", "192.0.2.200") }
	shiftRule := func(a *sim.Admin) { a.InsertRule(0, 1700009999, "made meanwhile") }
	const single = "there is one object and no position"
	ntpSaved := func(c *sim.Config) { c.Set("ntpd/enable", "enabled") }
	return []suiteCase{
		{symbol: "FIREWALL_ALIAS_DESCRIPTION", target: core.Object{"alias_name": "trusted_hosts"},
			values: core.Object{"description": "Zürich – on call"}, shift: shiftAlias},
		{symbol: "FIREWALL_ALIAS_ENTRIES", target: core.Object{"alias_name": "trusted_hosts"},
			values: core.Object{"add": []any{"192.0.2.66 blocked by jo", "2001:db8::66"}, "remove": []any{"198.51.100.21"}}, shift: shiftAlias},
		{symbol: "FIREWALL_RULE_ENABLED", target: core.Object{"tracker": int64(1700000002)},
			values: core.Object{"enabled": false}, shift: shiftRule},
		{symbol: "FIREWALL_RULE_DESCRIPTION", target: core.Object{"tracker": int64(1700000005)},
			values: core.Object{"description": "DNS for guests"}, shift: shiftRule},
		{symbol: "NAT_PORT_FORWARD_ENABLED", target: core.Object{"interface": "wan", "protocol": "tcp", "destination": "wan:ip",
			"destination_port": "443", "descr": "Web server"}, values: core.Object{"enabled": false},
			shift: func(a *sim.Admin) {
				a.Edit("shift", func(c *sim.Config) { c.Move("nat/rule", 0, 1) })
			}},
		{symbol: "DNS_RESOLVER_HOST_OVERRIDE_ADDRESS", target: core.Object{"host": "files", "domain": "example.net"},
			values:    core.Object{"addresses": []any{"198.51.100.12", "2001:db8::12"}},
			setup:     func(c *sim.Config) { c.Move("unbound/hosts", 2, 0) },
			unguarded: "host overrides have no field that cannot be edited"},
		{symbol: "ROUTING_STATIC_ROUTE_ENABLED", target: core.Object{"network": "10.40.0.0/16"},
			values: core.Object{"enabled": true}, unguarded: "static routes have no field that cannot be edited"},
		{symbol: "NTP_TIME_SERVER_PREFER", target: core.Object{"timeserver": "1.pool.example.net"},
			values: core.Object{"prefer": true}, unguarded: "time servers have no field that cannot be edited"},
		{symbol: "NTP_SETTINGS_OBSERVABILITY_TOGGLES", setup: ntpSaved, unguarded: single,
			values: core.Object{"logpeer": true, "logsys": true, "clockstats": false, "loopstats": true, "peerstats": false, "statsgraph": true}},
		{symbol: "LOG_DISPLAY_PREFERENCES", unguarded: single,
			values: core.Object{"format": "rfc5424", "reverseorder": true, "nentries": int64(200), "filterdescriptions": int64(2), "rawfilter": true}},
		{symbol: "LOG_RETENTION_SETTINGS", unguarded: single,
			values: core.Object{"logfilesize": int64(1000000), "rotatecount": int64(9), "logcompressiontype": "zstd"}},
		{symbol: "SYSTEM_TIMEZONE", unguarded: single, values: core.Object{"timezone": "Europe/Berlin"}, absent: []string{sim.Profile243}},
	}
}

// bench is one appliance with a client, and one capability on it.
type bench struct {
	t      *testing.T
	c      core.Capability
	spec   core.Spec
	server *sim.Server
	reader *Reader
	test   suiteCase
	// spared says why a check does not apply to this target; it is then not
	// counted as one.
	spared string
}

func newBench(t *testing.T, test suiteCase, profile string) *bench {
	t.Helper()
	c, ok := Capabilities().ByEndpoint(test.symbol)
	if !ok {
		t.Fatalf("%s is not in the registry", test.symbol)
	}
	server, err := sim.New(sim.Options{Profile: profile, Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if test.setup != nil {
		server.Admin().Edit("prepare the suite", test.setup)
	}
	b := &bench{t: t, c: c, spec: c.Spec(), server: server, test: test}
	b.reader, err = NewReader(b.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.reader.Close)
	return b
}

// config has a key of its own each time: a refused key is not used again.
func (b *bench) config() Config {
	trust, err := PinnedKey(b.server.Fingerprint())
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := NewAPIKey(b.server.APIKey())
	if err != nil {
		b.t.Fatal(err)
	}
	return Config{BaseURL: b.server.URL(), TLS: trust, Key: key,
		Deadlines: Deadlines{Connect: 5 * time.Second, TLS: 2 * time.Second, Header: 5 * time.Second, Whole: 5 * time.Second}}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (b *bench) read() core.Reading {
	b.t.Helper()
	r, err := core.ReadFor(context.Background(), b.reader, b.spec, systemClock{})
	if err != nil {
		b.t.Fatalf("reading: %v", err)
	}
	return r
}

func (b *bench) request() core.Request {
	b.t.Helper()
	fields := core.Object{}
	maps.Copy(fields, b.test.target)
	maps.Copy(fields, b.test.values)
	req, err := b.c.ParseRequest(fields)
	if err != nil {
		b.t.Fatalf("request: %v", err)
	}
	return req
}

// prepare reads, finds and admits, as core's Prepare does.
func (b *bench) prepare() (core.Reading, core.Request, core.Observation) {
	b.t.Helper()
	r, req := b.read(), b.request()
	o, err := b.c.Observe(r, b.c.Identity(req))
	if err != nil {
		b.t.Fatalf("observe: %v", err)
	}
	if err := b.c.Admit(r, o, req); err != nil {
		b.t.Fatalf("admit: %v", err)
	}
	return r, req, o
}

func (b *bench) observe() core.Observation {
	b.t.Helper()
	o, err := b.c.Observe(b.read(), b.c.Identity(b.request()))
	if err != nil {
		b.t.Fatalf("observe: %v", err)
	}
	return o
}

func (b *bench) fingerprint(o core.Observation) canon.Digest {
	b.t.Helper()
	d, err := b.spec.Binding().FingerprintDigest(o.Projection)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// send makes one exchange and concludes from it as core's executor does.
func (b *bench) send(dir core.Direction, body []byte, req core.Request, before core.Observation) (core.State, core.Exchange) {
	b.t.Helper()
	sender, err := NewSender(b.config())
	if err != nil {
		b.t.Fatal(err)
	}
	x := sender.Send(context.Background(), core.Mutation{Method: b.spec.Method, Path: b.spec.WritePath, Body: body})
	v := core.JudgeSend(dir, x, b.spec.Refusals)
	if v.Knowledge == core.VerifiedSuccess {
		v.Knowledge = b.conclude(x, req, before)
	}
	state, _ := core.Resolve(v.Boundary, v.Knowledge)
	return state, x
}

func (b *bench) conclude(x core.Exchange, req core.Request, before core.Observation) core.Knowledge {
	if b.c.CheckAnswer(x.Data, before) != nil {
		return core.Ambiguous
	}
	now := b.observe()
	switch {
	case now.Locator != before.Locator:
		return core.Ambiguous
	case b.c.Applied(req, before.Projection, now):
		return core.VerifiedSuccess
	case b.fingerprint(now) == b.fingerprint(before):
		return core.VerifiedFailure
	}
	return core.Ambiguous
}

// capabilityCheck is what every capability must pass on every version. One
// that writes gets an appliance of its own.
type capabilityCheck struct {
	name   string
	run    func(*bench)
	writes bool
}

func capabilityChecks() []capabilityCheck {
	return []capabilityCheck{
		{"the picker offers it", checkPicker, false},
		{"requests survive", checkRequestSurvives, false},
		{"preparing only reads", checkPreparingReads, false},
		{"picker, reading and snapshot are summarised alike", checkSummary, false},
		{"the projection is stable", checkStable, false},
		{"drift is seen", checkDrift, false},
		{"neighbours are reported", checkNeighbours, false},
		{"refusals name no values", checkValueFree, false},
		{"applied, then undone", checkRoundTrip, true},
		{"refusals prove that nothing was written", checkRefusals, true},
		{"the guard refuses a shifted position", checkGuard, true},
		{"answers are judged as the table says", checkFaults, true},
	}
}

func TestCapabilitySuite(t *testing.T) {
	ran, spared := map[string]int{}, map[string]int{}
	for _, test := range suiteCases() {
		t.Run(test.symbol, func(t *testing.T) {
			for _, profile := range sim.Profiles() {
				t.Run(profile, func(t *testing.T) { runChecks(t, test, profile, ran, spared) })
			}
		})
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("%4d  %s", ran[name], name)
		total += ran[name]
	}
	t.Logf("%4d  checks: %d capabilities on %d versions", total, len(suiteCases()), len(sim.Profiles()))
	for _, why := range slices.Sorted(maps.Keys(spared)) {
		t.Logf("%4d  does not apply: %s", spared[why], why)
	}
}

func runChecks(t *testing.T, test suiteCase, profile string, ran, spared map[string]int) {
	if slices.Contains(test.absent, profile) {
		checkAbsent(t, test, profile)
		ran["the endpoint is missing, and that is said"]++
		return
	}
	reading := newBench(t, test, profile)
	for _, check := range capabilityChecks() {
		t.Run(check.name, func(t *testing.T) {
			b := *reading
			if check.writes {
				b = *newBench(t, test, profile)
			}
			b.t = t
			check.run(&b)
			if b.spared == "" {
				ran[check.name]++
			} else {
				spared[check.name+": "+b.spared]++
			}
		})
	}
}

// TestCapabilitySuiteIsComplete: a capability without a suite case is none.
func TestCapabilitySuiteIsComplete(t *testing.T) {
	tried := map[string]bool{}
	for _, test := range suiteCases() {
		tried[test.symbol] = true
	}
	prefixes := map[string]bool{}
	for _, c := range Capabilities() {
		spec := c.Spec()
		if !tried[spec.EndpointSymbol] {
			t.Errorf("%s has no suite case", spec.EndpointSymbol)
		}
		if prefixes[spec.ContractPrefix] {
			t.Errorf("the prefix %s is used twice", spec.ContractPrefix)
		}
		prefixes[spec.ContractPrefix] = true
		checkSpec(t, spec)
	}
}

func checkSpec(t *testing.T, spec core.Spec) {
	t.Helper()
	if !core.KnownCapability(spec.Capability) || !core.MutatingMethod(spec.Method) {
		t.Errorf("%s: capability and method are not of the closed sets", spec.EndpointSymbol)
	}
	for _, id := range []string{spec.EndpointSymbol, spec.AdapterVersion, spec.RollbackPlanVersion, spec.ContractPrefix, spec.SemanticUnit} {
		if !core.ValidIdentifier(id) {
			t.Errorf("%s: %q is not an identifier", spec.EndpointSymbol, id)
		}
	}
	for _, text := range []string{spec.Title, spec.Noun, spec.WayBack} {
		if text == "" || strings.ContainsAny(text, "\n\r\t") {
			t.Errorf("%s: every text for people is one line", spec.EndpointSymbol)
		}
	}
	for status, ids := range spec.Refusals {
		if status < 400 || status >= 500 || status == 424 {
			t.Errorf("%s: status %d proves nothing", spec.EndpointSymbol, status)
		}
		for _, id := range ids {
			if strings.HasPrefix(id, "BINARY_") || id == "MODEL_MANY_MINIMUM_REACHED" || strings.HasPrefix(id, "DISPATCHER_") {
				t.Errorf("%s: %s can come after the write", spec.EndpointSymbol, id)
			}
		}
	}
}

// checkAbsent: where the endpoint is missing, the reading says so and nothing
// can be prepared.
func checkAbsent(t *testing.T, test suiteCase, profile string) {
	b := newBench(t, test, profile)
	_, err := core.ReadFor(context.Background(), b.reader, b.spec, systemClock{})
	if !errors.Is(err, core.ErrAppliance) || classOf(err) != NoEndpoint {
		t.Errorf("reading gave %v", err)
	}
	if _, err := b.c.Observe(core.Reading{Data: map[string]any{}}, b.c.Identity(b.request())); !errors.Is(err, core.ErrTargetUnsupported) {
		t.Errorf("observing without a reading gave %v", err)
	}
}

func checkPicker(b *bench) {
	targets, err := b.c.Targets(b.read())
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.observe()
	for _, target := range targets {
		if target.Label == "" && target.Refused == "" {
			b.t.Errorf("a target that can be changed has no name")
		}
		if !same(b.c.Identity(core.Request{Fields: target.Fields}), o.Identity) {
			continue
		}
		if target.Refused != "" {
			b.t.Errorf("refused: %s", target.Refused)
		}
		if target.Label != o.Label || b.c.Label(o.Identity) != o.Label || target.Locator != o.Locator {
			b.t.Errorf("picker and observation disagree")
		}
		for _, f := range b.c.Form(o) {
			if _, ok := b.test.values[f.Name]; !ok {
				b.t.Errorf("the form asks for %s, which the request does not have", f.Name)
			}
		}
		if len(b.c.Form(o)) != len(b.test.values) {
			b.t.Errorf("the form does not ask for every value")
		}
		return
	}
	b.t.Errorf("not offered")
}

func checkRequestSurvives(b *bench) {
	_, req, o := b.prepare()
	again, err := b.c.ParseRequest(req.Fields)
	if err != nil || !same(again, req) {
		b.t.Errorf("parsing a normalised request gave %v", err)
	}
	draft, err := core.Bind(b.c, req, o, canon.Digest{1})
	if err != nil {
		b.t.Fatal(err)
	}
	restored, err := b.c.RequestFromIntent(draft.Intent)
	if err != nil || !same(restored, req) {
		b.t.Errorf("the intent gives another request: %v", err)
	}
	for name := range draft.Intent {
		broken := maps.Clone(draft.Intent)
		delete(broken, name)
		if _, err := b.c.RequestFromIntent(broken); err == nil {
			b.t.Errorf("an intent without %s is accepted", name)
		}
	}
}

func checkPreparingReads(b *bench) {
	before, wire := b.server.StoredXML(""), b.server.Wire()
	_, req, o := b.prepare()
	if _, err := b.c.Targets(b.read()); err != nil {
		b.t.Fatal(err)
	}
	_ = b.c.Changes(req, o.Projection)
	if b.server.StoredXML("") != before || b.server.Wire().Since(wire).Mutations != 0 {
		b.t.Errorf("preparing changed the appliance")
	}
}

// checkSummary: the picker, a fresh observation and its snapshot describe the
// target in the same words.
func checkSummary(b *bench) {
	_, _, o := b.prepare()
	if got := b.c.Summary(o.Projection); got == "" || got != o.Summary {
		b.t.Errorf("the snapshot is summarised as %q, the observation as %q", got, o.Summary)
	}
	targets, err := b.c.Targets(b.read())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, t := range targets {
		if t.Label == o.Label && t.Summary != o.Summary {
			b.t.Errorf("the picker says %q, the observation %q", t.Summary, o.Summary)
		}
	}
}

// checkStable: two readings, and a reading whose members come in another
// order, give the same bytes.
func checkStable(b *bench) {
	r, req, o := b.prepare()
	if b.fingerprint(b.observe()) != b.fingerprint(o) {
		b.t.Errorf("two readings of one state differ")
	}
	turned, err := b.c.Observe(reordered(b.t, r), b.c.Identity(req))
	if err != nil {
		b.t.Fatal(err)
	}
	if !same(turned, o) {
		b.t.Errorf("the order of members matters")
	}
}

// reordered writes a reading with every object's members backwards and reads
// it again.
func reordered(t *testing.T, r core.Reading) core.Reading {
	t.Helper()
	out := core.Reading{At: r.At, Data: map[string]any{}}
	for path, data := range r.Data {
		v, err := canon.ParseRaw(backwards(t, data))
		if err != nil {
			t.Fatal(err)
		}
		out.Data[path] = v
	}
	return out
}

func backwards(t *testing.T, v any) []byte {
	t.Helper()
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = string(backwards(t, v[i]))
		}
		return []byte("[" + strings.Join(parts, ",") + "]")
	case core.Object:
		var parts []string
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(v))) {
			parts = append(parts, fmt.Sprintf("%q:%s", name, backwards(t, v[name])))
		}
		return []byte("{" + strings.Join(parts, ",") + "}")
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
