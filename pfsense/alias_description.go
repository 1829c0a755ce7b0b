package pfsense

import (
	"unicode/utf8"

	"countersign/core"
)

// mostDescription is the bound of a request, in code points (conformance,
// request_fields). The API counts bytes; those are checked against a target.
const mostDescription = 1024

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
	c.form = func(a core.Object) []core.Field {
		return []core.Field{{Name: "description", Label: "Description", Kind: core.TextField,
			Help: "may be empty; 1024 bytes at most", Current: textOf(a, "descr"), Limit: mostDescription}}
	}
	c.parse = parseAliasDescription
	c.intend = func(fields, snapshot core.Object) core.Object {
		return with(snapshot, core.Object{"descr": fields["description"]})
	}
	c.admit = func(_ core.Reading, _ core.Observation, fields core.Object) error {
		if why := unwritable(textOf(fields, "description")); why != "" {
			return refuse(core.ErrRequest, "the description would not be stored as it is: "+why)
		}
		return nil
	}
	c.body = func(o core.Observation, state core.Object) []member {
		return []member{{"id", o.Locator}, {"name", o.Guard}, {"descr", state["descr"]}, {"apply", false}}
	}
	c.changes = func(fields, snapshot core.Object) []core.Change {
		return []core.Change{{Field: "description", Before: textOf(snapshot, "descr"), After: textOf(fields, "description")}}
	}
	return c
}

func parseAliasDescription(fields core.Object) (core.Object, error) {
	name, err := requestAliasName(fields)
	if err != nil {
		return nil, err
	}
	description, err := textMember(fields, "description")
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(description) > mostDescription {
		return nil, refuse(core.ErrRequest, "a description has 1024 characters at most")
	}
	if why := unstorable(description); why != "" {
		return nil, refuse(core.ErrRequest, why)
	}
	return core.Object{"alias_name": name, "description": description}, nil
}
