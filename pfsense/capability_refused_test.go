package pfsense

import (
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/core"
	"countersign/pfsense/sim"
)

// harm says what the appliance does with a request that is refused here.
type harm string

const (
	refusesIt  harm = "refuses it too" // so nothing is lost by refusing first
	notAsSent  harm = "takes it and stores something else"
	cannotUndo harm = "takes it, and the old state does not come back"
	halfDone   harm = "stops half done"
	otherwise  harm = "is not asked"
)

// refusedOnSim is a state of the appliance or a request that must be refused
// before anything is created, with its own message.
type refusedOnSim struct {
	name    string
	symbol  string
	profile string // 2.7.1 if empty
	setup   func(*sim.Config)
	target  core.Object // instead of the suite's
	values  core.Object // instead of the suite's
	want    string      // part of the message, its own
	class   error
	harm    harm
	watch   string // config path where the harm shows, if the API does not show it
}

func refusedCases() []refusedOnSim {
	set := func(path, text string) func(*sim.Config) { return func(c *sim.Config) { c.Set(path, text) } }
	const target, request = "target", "request"
	classes := map[string]error{target: core.ErrTargetUnsupported, request: core.ErrRequest}
	alias := func(name string) core.Object { return core.Object{"alias_name": name} }
	add := func(lines ...any) core.Object { return core.Object{"add": lines, "remove": []any{}} }
	remove := func(lines ...any) core.Object { return core.Object{"add": []any{}, "remove": lines} }
	long := strings.Repeat("é", 600) // 1200 bytes, 600 characters
	var out []refusedOnSim
	on := func(symbol string, cases ...refusedOnSim) {
		for _, c := range cases {
			c.symbol = symbol
			out = append(out, c)
		}
	}
	t, r := classes[target], classes[request]

	on("FIREWALL_ALIAS_DESCRIPTION",
		refusedOnSim{name: "URL table", target: alias("feed_table"), want: "of type urltable", class: t, harm: refusesIt},
		refusedOnSim{name: "no details", target: alias("dns_ports"), want: "2 addresses but 0 details", class: t, harm: otherwise},
		refusedOnSim{name: "dangling nested alias", target: alias("nested_hosts"), setup: set("aliases/alias/1/name", "renamed"),
			want: "names an alias that does not exist", class: t, harm: refusesIt},
		refusedOnSim{name: "too many bytes", values: core.Object{"description": long}, want: "would not be stored as it is: 1200 bytes", class: r, harm: refusesIt},
		refusedOnSim{name: "control character", values: core.Object{"description": "a\x02"}, want: "control characters damage", class: r, harm: otherwise},
		refusedOnSim{name: "U+FFFE or U+FFFF", values: core.Object{"description": "a\uffff"}, want: "U+FFFE and U+FFFF damage", class: r, harm: otherwise},
		refusedOnSim{name: "no text", values: core.Object{"description": int64(5)}, want: "description must be text", class: r, harm: refusesIt},
		refusedOnSim{name: "white space", values: core.Object{"description": " \t "}, want: "only white space", class: r, harm: notAsSent},
		refusedOnSim{name: "stored description too long", setup: set("aliases/alias/1/descr", long), want: "the description could not be written back", class: t, harm: otherwise},
		refusedOnSim{name: "missing", target: alias("no_such_alias"), want: "removed or renamed", class: core.ErrTargetMissing, harm: otherwise},
		refusedOnSim{name: "doubled", setup: func(c *sim.Config) { c.Duplicate("aliases/alias", 1) }, want: "only one of them", class: core.ErrTargetDuplicate, harm: otherwise},
	)
	on("FIREWALL_ALIAS_ENTRIES",
		refusedOnSim{name: "range in a host alias", values: add("198.51.100.1-198.51.100.9"), want: "line 1 to add: a host alias takes", class: r, harm: refusesIt},
		refusedOnSim{name: "address in a network alias", target: alias("blocked_nets"), values: add("192.0.2.66"), want: "192.0.2.66/32", class: r, harm: refusesIt},
		refusedOnSim{name: "dash in a port alias", target: alias("web_ports"), values: add("90-99"), want: "a port alias takes", class: r, harm: refusesIt},
		refusedOnSim{name: "nested alias that does not exist", values: add("192.0.2.66", "no_such_alias"), want: "line 2 to add: it names an alias", class: r, harm: refusesIt},
		refusedOnSim{name: "itself", values: add("trusted_hosts"), want: "cannot hold itself", class: r, harm: otherwise},
		refusedOnSim{name: "there already, with another one", values: add("192.0.2.66", "198.51.100.20"), want: "in the alias already", class: r, harm: otherwise},
		refusedOnSim{name: "not there, with another one", values: remove("198.51.100.20", "192.0.2.9"), want: "line 2 to remove: it is not in the alias", class: r, harm: otherwise},
		refusedOnSim{name: "129 entries on 2.4.3", profile: sim.Profile243, setup: func(c *sim.Config) {
			c.Set("aliases/alias/1/address", strings.TrimSpace(strings.Repeat("192.0.2.1 ", 128)))
			c.Set("aliases/alias/1/detail", "")
		}, values: add("192.0.2.66"), want: "would have 129 entries", class: r, harm: refusesIt},
		refusedOnSim{name: "control character", values: add("192.0.2.66 a\x02"), want: "line 1 to add has control characters", class: r, harm: otherwise},
		refusedOnSim{name: "line break", values: add("192.0.2.66 a\nb"), want: "line 1 to add has a line break", class: r, harm: otherwise},
		refusedOnSim{name: "detail too long", values: add("192.0.2.66 " + long), want: "has a detail that cannot be stored: 1200 bytes", class: r, harm: otherwise},
		refusedOnSim{name: "address too long", values: add(strings.Repeat("d", maxTextBytes+1)), want: "line 1 to add is too long", class: r, harm: refusesIt},
		refusedOnSim{name: "separator in a detail", values: add("192.0.2.66 a||b"), want: "separates details", class: r, harm: notAsSent},
		refusedOnSim{name: "detail that moves the separator", values: add("192.0.2.66 a|", "192.0.2.67 b"), want: "separates details", class: r, harm: notAsSent},
	)
	on("FIREWALL_RULE_ENABLED",
		refusedOnSim{name: "match rule", setup: set("filter/rule/1/type", "match"), want: "rules of this type", class: t, harm: refusesIt},
		refusedOnSim{name: "sctp", setup: set("filter/rule/1/protocol", "sctp"), want: "rules of this protocol", class: t, harm: refusesIt},
		refusedOnSim{name: "empty state type", setup: set("filter/rule/1/statetype", ""), want: "state type is empty", class: t, harm: refusesIt},
		refusedOnSim{name: "no address family", setup: func(c *sim.Config) { c.Delete("filter/rule/1/ipprotocol") }, want: "no address family", class: t, harm: refusesIt},
		refusedOnSim{name: "dangling source", setup: set("aliases/alias/2/name", "renamed"), want: "does not exist any more (source)", class: t, harm: refusesIt},
		refusedOnSim{name: "dangling port", target: core.Object{"tracker": int64(1700000005)}, setup: set("aliases/alias/5/name", "renamed"), want: "(destination port)", class: t, harm: refusesIt},
		refusedOnSim{name: "several interfaces", setup: set("filter/rule/1/interface", "wan,lan"), want: "several interfaces", class: t, harm: refusesIt},
		refusedOnSim{name: "leftover port", setup: set("filter/rule/1/destination/port", "443"), want: "leftover options", class: t, harm: cannotUndo},
		refusedOnSim{name: "tracker not unique", setup: func(c *sim.Config) { c.Duplicate("filter/rule", 1) }, want: "only one of them", class: core.ErrTargetDuplicate, harm: otherwise},
	)
	on("FIREWALL_RULE_DESCRIPTION",
		refusedOnSim{name: "too many bytes", values: core.Object{"description": long}, want: "would not be stored as it is: 1200 bytes", class: r, harm: refusesIt},
		refusedOnSim{name: "control character", values: core.Object{"description": "a\x02"}, want: "control characters damage", class: r, harm: otherwise},
		refusedOnSim{name: "white space", values: core.Object{"description": " \t "}, want: "only white space", class: r, harm: notAsSent},
	)
	on("NAT_PORT_FORWARD_ENABLED",
		refusedOnSim{name: "linked rule is gone", setup: func(c *sim.Config) { c.Delete("filter/rule/2") }, want: "one linked rule and has 0", class: t, harm: otherwise},
		refusedOnSim{name: "linked rule twice", setup: func(c *sim.Config) { c.Duplicate("filter/rule", 2) }, want: "one linked rule and has 2", class: t, harm: otherwise},
		refusedOnSim{name: "linked rule edited by hand", setup: set("filter/rule/2/destination/port", "8443"), want: "edited by hand", class: t, harm: cannotUndo, watch: "filter/rule/2/destination/port"},
		refusedOnSim{name: "linked rule cannot be saved", setup: set("filter/rule/2/statetype", ""), want: "half done", class: t, harm: halfDone},
		refusedOnSim{name: "dangling target", setup: set("nat/rule/0/target", "no_such_alias"), want: "(target)", class: t, harm: refusesIt},
		refusedOnSim{name: "twins", setup: func(c *sim.Config) { c.Duplicate("nat/rule", 0) }, want: "only one of them", class: core.ErrTargetDuplicate, harm: otherwise},
	)
	on("DNS_RESOLVER_HOST_OVERRIDE_ADDRESS",
		refusedOnSim{name: "list not sorted", setup: func(c *sim.Config) { c.Move("unbound/hosts", 2, 0) }, want: "not sorted by host", class: t, harm: cannotUndo},
		refusedOnSim{name: "no address now", setup: set("unbound/hosts/1/ip", ""), want: "no address now", class: t, harm: otherwise},
	)
	on("ROUTING_STATIC_ROUTE_ENABLED",
		refusedOnSim{name: "host bits", target: core.Object{"network": "10.40.5.0/16"}, setup: set("staticroutes/route/2/network", "10.40.5.0/16"), want: "host bits", class: t, harm: cannotUndo},
		refusedOnSim{name: "network twice", setup: func(c *sim.Config) { c.Duplicate("staticroutes/route", 2) }, want: "only one of them", class: core.ErrTargetDuplicate, harm: otherwise},
	)
	on("NTP_TIME_SERVER_PREFER",
		refusedOnSim{name: "not the last one", target: core.Object{"timeserver": "0.pool.example.net"}, want: "only the last time server", class: t, harm: cannotUndo},
	)
	on("NTP_SETTINGS_OBSERVABILITY_TOGGLES",
		refusedOnSim{name: "page never saved", setup: func(c *sim.Config) { c.Delete("ntpd/enable") }, want: "never saved", class: t, harm: cannotUndo, watch: "ntpd/enable"},
		refusedOnSim{name: "peer limit", setup: set("ntpd/ntpmaxpeers", "3"), want: "peer limit", class: t, harm: refusesIt},
	)
	remote := func(more ...string) func(*sim.Config) {
		return func(c *sim.Config) {
			c.Set("syslog/enable", "")
			for i := 0; i < len(more); i += 2 {
				c.Set("syslog/"+more[i], more[i+1])
			}
		}
	}
	on("LOG_DISPLAY_PREFERENCES",
		refusedOnSim{name: "fewer than three servers", setup: remote("remoteserver", "192.0.2.50", "logall", ""), want: "fewer than three servers", class: t, harm: refusesIt},
		refusedOnSim{name: "off but stored", setup: set("syslog/remoteserver", "192.0.2.50"), want: "erases them", class: t, harm: cannotUndo},
		refusedOnSim{name: "too few entries", values: core.Object{"format": "rfc3164", "reverseorder": false, "nentries": int64(4), "filterdescriptions": int64(1), "rawfilter": false},
			want: "not valid: the firewall shows 5 to 20000", class: r, harm: refusesIt},
		refusedOnSim{name: "too few entries now", setup: set("syslog/nentries", "4"), want: "present state could not be written back: the firewall shows", class: t, harm: otherwise},
	)
	on("LOG_RETENTION_SETTINGS",
		refusedOnSim{name: "file too small", values: core.Object{"logfilesize": int64(1), "rotatecount": int64(5), "logcompressiontype": "none"},
			want: "100000 bytes", class: r, harm: refusesIt},
		refusedOnSim{name: "too many files", values: core.Object{"logfilesize": int64(512000), "rotatecount": int64(100), "logcompressiontype": "none"},
			want: "0 to 99", class: r, harm: refusesIt},
	)
	return out
}

