package pfsense

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/core"
	"countersign/pfsense/sim"
)

// find returns a capability of the build.
func find(t testing.TB, symbol string) core.Capability {
	t.Helper()
	c, ok := Capabilities().ByEndpoint(symbol)
	if !ok {
		t.Fatalf("%s is not in the registry", symbol)
	}
	return c
}

func TestAliasEntriesKeepTheirOrder(t *testing.T) {
	host := rapid.StringMatching(`[a-z]{1,3}\.example\.net`)
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.TrimSpace(host.Draw(t, "host") + " " + rapid.StringMatching(`[a-z ]{0,6}`).Draw(t, "detail"))
	})
	rapid.Check(t, func(t *rapid.T) {
		var before entries
		for _, s := range rapid.SliceOfN(line, 0, 8).Draw(t, "stored") {
			before = append(before, parseEntry(s))
		}
		fields := core.Object{"alias_name": "a",
			"add":    list(rapid.SliceOfN(line, 0, 4).Draw(t, "add")),
			"remove": list(rapid.SliceOfN(host, 0, 4).Draw(t, "remove"))}
		parsed, err := parseAliasEntries(fields)
		if err != nil {
			t.Skip("not a request")
		}
		snapshot := before.object(core.Object{"name": "a", "type": "host", "descr": ""})
		once := editEntries(snapshot, parsed)
		again := editEntries(once.object(snapshot), parsed)
		if !slices.Equal(once, again) {
			t.Fatalf("made twice, it is another change: %v and %v", once, again)
		}
		removed, _ := strs(parsed["remove"])
		for _, address := range removed {
			if once.has(address) {
				t.Fatalf("%s is still there", address)
			}
		}
		kept := slices.DeleteFunc(slices.Clone(before), func(e entry) bool { return slices.ContainsFunc(removed, e.is) })
		if len(once) < len(kept) || !slices.Equal(once[:len(kept)], kept) {
			t.Fatalf("what stays is not as it was: %v, was %v", once, before)
		}
	})
}

func TestAliasEntriesRequest(t *testing.T) {
	c := find(t, "FIREWALL_ALIAS_ENTRIES")
	parse := func(add, remove []any) (core.Request, error) {
		return c.ParseRequest(core.Object{"alias_name": "a", "add": add, "remove": remove})
	}
	req, err := parse([]any{"  192.0.2.66\t blocked  by jo "}, []any{" 192.0.2.1 "})
	if err != nil || !same(req.Fields["add"], []any{"192.0.2.66 blocked  by jo"}) || !same(req.Fields["remove"], []any{"192.0.2.1"}) {
		t.Errorf("normalised to %v, %v", req.Fields, err)
	}
	many := make([]any, mostEntriesAtOnce+1)
	for i := range many {
		many[i] = "h" + strings.Repeat("x", i%50) + string(rune('a'+i/50)) + ".example.net"
	}
	said := messages{}
	for _, bad := range []struct {
		name, want  string
		add, remove []any
	}{
		{"nothing", "at least one entry to add or one address to remove", []any{}, []any{}},
		{"an empty line", "line 1 to add is empty", []any{" "}, []any{}},
		{"a number", "add must be a list of lines", []any{int64(80)}, []any{}},
		{"a line break", "has a line break in it", []any{"192.0.2.1 a\nb"}, []any{}},
		{"a control character", "line 1 to add has control characters", []any{"192.0.2.1 a\x02"}, []any{}},
		{"a separator", "separates details in the firewall's configuration", []any{"192.0.2.1 a||b"}, []any{}},
		{"a detail to remove", "without its detail", []any{}, []any{"192.0.2.1 a"}},
		{"the same twice", "line 2 to add names an address for the second time", []any{"192.0.2.1", "192.0.2.1 again"}, []any{}},
		{"the same in two spellings", "line 2 to add names an address for the second time", []any{"2001:db8::1", "2001:DB8:0::1"}, []any{}},
		{"the same to add and to remove", "line 1 to remove names an address for the second time", []any{"192.0.2.1"}, []any{"192.0.2.1"}},
		{"more than can be looked over", "at most 200 entries can be changed at once", many, []any{}},
		{"a detail of more than the bound", "1025 bytes, and the firewall stores 1024 at most", []any{"192.0.2.1 " + strings.Repeat("d", maxTextBytes+1)}, []any{}},
		{"an address of more than the bound", "line 1 to add is too long", []any{strings.Repeat("d", maxTextBytes+1)}, []any{}},
	} {
		_, err := parse(bad.add, bad.remove)
		if !errors.Is(err, core.ErrRequest) || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v", bad.name, err)
			continue
		}
		said.add(bad.want, err)
	}
	said.mustDiffer(t)
}

