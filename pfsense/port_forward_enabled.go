package pfsense

import (
	"strconv"
	"strings"

	"countersign/core"
)

const (
	portForwardPath  = "/api/v2/firewall/nat/port_forward"
	portForwardsPath = "/api/v2/firewall/nat/port_forwards"
	// createdLongAgo is by how many seconds a creation time must lie behind
	// the newest time in the list to be a stored one: the API says "now" for
	// an object that has none.
	createdLongAgo = 600
	// linkedPrefix marks the linked rule's fields in a fingerprint.
	linkedPrefix = "rule_"
)

// newPortForwardEnabled enables or disables a port forward. Every write of a
// forward rewrites the rule that is linked to it, so that rule is part of the
// fingerprint and shown before and after.
func newPortForwardEnabled() listed {
	return listed{
		shape: shape{
			spec: core.Spec{
				Capability: "FIREWALL_WRITE", EndpointSymbol: "NAT_PORT_FORWARD_ENABLED", Method: "PATCH",
				SemanticUnit:        "set_port_forward_enabled_v1",
				AdapterVersion:      "port-forward-enabled-v1",
				RollbackPlanVersion: "port-forward-enabled-rollback-v1",
				ContractPrefix:      "fwdon",
				Title:               "port forward on or off", Noun: "port forward",
				WritePath: portForwardPath, ReadPath: portForwardsPath,
				OtherReads:    []string{rulesPath, pathAPIVersion},
				OptionalReads: []string{aliasesPath, interfacesPath, gatewaysPath, gatewayGroupsPath},
				Loads:         core.Firewall,
				Marks:         []string{"natconf"},
				Refusals: refusals(core.Refusals{
					400: {"MODEL_REQUIRES_ID", "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE",
						"LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "FILTER_ADDRESS_FIELD_INVALID",
						"FILTER_RULE_ADDRESS_FIELD_WITH_INVERT_ANY", "PORT_FIELD_INVALID",
						"SPECIAL_NETWORK_FIELD_INVALID", "IP_ADDRESS_VALIDATOR_FAILED"},
					404: {"MODEL_OBJECT_NOT_FOUND", "FOREIGN_MODEL_FIELD_VALUE_NOT_FOUND"},
				}),
				WayBack: "the forward and its linked rule are switched back; connections that were cut meanwhile stay cut",
			},
			identity: forwardIdentity(),
			values:   plain("enabled"),
		},
		key: func(row core.Object) core.Object {
			out := core.Object{}
			for _, name := range forwardIdentity() {
				out[name] = textOf(row, name)
			}
			return out
		},
		label: forwardLabel, summary: forwardSummary,
		guard: storedCreationTime, related: linkedRule,
		project: forwardProjection, stored: checkStoredForward,
		form:  enabledForm,
		parse: parseForwardEnabled,
		intend: func(fields, snapshot core.Object) core.Object {
			out := with(snapshot, core.Object{"disabled": fields["enabled"] == false})
			if followsForward(snapshot) {
				out[linkedPrefix+"disabled"] = out["disabled"]
			}
			return out
		},
		admit:   func(core.Reading, core.Observation, core.Object) error { return nil },
		body:    forwardBody,
		changes: forwardChanges,
	}
}

// forwardIdentity are the members that a forward is recognised by, together.
func forwardIdentity() []string {
	return []string{"interface", "protocol", "destination", "destination_port", "descr"}
}

func forwardLabel(identity core.Object) string {
	out := textOf(identity, "interface") + " " + textOf(identity, "protocol")
	if port := textOf(identity, "destination_port"); port != "" {
		return out + " " + port
	}
	return out + " " + textOf(identity, "destination")
}

func forwardSummary(row core.Object) string {
	out := enabledState(row["disabled"]) + ", " + textOf(row, "destination") + " to " + textOf(row, "target")
	if port := textOf(row, "local_port"); port != "" {
		out += " port " + port
	}
	if descr := textOf(row, "descr"); descr != "" {
		out += ": " + strconv.Quote(descr)
	}
	return out
}

func parseForwardEnabled(fields core.Object) (core.Object, error) {
	out := core.Object{}
	for _, name := range forwardIdentity() {
		s, err := textMember(fields, name)
		if err != nil {
			return nil, err
		}
		if len(s) > maxTextBytes || unstorable(s) != "" {
			return nil, refuse(core.ErrRequest, "the "+name+" is not one that a port forward can have")
		}
		out[name] = s
	}
	enabled, err := boolMember(fields, "enabled")
	out["enabled"] = enabled
	return out, err
}

// forwardProjection is the forward together with its linked rule.
func forwardProjection(r core.Reading, row core.Object) (core.Object, error) {
	out, err := settled(row, "interface", "ipprotocol", "protocol", "source", "source_port", "destination",
		"destination_port", "target", "local_port", "disabled", "nordr", "nosync", "descr", "natreflection", "associated_rule_id")
	if err != nil {
		return nil, err
	}
	if !isBool(out["disabled"]) {
		return nil, refuse(core.ErrTargetUnsupported, "the firewall does not say whether it is disabled")
	}
	id := textOf(out, "associated_rule_id")
	if id == "" || id == "pass" {
		return out, nil
	}
	rules := rulesLinkedTo(objectsIn(r, rulesPath), id)
	if len(rules) != 1 {
		return nil, refuse(core.ErrTargetUnsupported, "it must have one linked rule and has "+strconv.Itoa(len(rules))+"; save it once in the firewall's own page")
	}
	rule, err := settled(rules[0], ruleFields()...)
	if err != nil {
		return nil, refuse(core.ErrTargetUnsupported, "its linked rule could not be written back as it is")
	}
	for name, v := range rule {
		out[linkedPrefix+name] = v
	}
	if out[linkedPrefix+"follows"], err = ruleFollows(r); err != nil {
		return nil, err
	}
	return out, nil
}