func TestCapabilityRefusals(t *testing.T) {
	suite := map[string]suiteCase{}
	for _, test := range suiteCases() {
		suite[test.symbol] = test
	}
	agreed, said := map[harm]int{}, map[string]messages{}
	for _, c := range refusedCases() {
		t.Run(c.symbol+"/"+c.name, func(t *testing.T) {
			test := suite[c.symbol]
			if c.target != nil {
				test.target = c.target
			}
			if c.values != nil {
				test.values = c.values
			}
			profile := c.profile
			if profile == "" {
				profile = sim.Profile271
			}
			b := newBench(t, test, profile)
			if c.setup != nil {
				b.server.Admin().Edit("make it refusable", c.setup)
			}
			stored := b.server.StoredXML("")
			err := b.tryToPrepare()
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if said[c.symbol] == nil {
				said[c.symbol] = messages{}
			}
			said[c.symbol].add(c.want, err)
			if b.server.StoredXML("") != stored {
				t.Error("refusing changed something")
			}
			b.checkHarm(c.harm, c.watch)
			agreed[c.harm]++
		})
	}
	for _, m := range said {
		m.mustDiffer(t)
	}
	for _, h := range []harm{refusesIt, notAsSent, cannotUndo, halfDone, otherwise} {
		t.Logf("%3d refused, where the appliance %s", agreed[h], h)
	}
}

