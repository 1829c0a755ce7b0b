package pfsense

import "countersign/core"

// newRuleDescription changes the description of a firewall rule. What is
// filtered does not depend on it, so nothing has to be loaded; the label in
// the packet filter follows with the next reload, whoever asks for it.
func newRuleDescription() listed {
	c := ruleChange(core.Spec{
		EndpointSymbol:      "FIREWALL_RULE_DESCRIPTION",
		SemanticUnit:        "set_firewall_rule_description_v1",
		AdapterVersion:      "firewall-rule-description-v1",
		RollbackPlanVersion: "firewall-rule-description-rollback-v1",
		ContractPrefix:      "ruledescr",
		Title:               "rule description",
		Loads:               core.LoadsAtOnce,
		WayBack:             "the old description is written back",
	})
	c.values = []value{{"description", "new_description"}}
	c.form = func(p core.Object) []core.Field { return descriptionForm(textOf(p, "descr")) }
	c.parse = func(fields core.Object) (core.Object, error) {
		tracker, err := requestTracker(fields)
		if err != nil {
			return nil, err
		}
		description, err := requestDescription(fields)
		return core.Object{"tracker": tracker, "description": description}, err
	}
	c.intend = func(fields, snapshot core.Object) core.Object {
		out := with(snapshot, core.Object{"descr": fields["description"]})
		if blank(out["descr"]) {
			out["descr"] = nil // an empty text and none are one value in this fingerprint
		}
		return out
	}
	c.admit = admitDescription
	c.body = func(o core.Observation, state core.Object) []member {
		return []member{{"id", o.Locator}, {"tracker", o.Guard}, {"descr", textOf(state, "descr")}}
	}
	c.changes = descriptionChanges
	return c
}