func TestAliasEntriesChanges(t *testing.T) {
	c := find(t, "FIREWALL_ALIAS_ENTRIES")
	snapshot := entries{{"192.0.2.1", "one"}, {"192.0.2.2", ""}}.object(core.Object{"name": "a", "type": "host", "descr": ""})
	got := c.Changes(core.Request{Fields: core.Object{"add": []any{"192.0.2.66 blocked"}, "remove": []any{"192.0.2.1"}}}, snapshot)
	const field = "entries"
	want := []core.Change{{Field: field, Before: "192.0.2.1 one", Member: true}, {Field: field, After: "192.0.2.66 blocked", Member: true}}
	if !slices.Equal(got, want) {
		t.Errorf("changes are %v", got)
	}
}

// TestLargeAliases: what is accepted can always be bound and sent.
func TestLargeAliases(t *testing.T) {
	c := find(t, "FIREWALL_ALIAS_ENTRIES")
	reading := func(n int) core.Reading {
		addresses, details := make([]any, n), make([]any, n)
		for i := range addresses {
			addresses[i], details[i] = "h"+strings.Repeat("x", i%7)+".example.net", "d"
		}
		return core.Reading{Data: map[string]any{aliasesPath: []any{core.Object{"id": int64(0), "name": "big", "type": "host",
			"descr": "", "address": addresses, "detail": details}}}}
	}
	req, err := c.ParseRequest(core.Object{"alias_name": "big", "add": []any{"192.0.2.1"}, "remove": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Observe(reading(mostEntries-1), c.Identity(req))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Admit(reading(mostEntries-1), o, req); err != nil {
		t.Errorf("admit: %v", err)
	}
	if _, err := core.Bind(c, req, o, [32]byte{}); err != nil {
		t.Errorf("bind: %v", err)
	}
	if body, err := c.Forward(req, o); err != nil || len(body) > maxRequestBytes {
		t.Errorf("forward: %d bytes, %v", len(body), err)
	}
	if _, err := c.Observe(reading(mostEntries+1), c.Identity(req)); !errors.Is(err, core.ErrTargetUnsupported) {
		t.Errorf("one more entry: %v", err)
	}
	if o, err = c.Observe(reading(mostEntries), c.Identity(req)); err != nil {
		t.Fatal(err)
	}
	if err := c.Admit(reading(mostEntries), o, req); !errors.Is(err, core.ErrRequest) {
		t.Errorf("one entry too many to add: %v", err)
	}
}

func TestForwardShowsItsLinkedRule(t *testing.T) {
	for profile, after := range map[string]string{sim.Profile243: "enabled", sim.Profile271: "disabled", sim.Profile2100: "disabled"} {
		for _, test := range suiteCases() {
			if test.symbol != "NAT_PORT_FORWARD_ENABLED" {
				continue
			}
			b := newBench(t, test, profile)
			_, req, o := b.prepare()
			want := []core.Change{{Field: "port forward", Before: "enabled", After: "disabled"},
				{Field: "linked rule 1700000003", Before: "enabled", After: after}}
			if got := b.c.Changes(req, o.Projection); !slices.Equal(got, want) {
				t.Errorf("%s: changes are %v", profile, got)
			}
			if len(o.Related) != 1 || !strings.HasPrefix(o.Related[0].Before, "enabled, pass on wan") {
				t.Errorf("%s: related is %v", profile, o.Related)
			}
			if o.Label != "wan tcp 443" {
				t.Errorf("%s: the label is %q", profile, o.Label)
			}
		}
	}
}

func TestCreationTimeIsAGuardOnlyIfStored(t *testing.T) {
	row := func(created, updated int64) core.Object {
		return core.Object{"created_time": created, "updated_time": updated}
	}
	const now = 1_800_000_000
	for _, c := range []struct {
		name string
		rows []any
		want any
	}{
		{"stored, beside one that is not", []any{row(1_700_000_000, 1_700_000_000), row(now, now)}, int64(1_700_000_000)},
		{"stored and changed later", []any{row(1_700_000_000, now)}, int64(1_700_000_000)},
		{"not stored: now", []any{row(now, now), row(1_700_000_000, 1_700_000_000)}, nil},
		{"not stored: a second earlier than the others", []any{row(now-1, now-1), row(now, now)}, nil},
		{"none at all", []any{core.Object{}}, nil},
	} {
		r := core.Reading{Data: map[string]any{portForwardsPath: c.rows}}
		if got := storedCreationTime(r, c.rows[0].(core.Object)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestStaysWhenSorted(t *testing.T) {
	for _, c := range []struct {
		hosts []string
		stay  []bool
	}{
		{[]string{"", "files", "www"}, []bool{true, true, true}},
		{[]string{"files", "www", ""}, []bool{false, false, false}},
		{[]string{"b", "a", "c"}, []bool{false, false, true}},
		{[]string{"a", "a", "a"}, []bool{true, true, true}},
		{[]string{"B", "a"}, []bool{true, true}},
		{[]string{"10", "9"}, []bool{false, false}}, // compared as numbers there
		{[]string{"1", "a"}, []bool{true, true}},
	} {
		rows := make([]core.Object, len(c.hosts))
		for i, h := range c.hosts {
			rows[i] = core.Object{"host": h}
		}
		for i, want := range c.stay {
			if got := staysWhenSorted(rows, int64(i)); got != want {
				t.Errorf("%q: %d stays: %v", c.hosts, i, got)
			}
		}
	}
}

func TestReferences(t *testing.T) {
	named := func(names ...string) []core.Object {
		out := make([]core.Object, len(names))
		for i, n := range names {
			out[i] = core.Object{"name": n, "id": n, "descr": strings.ToUpper(n), "type": "host"}
		}
		return out
	}
	x := references{aliases: append(named("hosts"), core.Object{"name": "ports", "type": "port"}),
		interfaces: named("wan", "lan"), gateways: named("GW"), groups: named("GRP")}
	for s, good := range map[string]bool{"any": true, "!any": true, "(self)": true, "192.0.2.1": true, "!192.0.2.0/24": true,
		"2001:db8::/32": true, "lan": true, "lan:ip": true, "LAN": true, "hosts": true, "!hosts": true, "ports": false, "gone": false} {
		if got := x.badAddress(s) == ""; got != good {
			t.Errorf("address %q: %v", s, got)
		}
	}
	for s, good := range map[string]bool{"443": true, "80:90": true, "ports": true, "hosts": false, "0": false, "65536": false, "80-90": false} {
		if got := x.badPort(s, true) == ""; got != good {
			t.Errorf("port %q: %v", s, got)
		}
	}
	if x.badPort("80:90", false) == "" {
		t.Error("a range is no local port")
	}
	for s, good := range map[string]bool{"GW": true, "GRP": true, "WAN_DHCP": true, "gone": false} {
		if got := x.badGateway(s) == ""; got != good {
			t.Errorf("gateway %q: %v", s, got)
		}
	}
	// What was not read is left to the appliance.
	if unknown := (references{}); unknown.badAddress("gone") != "" || unknown.badGateway("gone") != "" || unknown.badPort("gone", true) != "" {
		t.Error("refused without having looked")
	}
}

func TestStaticRouteLooksAtItsGateway(t *testing.T) {
	c := find(t, "ROUTING_STATIC_ROUTE_ENABLED")
	reading := func(gateway core.Object) core.Reading {
		return core.Reading{Data: map[string]any{
			staticRoutesPath: []any{core.Object{"id": int64(0), "network": "192.0.2.0/24", "gateway": "GW", "descr": "", "disabled": true}},
			gatewaysPath:     []any{gateway}, gatewayGroupsPath: []any{}}}
	}
	req, err := c.ParseRequest(core.Object{"network": "192.0.2.0/24", "enabled": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		gateway core.Object
		want    string
	}{
		{core.Object{"name": "GW", "disabled": false}, ""},
		{core.Object{"name": "GW", "disabled": true}, "its gateway is disabled"},
		{core.Object{"name": "OTHER", "disabled": false}, "a gateway that does not exist any more"},
	} {
		r := reading(k.gateway)
		o, err := c.Observe(r, c.Identity(req))
		if err != nil {
			t.Fatal(err)
		}
		if got := reason(c.Admit(r, o, req)); !strings.Contains(got, k.want) || (k.want == "") != (got == "") {
			t.Errorf("%v: %q", k.gateway, got)
		}
	}
}

func TestRemoteLoggingMustBeSettled(t *testing.T) {
	settings := func(changes core.Object) core.Object {
		out := core.Object{"enableremotelogging": true, "ipprotocol": "ipv4", "sourceip": "", "remoteserver": "192.0.2.50", "logall": false}
		for _, name := range []string{"remoteserver2", "remoteserver3"} {
			out[name] = nil
		}
		for _, name := range remoteLogs() {
			out[name] = false
		}
		return with(out, changes)
	}
	all := core.Object{"logall": true}
	for _, name := range remoteLogs() {
		all[name] = nil
	}
	for name, c := range map[string]struct {
		now  core.Object
		want string
	}{
		"on and complete":             {settings(nil), ""},
		"on, everything":              {settings(all), ""},
		"on, everything and one more": {settings(with(all, core.Object{"dhcp": true})), "also rewrite"},
		"on, one not known":           {settings(core.Object{"vpn": nil}), "also rewrite"},
		"on, no protocol":             {settings(core.Object{"ipprotocol": nil}), "also rewrite"},
		"on, third without second":    {settings(core.Object{"remoteserver3": "192.0.2.51"}), "also rewrite"},
		"on, second empty":            {settings(core.Object{"remoteserver2": ""}), "fewer than three servers"},
		"off, something left":         {settings(core.Object{"enableremotelogging": false}), "erases them"},
	} {
		if got := reason(checkRemoteLogging(c.now)); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for s, want := range map[string]bool{"v2.10.0": false, "2.7.0": false, "v2.6.9": true, "v2.4.3": true, "v1.9.9": true, "v3.0.0": false} {
		v, ok := parseVersion(s)
		if !ok || v.before(2, 7) != want {
			t.Errorf("%s: %v, %v", s, v, ok)
		}
	}
	for _, s := range []string{"", "v2", "2.x.0", "2.7.0-beta", "2.7.0.1", "-1.0.0"} {
		if _, ok := parseVersion(s); ok {
			t.Errorf("%q is taken for a version", s)
		}
	}
}

func TestUnwritable(t *testing.T) {
	for s, good := range map[string]bool{"": true, "0": true, "line\nbreak\ttab\r\n": true, "<b>&amp;]]>": true, "Zürich 🚒": true,
		strings.Repeat("d", 1024): true, strings.Repeat("d", 1025): false, strings.Repeat("é", 513): false,
		" ": false, "\n\t": false, "e\u0301": false, "a\x01": false, "\x7f": true, "a\x1b[2J": false, "\uffff": false} {
		if got := unwritable(s) == ""; got != good {
			t.Errorf("%q: %v", s, got)
		}
	}
}
