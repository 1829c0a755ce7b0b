package core_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// strangersText is what another administrator writes and nobody may repeat.
const strangersText = "Kanarie-4711"

// drifts says how another administrator changes each fingerprinted field of a
// capability's target alone: texts to set under the target's own place in the
// configuration, "-" to delete. hidden are the fields that cannot be changed
// alone: the API shows them only with another value of a second field.
type drifts struct {
	place  string // config path of the target
	edits  map[string]string
	hidden []string
}

// ruleEdits fit every rule; what differs is added.
var ruleEdits = map[string]string{"ackqueue": "ackqueue=q1", "associated_rule_id": "associated-rule-id=nat_1", "defaultqueue": "defaultqueue=q2",
	"descr": "descr=" + strangersText, "disabled": "disabled=", "dnpipe": "dnpipe=1", "floating": "floating=yes", "gateway": "gateway=LANGW",
	"interface": "interface=lan", "ipprotocol": "ipprotocol=inet6", "log": "log=", "pdnpipe": "pdnpipe=2", "protocol": "protocol=udp",
	"sched": "sched=" + strangersText, "statetype": "statetype=none", "tag": "tag=" + strangersText, "tcp_flags_any": "tcpflags_any=",
	"tcp_flags_out_of": "tcpflags2=syn,ack", "tcp_flags_set": "tcpflags1=syn", "tracker": "tracker=1700007777", "type": "type=reject",
	"source": "source/any=-|source/address=trusted_hosts", "source_port": "source/port=1234", "destination_port": "destination/port=8443",
	"destination": "destination/any=-|destination/address=203.0.113.99"}

// ruleHidden need a floating rule or one for ICMP; the version does not know dscp.
var ruleHidden = []string{"direction", "dscp", "icmptype", "quick"}

func edited(base map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, base)
	for _, m := range more {
		field, edit, _ := strings.Cut(m, ": ")
		out[field] = edit
	}
	return out
}

func allDrifts() map[string]drifts {
	alias := map[string]string{"address": "address=192.0.2.99 192.0.2.98 192.0.2.97", "descr": "descr=" + strangersText, "detail": "detail=" + strangersText + "||b||c",
		"name": "name=renamed_meanwhile", "type": "type=network"}
	forward := edited(nil, "associated_rule_id: associated-rule-id=pass", "descr: descr="+strangersText, "destination: destination/network=lanip",
		"destination_port: destination/port=444", "disabled: disabled=", "interface: interface=lan", "ipprotocol: ipprotocol=inet6",
		"local_port: local-port=444", "natreflection: natreflection=purenat", "nordr: nordr=", "nosync: nosync=", "protocol: protocol=udp",
		"source: source/any=-|source/address=trusted_hosts", "source_port: source/port=1234", "target: target=203.0.113.99")
	linked := edited(ruleEdits, "source: source/any=-|source/address=trusted_hosts", "destination: destination/address=203.0.113.99")
	for field, edit := range linked {
		forward["rule_"+field] = "/filter/rule/2/" + strings.ReplaceAll(edit, "|", "|/filter/rule/2/")
	}
	logs := drifts{place: "syslog", edits: edited(nil, "disablelocallogging: disablelocallogging=", "enableremotelogging: enable=",
		"filterdescriptions: filterdescriptions=2", "format: format=rfc5424", "logcompressiontype: logcompressiontype=xz",
		"logconfigchanges: logconfigchanges=enabled", "logfilesize: logfilesize=700000", "nentries: nentries=77", "nologbogons: nologbogons=",
		"nologdefaultblock: nologdefaultblock=", "nologdefaultpass: nologdefaultpass=", "nolognginx: nolognginx=",
		"nologprivatenets: nologprivatenets=", "rawfilter: rawfilter=", "reverseorder: reverse=", "rotatecount: rotatecount=8"),
		hidden: []string{"auth", "dhcp", "dpinger", "filter", "hostapd", "ipprotocol", "logall", "ntpd", "portalauth", "ppp", "remoteserver",
			"remoteserver2", "remoteserver3", "resolver", "routing", "sourceip", "system", "vpn"}} // shown with remote logging on
	return map[string]drifts{
		"FIREWALL_ALIAS_DESCRIPTION": {place: "aliases/alias/1", edits: alias},
		"FIREWALL_ALIAS_ENTRIES": {place: "aliases/alias/5", edits: edited(alias, "address: address=192.0.2.99 192.0.2.98",
			"detail: detail="+strangersText+"||b")},
		"FIREWALL_RULE_ENABLED":     {place: "filter/rule/1", edits: edited(ruleEdits, "log: log=-"), hidden: ruleHidden},
		"FIREWALL_RULE_DESCRIPTION": {place: "filter/rule/1", edits: edited(ruleEdits, "log: log=-"), hidden: ruleHidden},
		"NAT_PORT_FORWARD_ENABLED":  {place: "nat/rule/0", edits: forward, hidden: []string{"rule_follows", "rule_direction", "rule_dscp", "rule_icmptype", "rule_quick"}},
		"DNS_RESOLVER_HOST_OVERRIDE_ADDRESS": {place: "unbound/hosts/1", edits: edited(nil, "aliases: aliases/item/0/description="+strangersText,
			"descr: descr="+strangersText, "domain: domain=example.org", "host: host=renamed", "ip: ip=198.51.100.99")},
		"ROUTING_STATIC_ROUTE_ENABLED": {place: "staticroutes/route/2", edits: edited(nil, "descr: descr="+strangersText, "disabled: disabled=-",
			"gateway: gateway=WANGW", "network: network=10.41.0.0/16")},
		"NTP_TIME_SERVER_PREFER": {edits: edited(nil, "prefer: /ntpd/prefer=1.pool.example.net",
			"timeserver: /system/timeservers=0.pool.example.net 2.pool.example.net", "type: /ntpd/ispeer=1.pool.example.net|/ntpd/ispool=0.pool.example.net"),
			hidden: []string{"noselect"}}, // not for a pool
		"NTP_SETTINGS_OBSERVABILITY_TOGGLES": {place: "ntpd", edits: edited(nil, "clockstats: clockstats=yes", "dnsresolv: dnsresolv=inet6",
			"enable: enable=disabled", "interface: interface=wan", "leapsec: leapsec="+strangersText, "logpeer: logpeer=yes", "logsys: logsys=yes",
			"loopstats: loopstats=yes", "ntpmaxpeers: ntpmaxpeers=7", "ntpmaxpoll: ntpmaxpoll=9", "ntpminpoll: ntpminpoll=5", "orphan: orphan=11",
			"peerstats: peerstats=yes", "serverauth: serverauth=yes", "serverauthalgo: serverauthalgo=sha1", "statsgraph: statsgraph=yes")},
		"LOG_DISPLAY_PREFERENCES": logs, "LOG_RETENTION_SETTINGS": logs,
		"SYSTEM_TIMEZONE": {edits: edited(nil, "timezone: /system/timezone=Europe/Vienna")},
	}
}

