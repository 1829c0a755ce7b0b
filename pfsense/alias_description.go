package pfsense

import "countersign/core"

// newAliasDescription changes the description of a firewall alias. The packet
// filter does not read descriptions, so nothing has to be loaded.
func newAliasDescription() listed {
	c := aliasChange(core.Spec{
		EndpointSymbol:      "FIREWALL_ALIAS_DESCRIPTION",
		SemanticUnit:        "set_firewall_alias_description_v1",
		AdapterVersion:      "firewall-alias-description-v1",
		RollbackPlanVersion: "firewall-alias-description-rollback-v1",
		ContractPrefix:      "aliasdescr",
		Title:               "alias description",
		Loads:               core.LoadsAtOnce,
		WayBack:             "the old description is written back",
	})
	c.values = []value{{"description", "new_description"}}
	c.project = func(_ core.Reading, row core.Object) (core.Object, error) { return aliasProjection(row) }
	c.form = func(a core.Object) []core.Field { return descriptionForm(textOf(a, "descr")) }
	c.parse = func(fields core.Object) (core.Object, error) {
		name, err := requestAliasName(fields)
		if err != nil {
			return nil, err
		}
		description, err := requestDescription(fields)
		return core.Object{"alias_name": name, "description": description}, err
	}
	c.intend = func(fields, snapshot core.Object) core.Object {
		return with(snapshot, core.Object{"descr": fields["description"]})
	}
	c.admit = admitDescription
	c.body = func(o core.Observation, state core.Object) []member {
		return []member{{"id", o.Locator}, {"name", o.Guard}, {"descr", state["descr"]}, {"apply", false}}
	}
	c.changes = descriptionChanges
	return c
}
