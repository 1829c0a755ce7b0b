package pfsense

import (
	"slices"
	"strconv"

	"countersign/core"
)

const (
	rulePath  = "/api/v2/firewall/rule"
	rulesPath = "/api/v2/firewall/rules"
)

// ruleFields are fingerprinted: all that the API shows of a rule but its
// position and who changed it when, which every write changes.
func ruleFields() []string {
	return []string{"type", "interface", "ipprotocol", "protocol", "icmptype", "source", "source_port",
		"destination", "destination_port", "descr", "disabled", "log", "dscp", "tag", "statetype",
		"tcp_flags_any", "tcp_flags_out_of", "tcp_flags_set", "gateway", "sched", "dnpipe", "pdnpipe",
		"defaultqueue", "ackqueue", "floating", "quick", "direction", "tracker", "associated_rule_id"}
}

// ruleRefusals are the rule model's own checks, all made before it writes.
func ruleRefusals() core.Refusals {
	return refusals(core.Refusals{
		400: {"MODEL_REQUIRES_ID", "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE",
			"LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "FILTER_ADDRESS_FIELD_INVALID",
			"FILTER_RULE_ADDRESS_FIELD_WITH_INVERT_ANY", "PORT_FIELD_INVALID",
			"FIREWALL_RULE_MULTIPLE_INTERFACE_WITHOUT_FLOATING",
			"FIREWALL_RULE_TCP_FLAGS_SET_NOT_IN_TCP_FLAGS_OUT_OF",
			"FIREWALL_RULE_SYNPROXY_STATE_TYPE_WITH_GATEWAY", "FIREWALL_RULE_SYNPROXY_STATE_TYPE_WITH_NON_TCP_PROTOCOL",
			"FIREWALL_RULE_ACKQUEUE_MATCHES_DEFAULTQUEUE", "FIREWALL_RULE_ACKQUEUE_WITHOUT_DEFAULTQUEUE",
			"FIREWALL_RULE_PDNPIPE_CANNOT_MATCH_DNPIPE", "FIREWALL_RULE_PDNPIPE_SET_WITHOUT_DNPIPE"},
		404: {"MODEL_OBJECT_NOT_FOUND", "FOREIGN_MODEL_FIELD_VALUE_NOT_FOUND",
			"FIREWALL_RULE_DNPIPE_NOT_FOUND", "FIREWALL_RULE_PDNPIPE_NOT_FOUND"},
		409: {"FIREWALL_RULE_PDNPIPE_DOES_NOT_MATCH_DNPIPE_LIMITER_TYPE"},
	})
}

// ruleChange is what all changes of rules share. A rule's identity is its
// tracker: two rules that were made in one second share it, and are refused.
func ruleChange(spec core.Spec) listed {
	spec.Capability, spec.Method, spec.Noun = "FIREWALL_WRITE", "PATCH", "rule"
	spec.WritePath, spec.ReadPath = rulePath, rulesPath
	spec.OptionalReads = []string{aliasesPath, interfacesPath, gatewaysPath, gatewayGroupsPath}
	spec.Refusals = ruleRefusals()
	return listed{
		shape:   shape{spec: spec, identity: []string{"tracker"}},
		key:     func(row core.Object) core.Object { return core.Object{"tracker": row["tracker"]} },
		label:   func(identity core.Object) string { return shown(identity["tracker"]) },
		summary: ruleSummary,
		guard:   func(_ core.Reading, row core.Object) any { return row["tracker"] },
		project: func(_ core.Reading, row core.Object) (core.Object, error) { return ruleProjection(row) },
		stored: func(r core.Reading, o core.Observation) error {
			if why := badRule(referencesIn(r), o.Projection); why != "" {
				return refuse(core.ErrTargetUnsupported, why)
			}
			return nil
		},
	}
}

func requestTracker(fields core.Object) (int64, error) {
	return intMember(fields, "tracker", 1, 1<<53)
}

func ruleProjection(row core.Object) (core.Object, error) {
	switch {
	case !between(row["tracker"], 1, 1<<53):
		return nil, refuse(core.ErrTargetUnsupported, "it has no tracker to recognise it by; save it once in the firewall's own page")
	case !isBool(row["disabled"]):
		return nil, refuse(core.ErrTargetUnsupported, "the firewall does not say whether it is disabled")
	}
	return settled(row, ruleFields()...)
}