// apply makes one edit in the configuration.
func (d drifts) apply(edit string) func(*sim.Config) {
	return func(c *sim.Config) {
		for _, part := range strings.Split(edit, "|") {
			path, text, _ := strings.Cut(part, "=")
			if path = strings.TrimPrefix(path, "/"); !strings.HasPrefix(part, "/") {
				path = d.place + "/" + path
			}
			if text == "-" {
				c.Delete(path)
			} else {
				c.Set(path, text)
			}
		}
	}
}

// TestCapabilityDrift: whichever fingerprinted field of a target somebody
// changes between the confirmation and the send, nothing is sent, the contract
// is FAILED, and nothing that is told or recorded repeats the new value.
func TestCapabilityDrift(t *testing.T) {
	all, cases, hidden := allDrifts(), 0, 0
	for _, c := range pfsense.Capabilities() {
		spec := c.Spec()
		t.Run(spec.EndpointSymbol, func(t *testing.T) {
			d, s := all[spec.EndpointSymbol], newSendStage(t, spec, core.Forward)
			before := s.observe(t)
			for field := range before.Projection {
				if _, ok := d.edits[field]; ok == slices.Contains(d.hidden, field) {
					t.Errorf("%s is fingerprinted and not edited, or said to be hidden and edited", field)
				}
			}
			for field, edit := range d.edits {
				if _, ok := before.Projection[field]; !ok {
					t.Errorf("%s is edited and not fingerprinted", field)
				}
				t.Run(field, func(t *testing.T) { s.mustRefuse(t, c, before, field, d.apply(edit)) })
				cases++
			}
			hidden += len(d.hidden)
		})
	}
	t.Logf("capability drift: %d capabilities, %d fingerprinted fields changed by another admin: FAILED, 0 sends; %d fields cannot be changed alone",
		len(all), cases, hidden)
}

// mustRefuse edits one field and executes.
func (s *sendStage) mustRefuse(t *testing.T, c core.Capability, before core.Observation, field string, edit func(*sim.Config)) {
	r := s.open(t, rigOptions{})
	s.sim.Admin().Edit("meanwhile", edit)
	want := s.mustShow(r, c, before, field)
	sent := r.sends()
	p := r.execute(s.id)
	r.mustBe(s.id, core.Failed)
	if n := r.sends() - sent; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if got := lastNote(t, r, s.id).Failure; !slices.Contains(want, got) {
		t.Errorf("recorded is %q, want one of %q", got, want)
	}
	r.mustBeValueFree(s.id, p, append(s.secrets, strangersText)...)
}

// mustShow: the edit is one of the field that it is meant for, or the target
// is not found or not readable any more. It says what is then recorded.
func (s *sendStage) mustShow(r *rig, c core.Capability, before core.Observation, field string) []core.FailureClass {
	r.t.Helper()
	reading, err := core.ReadFor(ctx(), r.reader, s.spec, r.clock)
	r.must(err)
	now, err := c.Observe(reading, before.Identity)
	if err != nil {
		return []core.FailureClass{core.FailureMissing, core.FailureUnsupported}
	}
	var changed []string
	for name, v := range now.Projection {
		if !reflect.DeepEqual(v, before.Projection[name]) {
			changed = append(changed, name)
		}
	}
	if !slices.Contains(changed, field) {
		r.t.Fatalf("the edit of %s changes %v", field, changed)
	}
	return []core.FailureClass{core.FailureDrift}
}

// observe is the target before anybody edits it.
func (s *sendStage) observe(t *testing.T) core.Observation {
	t.Helper()
	r := s.open(t, rigOptions{})
	defer r.close()
	d, err := r.engine.Prepare(ctx(), s.spec.EndpointSymbol, s.fields, "")
	r.must(err)
	return d.Observation
}