// messages are what one capability's refusals say, by the part that is the
// reason's own.
type messages map[string][]string

func (m messages) add(own string, err error) { m[own] = append(m[own], err.Error()) }

// mustDiffer: no message can be taken for that of another reason.
func (m messages) mustDiffer(t *testing.T) {
	t.Helper()
	for own, texts := range m {
		for other := range m {
			for _, text := range texts {
				if other != own && strings.Contains(text, other) {
					t.Errorf("the refusal for %q also says %q", own, other)
				}
			}
		}
	}
}

// tryToPrepare does what core's Prepare does.
func (b *bench) tryToPrepare() error {
	req, err := b.c.ParseRequest(with(b.test.target, b.test.values))
	if err != nil {
		return err
	}
	r := b.read()
	o, err := b.c.Observe(r, b.c.Identity(req))
	if err != nil {
		return err
	}
	return b.c.Admit(r, o, req)
}

// checkHarm sends what was refused, to see what it was refused for.
func (b *bench) checkHarm(h harm, watch string) {
	if h == otherwise {
		return
	}
	row, body := b.forced()
	watched := b.server.Stored(watch)
	state, x := b.send(core.Forward, body, core.Request{}, core.Observation{Locator: -1})
	switch {
	case h == refusesIt && (state != core.Failed || x.Status < 400):
		b.t.Errorf("the appliance took it: %d %s", x.Status, x.ResponseID)
	case h == halfDone && x.Status != 500:
		b.t.Errorf("the appliance answered %d %s", x.Status, x.ResponseID)
	case h == notAsSent:
		if now, _ := b.rawRow(); x.Status != 200 || same(b.sentOf(body, now), b.sentOf(body, nil)) {
			b.t.Errorf("stored as sent: %d %s", x.Status, x.ResponseID)
		}
	case h == cannotUndo:
		b.checkNoWayBack(x, body, row, watch, watched)
	}
}

