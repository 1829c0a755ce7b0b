package pfsense

import (
	"countersign/canon"
	"countersign/core"
)

// settings is a change of some fields of a settings object, of which there is
// one and which has no id. Every write validates and rewrites the whole
// object, so the whole object is fingerprinted.
type settings struct {
	shape
	title   string // what the operator types
	summary string
	inputs  []input
	fields  []settingsField
	// blanks names the fields in which null, "" and [] are one value: the API
	// turns one into the other when it writes. It is asked only where a change
	// is possible, so that everything else is fingerprinted as it is.
	blanks func(core.Object) []string
	// check refuses what the appliance would not store, or not give back.
	check func(now, intended core.Object) error
	// missing explains an endpoint that is not there.
	missing string
}

// input is one member of a settings request. A text has choices or a pattern.
type input struct {
	name, label, help string
	kind              core.FieldKind
	choices           []string
	least, most       int64
	valid             func(string) string
}

func yesNo(name, label string) input {
	return input{name: name, label: label, kind: core.BoolField}
}

// parse validates one member.
func (in input) parse(fields core.Object) (any, error) {
	switch in.kind {
	case core.BoolField:
		return boolMember(fields, in.name)
	case core.NumberField:
		return intMember(fields, in.name, in.least, in.most)
	case core.ChoiceField:
		return choiceMember(fields, in.name, in.choices)
	}
	s, err := textMember(fields, in.name)
	if err != nil {
		return nil, err
	}
	if why := in.valid(s); why != "" {
		return nil, refuse(core.ErrRequest, why)
	}
	return s, nil
}

// settingsField is one fingerprinted field and what it may hold.
type settingsField struct {
	name string
	is   func(any) bool
}

// typed gives several fields one type.
func typed(is func(any) bool, names ...string) []settingsField {
	out := make([]settingsField, len(names))
	for i, name := range names {
		out[i] = settingsField{name, is}
	}
	return out
}

func isBool(v any) bool { _, ok := v.(bool); return ok }
func isInt(v any) bool  { _, ok := v.(int64); return ok }
func isText(v any) bool { s, ok := v.(string); return ok && canon.IsNFC(s) }

func isTextList(v any) bool {
	texts, ok := strs(v)
	for _, s := range texts {
		ok = ok && canon.IsNFC(s)
	}
	return ok
}

func orNull(is func(any) bool) func(any) bool {
	return func(v any) bool { return v == nil || is(v) }
}

// Label is what an operator types to name the settings.
func (c settings) Label(core.Object) string { return c.title }

// Summary is what is added to the label.
func (c settings) Summary(core.Object) string { return c.summary }

// Form asks for every field that the change sets.
func (c settings) Form(o core.Observation) []core.Field {
	out := make([]core.Field, len(c.inputs))
	for i, in := range c.inputs {
		out[i] = core.Field{Name: in.name, Label: in.label, Help: in.help, Kind: in.kind,
			Choices: in.choices, Current: o.Projection[in.name]}
	}
	return out
}

// Targets is the one object.
func (c settings) Targets(r core.Reading) ([]core.Target, error) {
	o, err := c.observe(r)
	if err == nil {
		err = c.check(o.Projection, o.Projection)
	}
	return []core.Target{{Fields: core.Object{}, Label: c.title, Summary: c.summary, Refused: reason(err)}}, nil
}

// ParseRequest validates every member.
func (c settings) ParseRequest(fields core.Object) (core.Request, error) {
	if err := exactly(fields, c.memberNames()...); err != nil {
		return core.Request{}, err
	}
	out := make(core.Object, len(c.inputs))
	for _, in := range c.inputs {
		v, err := in.parse(fields)
		if err != nil {
			return core.Request{}, err
		}
		out[in.name] = v
	}
	return core.Request{Fields: out}, nil
}

// RequestFromIntent restores the request.
func (c settings) RequestFromIntent(intent core.Object) (core.Request, error) {
	fields, err := c.restore(intent)
	if err != nil {
		return core.Request{}, err
	}
	return c.ParseRequest(fields)
}

// Observe reads the one object.
func (c settings) Observe(r core.Reading, identity core.Object) (core.Observation, error) {
	if err := c.checkIdentity(identity); err != nil {
		return core.Observation{}, err
	}
	return c.observe(r)
}

func (c settings) observe(r core.Reading) (core.Observation, error) {
	row, ok := r.Data[c.spec.ReadPath].(core.Object)
	if !ok {
		return core.Observation{}, refuse(core.ErrTargetUnsupported, c.missing)
	}
	projection := make(core.Object, len(c.fields))
	for _, f := range c.fields {
		v, present := row[f.name]
		if !present || !f.is(v) {
			return core.Observation{}, refuse(core.ErrTargetUnsupported, "the firewall gives its "+f.name+" in a form that this build does not know")
		}
		projection[f.name] = v
	}
	for _, name := range c.blanks(projection) {
		if blank(projection[name]) {
			projection[name] = nil
		}
	}
	return core.Observation{Identity: core.Object{"resource": c.resource}, Projection: projection,
		Label: c.title, Summary: c.summary}, nil
}

// RawTarget is the snapshot itself: there is no position.
func (settings) RawTarget(snapshot core.Object, _ int64) core.Object { return snapshot }

// Admit refuses no change, and objects that would not come back as they are.
func (c settings) Admit(_ core.Reading, o core.Observation, req core.Request) error {
	intended := c.Intended(req, o.Projection)
	if same(intended, o.Projection) {
		return refuse(core.ErrNoChange, "every field already has this value")
	}
	return c.check(o.Projection, intended)
}

// Forward sends the requested fields.
func (c settings) Forward(req core.Request, _ core.Observation) ([]byte, error) {
	return c.body(req.Fields)
}

// Rollback sends the same fields as they were.
func (c settings) Rollback(snapshot core.Object, _ core.Observation) ([]byte, error) {
	return c.body(snapshot)
}

func (c settings) body(from core.Object) ([]byte, error) {
	members := make([]member, len(c.inputs))
	for i, in := range c.inputs {
		members[i] = member{in.name, from[in.name]}
	}
	return encodeBody(members...)
}

// CheckAnswer wants the whole object back.
func (c settings) CheckAnswer(data any, _ core.Observation) error {
	row, ok := data.(core.Object)
	for _, f := range c.fields {
		_, present := row[f.name]
		ok = ok && present
	}
	if !ok {
		return refuse(core.ErrAppliance, "the answer is not the settings object that was changed")
	}
	return nil
}

// Intended is the object with the requested fields.
func (settings) Intended(req core.Request, snapshot core.Object) core.Object {
	return with(snapshot, req.Fields)
}

// Applied reports whether exactly the requested fields have changed.
func (c settings) Applied(req core.Request, snapshot core.Object, now core.Observation) bool {
	return same(c.Intended(req, snapshot), now.Projection)
}

// Changes shows the fields that differ.
func (c settings) Changes(req core.Request, snapshot core.Object) []core.Change {
	var out []core.Change
	for _, in := range c.inputs {
		before, after := snapshot[in.name], req.Fields[in.name]
		if !same(before, after) {
			out = append(out, core.Change{Field: in.label, Before: shown(before), After: shown(after)})
		}
	}
	return out
}

func namesOf(inputs []input) []string {
	out := make([]string, len(inputs))
	for i, in := range inputs {
		out[i] = in.name
	}
	return out
}
