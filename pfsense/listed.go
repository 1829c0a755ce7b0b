package pfsense

import (
	"fmt"

	"countersign/core"
)

// listed is a change of one object in a list. A capability is the facts and
// small functions below; everything that must be right in the same way for
// all of them is here, once.
type listed struct {
	shape
	most int // as many rows are refused; 0 for no limit

	// key is the natural identity of a row.
	key func(row core.Object) core.Object
	// label is what an operator types for an identity.
	label func(identity core.Object) string
	// summary is what the picker adds to it, of a row or of its projection.
	summary func(row core.Object) string
	// project is the fingerprint of a row, or why it has none.
	project func(r core.Reading, row core.Object) (core.Object, error)
	// stored refuses an object that the API would not take back as it is:
	// every write validates the whole object.
	stored func(r core.Reading, o core.Observation) error
	// guard is what a request repeats so that a shifted position is refused
	// by the appliance, or nil (design section 4, rule 6).
	guard func(r core.Reading, row core.Object) any
	// related shows linked objects.
	related func(projection core.Object) []core.Change

	// form asks for the new values.
	form func(projection core.Object) []core.Field
	// parse validates a request's members; their names are checked before.
	parse func(fields core.Object) (core.Object, error)
	// intend is the projection as it must be once the request is made.
	intend func(fields, snapshot core.Object) core.Object
	// admit refuses a request that this object cannot take.
	admit func(r core.Reading, o core.Observation, fields core.Object) error
	// body sets the object to a state; it makes the change and undoes it.
	body func(o core.Observation, state core.Object) []member
	// changes shows before and after.
	changes func(fields, snapshot core.Object) []core.Change
}

// Label is what an operator types to name a target.
func (c listed) Label(identity core.Object) string { return c.label(identity) }

// Summary is what is added to the label.
func (c listed) Summary(snapshot core.Object) string { return c.summary(snapshot) }

// Form asks for the new values.
func (c listed) Form(o core.Observation) []core.Field { return c.form(o.Projection) }

// Targets lists every object, with the reason where one cannot be changed.
func (c listed) Targets(r core.Reading) ([]core.Target, error) {
	rows, err := rowsAt(r, c.spec.ReadPath, c.most)
	if err != nil {
		return nil, err
	}
	times := make(map[string]int, len(rows))
	for _, row := range rows {
		times[fmt.Sprint(c.key(row))]++
	}
	out := make([]core.Target, len(rows))
	for i, row := range rows {
		out[i] = core.Target{Fields: c.key(row), Label: c.label(c.key(row)), Summary: c.summary(row)}
		o, err := c.observeRow(r, row)
		if err == nil {
			out[i].Locator = o.Locator
			err = c.stored(r, o)
		}
		if times[fmt.Sprint(c.key(row))] > 1 {
			err = refuse(core.ErrTargetDuplicate, "another "+c.spec.Noun+" has the same identity")
		}
		out[i].Refused = reason(err)
	}
	return out, nil
}

// ParseRequest validates and normalises a typed request.
func (c listed) ParseRequest(fields core.Object) (core.Request, error) {
	if err := exactly(fields, c.memberNames()...); err != nil {
		return core.Request{}, err
	}
	parsed, err := c.parse(fields)
	if err != nil {
		return core.Request{}, err
	}
	return core.Request{Fields: parsed}, nil
}

// RequestFromIntent restores the request from a protected intent.
func (c listed) RequestFromIntent(intent core.Object) (core.Request, error) {
	fields, err := c.restore(intent)
	if err != nil {
		return core.Request{}, err
	}
	return c.ParseRequest(fields)
}

// Observe finds the one object with this identity.
func (c listed) Observe(r core.Reading, identity core.Object) (core.Observation, error) {
	if err := c.checkIdentity(identity); err != nil {
		return core.Observation{}, err
	}
	rows, err := rowsAt(r, c.spec.ReadPath, c.most)
	if err != nil {
		return core.Observation{}, err
	}
	at, err := onlyMatch(rows, func(row core.Object) bool { return same(c.key(row), identity) })
	if err != nil {
		return core.Observation{}, err
	}
	return c.observeAt(r, rows, at)
}

func (c listed) observeAt(r core.Reading, rows []core.Object, at int) (core.Observation, error) {
	o, err := c.observeRow(r, rows[at])
	if err == nil {
		o.Neighbours = neighboursOf(rows, at, func(row core.Object) string { return c.label(c.key(row)) })
	}
	return o, err
}

// observeRow is everything but the neighbours.
func (c listed) observeRow(r core.Reading, row core.Object) (core.Observation, error) {
	projection, err := c.project(r, row)
	if err != nil {
		return core.Observation{}, err
	}
	locator, err := locatorOf(row)
	if err != nil {
		return core.Observation{}, err
	}
	o := core.Observation{Identity: c.key(row), Projection: projection, Locator: locator,
		Label: c.label(c.key(row)), Summary: c.summary(projection)}
	if c.guard != nil {
		o.Guard = c.guard(r, row)
	}
	if c.related != nil {
		o.Related = c.related(projection)
	}
	return o, nil
}

// RawTarget adds the position to the fingerprinted fields.
func (listed) RawTarget(snapshot core.Object, locator int64) core.Object {
	return with(snapshot, core.Object{"id": locator})
}

// Admit refuses no change, a request the object cannot take, and an object
// that could not be written back.
func (c listed) Admit(r core.Reading, o core.Observation, req core.Request) error {
	if same(c.intend(req.Fields, o.Projection), o.Projection) {
		return refuse(core.ErrNoChange, "nothing would be sent")
	}
	if err := c.admit(r, o, req.Fields); err != nil {
		return err
	}
	return c.stored(r, o)
}

// Forward builds the request of the change.
func (c listed) Forward(req core.Request, o core.Observation) ([]byte, error) {
	return encodeBody(c.body(o, c.intend(req.Fields, o.Projection))...)
}

// Rollback builds the request that restores a snapshot.
func (c listed) Rollback(snapshot core.Object, o core.Observation) ([]byte, error) {
	return encodeBody(c.body(o, snapshot)...)
}

// CheckAnswer wants the same object back, at the same position.
func (c listed) CheckAnswer(data any, o core.Observation) error {
	row, ok := data.(core.Object)
	if !ok || row["id"] != o.Locator || !same(c.key(row), o.Identity) {
		return refuse(core.ErrAppliance, "the answer is not about the object that was changed")
	}
	return nil
}

// Intended is the projection as it must be once the request is made.
func (c listed) Intended(req core.Request, snapshot core.Object) core.Object {
	return c.intend(req.Fields, snapshot)
}

// Applied reports whether the request is made and nothing else has changed.
func (c listed) Applied(req core.Request, snapshot core.Object, now core.Observation) bool {
	return same(c.intend(req.Fields, snapshot), now.Projection)
}

// Changes shows before and after.
func (c listed) Changes(req core.Request, snapshot core.Object) []core.Change {
	return c.changes(req.Fields, snapshot)
}
