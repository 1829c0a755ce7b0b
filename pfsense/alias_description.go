package pfsense

import (
	"unicode/utf8"

	"countersign/core"
)

// aliasDescription changes the description of a firewall alias. The packet
// filter does not read descriptions, so nothing has to be loaded.
type aliasDescription struct{ shape }

// mostDescription is the request's bound, in code points (conformance,
// request_fields). The API counts bytes; Admit checks those.
const mostDescription = 1024

func newAliasDescription() aliasDescription {
	return aliasDescription{shape{
		spec: core.Spec{
			Capability: "ALIAS_WRITE", EndpointSymbol: "FIREWALL_ALIAS_DESCRIPTION", Method: "PATCH",
			SemanticUnit:        "set_firewall_alias_description_v1",
			AdapterVersion:      "firewall-alias-description-v1",
			RollbackPlanVersion: "firewall-alias-description-rollback-v1",
			ContractPrefix:      "aliasdescr",
			Title:               "alias description", Noun: "alias",
			WritePath: aliasPath, ReadPath: aliasesPath,
			Loads: core.LoadsAtOnce, Refusals: aliasRefusals(),
			WayBack: "the old description is written back",
		},
		identity: []string{"alias_name"},
		values:   []value{{"description", "new_description"}},
	}}
}

// Form asks for the new description.
func (aliasDescription) Form(o core.Observation) []core.Field {
	return []core.Field{{Name: "description", Label: "Description", Kind: core.TextField,
		Help: "May be empty. Up to 1024 bytes.", Current: textOf(o.Projection, "descr"), Limit: mostDescription}}
}

// Targets lists the aliases.
func (aliasDescription) Targets(r core.Reading) ([]core.Target, error) {
	return aliasTargets(r, checkStoredAlias)
}

// ParseRequest validates alias_name and description.
func (c aliasDescription) ParseRequest(fields core.Object) (core.Request, error) {
	if err := exactly(fields, c.memberNames()...); err != nil {
		return core.Request{}, err
	}
	name, err := requestAliasName(fields)
	if err != nil {
		return core.Request{}, err
	}
	description, err := textMember(fields, "description")
	if err != nil {
		return core.Request{}, err
	}
	if utf8.RuneCountInString(description) > mostDescription {
		return core.Request{}, refuse(core.ErrRequest, "a description has 1024 characters at most")
	}
	if why := unstorable(description); why != "" {
		return core.Request{}, refuse(core.ErrRequest, why)
	}
	return core.Request{Fields: core.Object{"alias_name": name, "description": description}}, nil
}

// RequestFromIntent restores the request.
func (c aliasDescription) RequestFromIntent(intent core.Object) (core.Request, error) {
	fields, err := c.restore(intent)
	if err != nil {
		return core.Request{}, err
	}
	return c.ParseRequest(fields)
}

// Observe finds the alias by its name.
func (c aliasDescription) Observe(r core.Reading, identity core.Object) (core.Observation, error) {
	if err := c.checkIdentity(identity); err != nil {
		return core.Observation{}, err
	}
	return observeAlias(r, textOf(identity, "alias_name"))
}

// RawTarget adds the position to the fingerprinted fields.
func (aliasDescription) RawTarget(snapshot core.Object, locator int64) core.Object {
	return with(snapshot, core.Object{"id": locator})
}

// Admit refuses no change, and text that would not be stored as sent.
func (aliasDescription) Admit(r core.Reading, o core.Observation, req core.Request) error {
	description := textOf(req.Fields, "description")
	if description == o.Projection["descr"] {
		return refuse(core.ErrNoChange, "the description is already that")
	}
	if why := unwritable(description); why != "" {
		return refuse(core.ErrRequest, "the description cannot be stored as it is: "+why)
	}
	rows, err := rowsAt(r, aliasesPath, mostAliases)
	if err != nil {
		return err
	}
	return checkStoredAlias(rows, o.Projection)
}

// Forward sends the new description.
func (c aliasDescription) Forward(req core.Request, o core.Observation) ([]byte, error) {
	return encodeBody(c.body(o, req.Fields["description"])...)
}

// Rollback sends the old description.
func (c aliasDescription) Rollback(snapshot core.Object, o core.Observation) ([]byte, error) {
	return encodeBody(c.body(o, snapshot["descr"])...)
}

// body is the reference's, with the guard (design section 4, rule 6).
func (aliasDescription) body(o core.Observation, descr any) []member {
	return []member{{"id", o.Locator}, {"name", o.Projection["name"]}, {"descr", descr}, {"apply", false}}
}

// CheckAnswer wants the same alias back.
func (aliasDescription) CheckAnswer(data any, o core.Observation) error {
	return checkAliasAnswer(data, o)
}

// Intended is the alias with the new description.
func (aliasDescription) Intended(req core.Request, snapshot core.Object) core.Object {
	return with(snapshot, core.Object{"descr": req.Fields["description"]})
}

// Applied reports whether the description alone is as requested.
func (c aliasDescription) Applied(req core.Request, snapshot core.Object, now core.Observation) bool {
	return same(c.Intended(req, snapshot), now.Projection)
}

// Changes shows the description before and after.
func (aliasDescription) Changes(req core.Request, snapshot core.Object) []core.Change {
	return []core.Change{{Field: "description", Before: textOf(snapshot, "descr"), After: textOf(req.Fields, "description")}}
}