// ruleFollows reports whether the API switches the linked rule together with
// its forward, as it does from 2.7.0 on.
func ruleFollows(r core.Reading) (bool, error) {
	row, _ := r.Data[pathAPIVersion].(core.Object)
	version, ok := parseVersion(textOf(row, "current_version"))
	if !ok {
		return false, refuse(core.ErrTargetUnsupported, "the firewall does not say which version its REST API has, and what happens to the linked rule depends on it")
	}
	return !version.before(2, 7), nil
}

func followsForward(p core.Object) bool { return p[linkedPrefix+"follows"] == true }

func hasLinkedRule(p core.Object) bool { return p[linkedPrefix+"tracker"] != nil }

// checkStoredForward refuses a forward that the API refuses, and one whose
// linked rule is not what the API would make of it: the write would overwrite
// it, or fail half done.
func checkStoredForward(r core.Reading, o core.Observation) error {
	p, x := o.Projection, referencesIn(r)
	why := badForward(x, p)
	if why == "" && hasLinkedRule(p) {
		why = badLink(x, p)
	}
	if why != "" {
		return refuse(core.ErrTargetUnsupported, why)
	}
	return nil
}

func badForward(x references, p core.Object) string {
	ported := oneOf(p["protocol"], "tcp", "udp", "tcp/udp")
	target, port := textOf(p, "target"), textOf(p, "local_port")
	switch {
	case !ported && !oneOf(p["protocol"], "any", "icmp", "esp", "ah", "gre", "ipv6", "igmp", "pim", "ospf"):
		return "the API can read forwards of this protocol but not change them"
	case !oneOf(p["ipprotocol"], "inet", "inet6", "inet46"):
		return "it has no address family, so the API refuses every change; save it once in the firewall's own page"
	case p["natreflection"] != nil && !oneOf(p["natreflection"], "enable", "disable", "purenat"):
		return "the API does not know its NAT reflection, so it refuses every change"
	case target == "" || ported && port == "":
		return "it has no target, so the API refuses every change"
	case !ported && (port != "" || p["source_port"] != nil || p["destination_port"] != nil):
		return "it has ports that do not apply to its protocol, and any change through the API would erase them"
	case !isHostAddress(target) && x.badAlias(target, false) != "":
		return x.badAlias(target, false) + " (target), so the API refuses every change"
	case ported && x.badPort(port, false) != "":
		return x.badPort(port, false) + " (local port), so the API refuses every change"
	}
	if why := badRuleEnds(x, p); why != "" {
		return why
	}
	return badTexts(p, "descr")
}

// badLink compares the linked rule with what the API writes into it.
func badLink(x references, p core.Object) string {
	want := core.Object{"type": "pass", "interface": []any{p["interface"]}, "ipprotocol": p["ipprotocol"],
		"protocol": p["protocol"], "source": p["source"], "source_port": p["source_port"],
		"destination": p["target"], "destination_port": p["local_port"]}
	if followsForward(p) {
		want["disabled"] = p["disabled"]
	}
	rule := core.Object{}
	for _, name := range ruleFields() {
		rule[name] = p[linkedPrefix+name]
	}
	for name, v := range want {
		if !same(rule[name], v) {
			return "its linked rule was edited by hand, and any change through the API would overwrite that"
		}
	}
	if why := badRule(x, rule); why != "" {
		return "its linked rule would stop the change half done: " + why
	}
	return ""
}

// storedCreationTime is the guard: the creation time, if it is stored.
func storedCreationTime(r core.Reading, row core.Object) any {
	created, ok := row["created_time"].(int64)
	if !ok {
		return nil
	}
	newest := int64(0)
	for _, other := range objectsIn(r, portForwardsPath) {
		for _, name := range []string{"created_time", "updated_time"} {
			if at, ok := other[name].(int64); ok {
				newest = max(newest, at)
			}
		}
	}
	if created > newest-createdLongAgo {
		return nil
	}
	return created
}

func forwardBody(o core.Observation, state core.Object) []member {
	out := []member{{"id", o.Locator}}
	if o.Guard != nil {
		out = append(out, member{"created_time", o.Guard})
	}
	return append(out, member{"disabled", state["disabled"]})
}

func forwardChanges(fields, snapshot core.Object) []core.Change {
	before, after := enabledState(snapshot["disabled"]), enabledState(fields["enabled"] == false)
	out := []core.Change{{Field: "port forward", Before: before, After: after}}
	if !hasLinkedRule(snapshot) {
		return out
	}
	rule := core.Change{Field: "linked rule " + shown(snapshot[linkedPrefix+"tracker"]), Before: enabledState(snapshot[linkedPrefix+"disabled"])}
	rule.After = rule.Before
	if followsForward(snapshot) {
		rule.After = after
	}
	return append(out, rule)
}

// linkedRule shows the linked rule as it is.
func linkedRule(p core.Object) []core.Change {
	if !hasLinkedRule(p) {
		return nil
	}
	rule := core.Object{}
	for name, v := range p {
		if short, ok := strings.CutPrefix(name, linkedPrefix); ok {
			rule[short] = v
		}
	}
	state := enabledState(rule["disabled"]) + ", " + strings.TrimPrefix(ruleSummary(rule), "disabled, ")
	return []core.Change{{Field: "linked rule " + shown(rule["tracker"]), Before: state, After: state}}
}
