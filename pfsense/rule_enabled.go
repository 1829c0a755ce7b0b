package pfsense

import "countersign/core"

// newRuleEnabled enables or disables a firewall rule. The API never marks
// rule changes as pending: loading is always asked for.
func newRuleEnabled() listed {
	c := ruleChange(core.Spec{
		EndpointSymbol:      "FIREWALL_RULE_ENABLED",
		SemanticUnit:        "set_firewall_rule_enabled_v1",
		AdapterVersion:      "firewall-rule-enabled-v1",
		RollbackPlanVersion: "firewall-rule-enabled-rollback-v1",
		ContractPrefix:      "ruleon",
		Title:               "rule on or off",
		Loads:               core.Firewall,
		WayBack:             "the rule is switched back; connections that were cut meanwhile stay cut",
	})
	c.values = plain("enabled")
	c.form = enabledForm
	c.parse = func(fields core.Object) (core.Object, error) {
		tracker, err := requestTracker(fields)
		if err != nil {
			return nil, err
		}
		enabled, err := boolMember(fields, "enabled")
		return core.Object{"tracker": tracker, "enabled": enabled}, err
	}
	c.intend = func(fields, snapshot core.Object) core.Object {
		return with(snapshot, core.Object{"disabled": fields["enabled"] == false})
	}
	c.admit = func(core.Reading, core.Observation, core.Object) error { return nil }
	c.body = func(o core.Observation, state core.Object) []member {
		return []member{{"id", o.Locator}, {"tracker", o.Guard}, {"disabled", state["disabled"]}}
	}
	c.changes = func(fields, snapshot core.Object) []core.Change {
		return []core.Change{{Field: "rule", Before: enabledState(snapshot["disabled"]), After: enabledState(fields["enabled"] == false)}}
	}
	return c
}