// checkNoWayBack writes the old values back and finds another state.
func (b *bench) checkNoWayBack(x core.Exchange, body []byte, row core.Object, watch string, watched any) {
	if x.Status != 200 {
		b.t.Fatalf("the appliance refused it: %d %s", x.Status, x.ResponseID)
	}
	if _, x := b.send(core.Backward, b.bodyOf(b.sentOf(body, row)), core.Request{}, core.Observation{Locator: -1}); x.Status != 200 {
		return
	}
	if watch != "" {
		if same(b.server.Stored(watch), watched) {
			b.t.Error("the old state came back")
		}
		return
	}
	if now, _ := b.rawRow(); same(settledRow(now), settledRow(row)) {
		b.t.Error("the old state came back")
	}
}

// sentOf are the fields of a body with their values in a row, or as sent.
func (b *bench) sentOf(body []byte, row core.Object) core.Object {
	b.t.Helper()
	out, err := canon.ParseObject(body)
	if err != nil {
		b.t.Fatal(err)
	}
	for name := range out {
		if row != nil {
			out[name] = row[name]
		}
	}
	return out
}

func (b *bench) bodyOf(fields core.Object) []byte { return []byte(encoded(b.t, fields)) }

// forced is the row as it is, and the body that would be sent without any check.
func (b *bench) forced() (core.Object, []byte) {
	row, ok := b.rawRow()
	if !ok {
		b.t.Fatal("there is no row to change")
	}
	state := b.forcedValues(row)
	if id, ok := row["id"]; ok {
		state = with(state, core.Object{"id": id})
	}
	return row, b.bodyOf(state)
}