// badRule says why the API refuses every change of a rule, or why a change
// would lose something else of it, or "".
func badRule(x references, p core.Object) string {
	for _, check := range []func(references, core.Object) string{badRuleKind, badRuleConditions, badRuleEnds} {
		if why := check(x, p); why != "" {
			return why
		}
	}
	return ""
}

func badRuleKind(_ references, p core.Object) string {
	switch {
	case !oneOf(p["type"], "pass", "block", "reject"):
		return "the API can read rules of this type but not change them"
	case !oneOf(p["ipprotocol"], "inet", "inet6", "inet46"):
		return "it has no address family, so the API refuses every change; save it once in the firewall's own page"
	case p["protocol"] != nil && !oneOf(p["protocol"], "tcp", "udp", "tcp/udp", "icmp", "esp", "ah", "gre", "ipv6", "igmp", "pim", "ospf", "carp", "pfsync"):
		return "the API can read rules of this protocol but not change them"
	case !oneOf(p["statetype"], "keep state", "sloppy state", "synproxy state", "none"):
		return "its state type is empty, so the API refuses every change; save it once in the firewall's own page"
	}
	interfaces, _ := p["interface"].([]any)
	if len(interfaces) > 1 && p["floating"] != true {
		return "it is on several interfaces but not floating, so the API refuses every change"
	}
	return badTexts(p, "descr", "tag")
}

// badRuleConditions: a write drops fields whose condition does not hold.
func badRuleConditions(_ references, p core.Object) string {
	ported := oneOf(p["protocol"], "tcp", "udp", "tcp/udp")
	switch {
	case !ported && (p["source_port"] != nil || p["destination_port"] != nil),
		p["protocol"] != "icmp" && p["icmptype"] != nil,
		p["tcp_flags_any"] == true && (p["tcp_flags_out_of"] != nil || p["tcp_flags_set"] != nil),
		p["floating"] != true && (p["quick"] != nil || p["direction"] != nil):
		return "it has leftover options that do not apply to it, and any change through the API would erase them"
	}
	return ""
}

// badRuleEnds looks up what a rule names.
func badRuleEnds(x references, p core.Object) string {
	for _, name := range []string{"source", "destination"} {
		address, ok := p[name].(string)
		if !ok {
			return "it has no " + name + ", so the API refuses every change"
		}
		if why := x.badAddress(address); why != "" {
			return why + " (" + name + "), so the API refuses every change"
		}
		if port, ok := p[name+"_port"].(string); ok {
			if why := x.badPort(port, true); why != "" {
				return why + " (" + name + " port), so the API refuses every change"
			}
		}
	}
	if gateway, ok := p["gateway"].(string); ok {
		if why := x.badGateway(gateway); why != "" {
			return why + ", so the API refuses every change"
		}
	}
	return ""
}

// badTexts says which of these texts could not be written back, or "".
func badTexts(p core.Object, names ...string) string {
	for _, name := range names {
		if why := unwritable(textOf(p, name)); why != "" {
			return name + " could not be written back: " + why
		}
	}
	return ""
}

func ruleSummary(row core.Object) string {
	out := textOf(row, "type") + " on " + words(row["interface"]) + ", " + textOf(row, "source") + " to " + textOf(row, "destination")
	if port := textOf(row, "destination_port"); port != "" {
		out += " port " + port
	}
	if row["disabled"] == true {
		out = "disabled, " + out
	}
	if !blank(row["associated_rule_id"]) {
		out += ", linked to a port forward"
	}
	if descr := textOf(row, "descr"); descr != "" {
		out += ": " + strconv.Quote(descr)
	}
	return out
}

// enabledState is how a disabled flag is shown.
func enabledState(disabled any) string {
	if disabled == true {
		return "disabled"
	}
	return "enabled"
}

// enabledForm asks whether an object is in use.
func enabledForm(p core.Object) []core.Field {
	return []core.Field{{Name: "enabled", Label: "Enabled", Kind: core.BoolField, Current: p["disabled"] != true}}
}

// rulesLinkedTo are the rules that belong to a port forward.
func rulesLinkedTo(rules []core.Object, id string) []core.Object {
	return slices.DeleteFunc(slices.Clone(rules), func(row core.Object) bool { return row["associated_rule_id"] != id })
}
