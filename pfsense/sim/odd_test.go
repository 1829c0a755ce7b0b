package sim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"countersign/pfsense/sim"
)

// oddBodies are what a client may send by mistake or by malice.
var oddBodies = []string{
	``, `{}`, `[]`, `null`, `5`, `{"id":null}`, `{"id":[0]}`, `{"id":{"a":1}}`, `{"id":-1}`, `{"id":0}`, `{"id":0.5}`, `{"id":true}`, `{"id":"x"}`,
	`{"id":0,"parent_id":null}`, `{"id":0,"parent_id":[1]}`, `{"id":0,"parent_id":0}`, `{"id":0,"parent_id":"lan","descr":"x"}`,
	`{"id":0,"placement":"x"}`, `{"id":0,"placement":-3}`, `{"id":0,"placement":1}`, `{"id":0,"sort_by":"descr","sort_order":"SORT_DESC"}`,
	`{"id":0,"address":null,"detail":null}`, `{"id":0,"address":[[1],{"a":2},null]}`, `{"id":0,"append":true,"remove":true,"address":["192.0.2.1"],"detail":["x"]}`,
	`{"id":0,"aliases":[{"host":"a"},5,null]}`, `{"id":0,"aliases":[{"host":"a","domain":"b.example"},{"host":"a","domain":"b.example"}]}`,
	`{"id":0,"aliases":{"x":{"host":"a","domain":"b.example"}}}`, `{"id":0,"source":5,"destination":null}`, `{"id":0,"interface":{"a":"lan"}}`,
	`{"id":0,"protocol":"any","associated_rule_id":"new"}`, `{"id":0,"tcp_flags_set":["syn"],"tcp_flags_out_of":["syn"]}`,
	`{"name":"x1","type":"host","timeserver":"192.0.2.1","network":"10.9.0.0/16","gateway":"LANGW","mac":"00:00:5e:00:53:aa","host":"h","domain":"d.example","ip":["192.0.2.1"],"interface":["lan"],"ipprotocol":"inet","source":"any","destination":"any","parent_id":"lan"}`,
	`{"interface":"wan","protocol":"tcp","source":"any","destination":"wan:ip","destination_port":"8080:8090","target":"203.0.113.9","local_port":"80","associated_rule_id":"new","descr":"made"}`,
	`[{"name":"x2"},{"name":"x2"}]`, `[5]`, `[null]`, `{"apply":true,"async":false}`, `{"all":true}`, `{"timezone":null,"nentries":null,"auth_methods":null}`,
}

// TestOddRequests sends every odd body to every endpoint, with every method to one version and with PATCH to the others.
// Each must be answered with an envelope, and the appliance must go on.
func TestOddRequests(t *testing.T) {
	endpoints := []string{"firewall/alias", "firewall/aliases", "firewall/rule", "firewall/rules", "firewall/nat/port_forward",
		"firewall/nat/port_forwards", "firewall/apply", "routing/static_route", "routing/static_routes", "routing/apply", "routing/gateways",
		"services/dns_resolver/host_override", "services/dns_resolver/host_overrides", "services/dns_resolver/host_override/alias",
		"services/dns_resolver/host_override/aliases", "services/dhcp_server/static_mapping", "services/dhcp_server/static_mappings",
		"services/ntp/settings", "services/ntp/time_server", "services/ntp/time_servers", "status/logs/settings", "status/system",
		"system/timezone", "system/hostname", "system/hasync", "system/restapi/version", "system/restapi/access_list",
		"diagnostics/config_history/revision", "diagnostics/config_history/revisions", "schema/openapi"}
	for _, profile := range sim.Profiles() {
		r := newRig(t, sim.Options{Profile: profile})
		r.client.Transport.(*http.Transport).DisableKeepAlives = false
		sent := 0
		methods := []string{http.MethodPatch}
		if profile == sim.Profile271 {
			methods = []string{http.MethodPatch, http.MethodPost, http.MethodPut, http.MethodGet, http.MethodDelete}
		}
		for _, ep := range endpoints {
			for _, method := range methods {
				for _, body := range oddBodies {
					got := r.do(method, "/"+ep, json.RawMessage(orNull(body)))
					if got.err != nil || got.id == "" && got.status != http.StatusNotFound && ep != "schema/openapi" {
						t.Fatalf("%s: %s %s %s: %d %v %.200s", profile, method, ep, body, got.status, got.err, got.raw)
					}
					sent++
				}
			}
		}
		t.Logf("%s: %d odd requests answered", profile, sent)
	}
}

func orNull(body string) string {
	if body == "" {
		return "null"
	}
	return body
}

// TestLifeOfAForward makes, changes and deletes a port forward with its linked rule, by the API alone.
func TestLifeOfAForward(t *testing.T) {
	r := newRig(t, sim.Options{})
	made := r.do(http.MethodPost, "/firewall/nat/port_forward", fields{"interface": "wan", "protocol": "tcp", "source": "any", "destination": "wan:ip",
		"destination_port": "8080:8090", "target": "203.0.113.9", "local_port": "80", "associated_rule_id": "new", "descr": "made here"})
	link, _ := made.data.(map[string]any)["associated_rule_id"].(string)
	if made.status != http.StatusOK || !strings.HasPrefix(link, "nat_") {
		t.Fatalf("making: %d %s", made.status, made.raw)
	}
	if r.srv.Stored("filter/rule/5/associated-rule-id") != link || r.srv.Stored("filter/rule/5/destination/address") != "203.0.113.9" {
		t.Errorf("linked rule %v", r.srv.Stored("filter/rule/5"))
	}
	if got := r.srv.Stored("nat/rule/3/destination/port"); got != "8080-8090" {
		t.Errorf("stored port range %v", got)
	}
	r.do(http.MethodPatch, "/firewall/nat/port_forward", fields{"id": 3, "disabled": true})
	if r.srv.Stored("filter/rule/5/disabled") != "" {
		t.Error("the linked rule was not disabled with it")
	}
	if got := r.do(http.MethodDelete, "/firewall/nat/port_forward?id=3", nil); got.status != http.StatusOK || r.srv.Stored("filter/rule/5") != nil {
		t.Errorf("deleting: %d, rule %v", got.status, r.srv.Stored("filter/rule/5"))
	}
}

// TestMoveRules places a rule, keeps sorted lists sorted, and deletes by a filter.
func TestMoveRules(t *testing.T) {
	r := newRig(t, sim.Options{})
	if got := r.do(http.MethodPatch, "/firewall/rule", fields{"id": 4, "placement": 0}); got.status != http.StatusOK || got.data.(map[string]any)["id"] != 0.0 {
		t.Fatalf("placing: %d %s", got.status, got.raw)
	}
	if r.srv.Stored("filter/rule/0/tracker") != "1700000005" || r.srv.Stored("filter/rule/1/tracker") != "1700000001" {
		t.Error("the rule is not at the top")
	}
	got := r.do(http.MethodPost, "/services/dns_resolver/host_override", fields{"host": "alpha", "domain": "example.net", "ip": []string{"192.0.2.1"}})
	if got.data.(map[string]any)["id"] != 1.0 || r.srv.Stored("unbound/hosts/1/host") != "alpha" {
		t.Errorf("a new host override is sorted in: %s", got.raw)
	}
	r.do(http.MethodDelete, "/routing/static_routes?descr__startswith=Branch", nil)
	if left, _ := r.srv.Stored("staticroutes/route").([]any); len(left) != 1 {
		t.Errorf("%d routes left", len(left))
	}
}