// forcedValues are the stored fields that the request would set.
func (b *bench) forcedValues(row core.Object) core.Object {
	v := b.test.values
	switch b.test.symbol {
	case "FIREWALL_ALIAS_DESCRIPTION", "FIREWALL_RULE_DESCRIPTION":
		return core.Object{"descr": v["description"]}
	case "FIREWALL_ALIAS_ENTRIES":
		es := editEntries(padded(row), v)
		return pick(es.object(row), "address", "detail")
	case "DNS_RESOLVER_HOST_OVERRIDE_ADDRESS":
		return core.Object{"ip": v["addresses"]}
	case "FIREWALL_RULE_ENABLED", "NAT_PORT_FORWARD_ENABLED", "ROUTING_STATIC_ROUTE_ENABLED":
		return core.Object{"disabled": v["enabled"] == false}
	}
	return v
}

// rawRow is the target as the appliance shows it now.
func (b *bench) rawRow() (core.Object, bool) {
	data, err := b.reader.Read(context.Background(), b.spec.ReadPath)
	if err != nil {
		b.t.Fatal(err)
	}
	if row, ok := data.(core.Object); ok {
		return row, true
	}
	for _, row := range objectsIn(core.Reading{Data: map[string]any{b.spec.ReadPath: data}}, b.spec.ReadPath) {
		c, ok := b.c.(listed)
		if ok && same(c.key(row), pick(b.test.target, c.identity...)) {
			return row, true
		}
	}
	return nil, false
}

func settledRow(row core.Object) core.Object {
	out := core.Object{}
	for name, v := range row {
		if !blank(v) && name != "created_time" && name != "updated_time" && name != "created_by" && name != "updated_by" {
			out[name] = v
		}
	}
	return out
}
