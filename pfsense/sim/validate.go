package sim

import (
	"strings"
)

// validateField checks and completes one value, in the package's order: condition, editable, default, required, list,
// then each entry's type, emptiness, choices and validators, and last uniqueness.
func (o *object) validateField(f *field, among []*object) *apiError {
	delete(o.labels, f.name)
	if !f.meets(o.vals) {
		o.vals[f.name] = nil
		return nil
	}
	v := o.vals[f.name]
	if v == nil && f.required {
		return fail("FIELD_IS_REQUIRED", "Field `%s` is required.", f.name)
	}
	if !f.editable && o.initial != nil && !same(v, o.initial[f.name]) {
		return fail("FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE",
			"Field `%s` is not editable but the requested value `%s` differs from its current value `%s`.",
			f.name, phpString(v), phpString(o.initial[f.name]))
	}
	if v == nil {
		v = o.defaultOf(f)
		o.vals[f.name] = v
	}
	if v == nil {
		return nil
	}
	if f.kind == "nested" {
		return o.validateNested(f)
	}
	if f.many {
		return o.validateMany(f, v)
	}
	if err := o.validateOne(f, v); err != nil {
		return err
	}
	if f.unique {
		return o.checkUnique(f, among)
	}
	return nil
}

func (o *object) defaultOf(f *field) any {
	if text, ok := f.def.(string); ok && text == "@unknown IP (API)" {
		return o.creator() + "@" + o.s.client.ip + " (API)"
	}
	return clone(f.def)
}

func (o *object) validateMany(f *field, v any) *apiError {
	if d, ok := v.(*dict); ok {
		v = valuesOf(d)
	}
	items, ok := v.([]any)
	if !ok {
		return fail("FIELD_INVALID_MANY_VALUE", "Field `%s` must be of type `array`.", f.name)
	}
	o.vals[f.name] = items
	if len(items) < f.manyMin {
		return fail("LENGTH_VALIDATOR_MINIMUM_CONSTRAINT", "Field `%s` must contain a minimum of %d entries.", f.name, f.manyMin)
	}
	if f.manyMax > 0 && len(items) > f.manyMax {
		return fail("LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "Field `%s` exceeds the maximum array length of %d.", f.name, f.manyMax)
	}
	if len(items) == 0 && !f.allowEmpty {
		return fail("FIELD_EMPTY_NOT_ALLOWED", "Field `%s` cannot be empty.", f.name)
	}
	for _, x := range items {
		if err := o.validateOne(f, x); err != nil {
			return err
		}
		if x == "" { // an allowed empty entry ends the check of the whole list
			return nil
		}
	}
	return nil
}

func valuesOf(d *dict) []any {
	out := make([]any, 0, len(d.keys))
	for _, k := range d.keys {
		out = append(out, d.vals[k])
	}
	return out
}

func (o *object) validateOne(f *field, v any) *apiError {
	if f.readOnly {
		return nil
	}
	if v == "" && !f.allowEmpty && !f.many {
		return fail("FIELD_EMPTY_NOT_ALLOWED", "Field `%s` cannot be empty.", f.name)
	}
	if !hasType(v, f.typ) {
		return fail("FIELD_INVALID_TYPE", "Field `%s` must be of type `%s`", f.name, f.typ)
	}
	if choices, limited := o.choicesOf(f); limited && !looselyContains(choices, v) {
		return fail("FIELD_INVALID_CHOICE", "Field `%s` must be one of [%s]", f.name, joinValues(choices))
	}
	if v == "" {
		if !f.allowEmpty {
			return fail("FIELD_EMPTY_NOT_ALLOWED", "Field `%s` cannot be empty.", f.name)
		}
		return nil
	}
	for _, check := range f.checks {
		if err := o.runCheck(f, check, v); err != nil {
			return err
		}
	}
	if err := o.checkLimits(f, v); err != nil {
		return err
	}
	return o.checkKind(f, v)
}

func hasType(v any, typ string) bool {
	switch typ {
	case "string":
		_, ok := v.(string)
		return ok
	case "integer":
		_, ok := v.(int64)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "double":
		_, isFloat := v.(float64)
		_, isInt := v.(int64)
		return isFloat || isInt
	}
	return true
}

func (o *object) choicesOf(f *field) ([]any, bool) {
	switch {
	case f.kind == "interface":
		return o.s.interfaceNames(f), true
	case f.allows("zones"):
		return o.s.profile.tables.zones, true
	case f.allows("auth_methods"):
		return []any{"BasicAuth", "JWTAuth", "KeyAuth"}, true
	case f.allows("sensitive"):
		return o.s.profile.tables.sensitiveFields(), true
	}
	return f.choices, len(f.choices) > 0
}

func (t *tables) sensitiveFields() []any {
	var out []any
	for _, m := range t.models {
		for _, f := range m.fields {
			if f.sensitive {
				out = append(out, m.name+":"+f.name)
			}
		}
	}
	return out
}

func joinValues(vs []any) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = phpString(v)
	}
	return strings.Join(parts, ", ")
}

// checkLimits checks ranges and lengths. Before 2.10.0 a field with validators of its own has no limit of length: the
// package lost that check in putting the two lists together.
func (o *object) checkLimits(f *field, v any) *apiError {
	switch v := v.(type) {
	case int64:
		if f.hasMin && v < f.min || !f.hasMin && v < 0 {
			return fail("NUMERIC_RANGE_VALIDATOR_MINIMUM_CONSTRAINT", "Field `%s` must be greater than or equal to `%d`. Received `%d`", f.name, f.min, v)
		}
		if f.hasMax && v > f.max {
			return fail("NUMERIC_RANGE_VALIDATOR_MAXIMUM_CONSTRAINT", "Field `%s` must be less than or equal to `%d`. Received `%d`", f.name, f.max, v)
		}
	case string:
		lost := len(f.checks) > 0 && !o.s.profile.lengthsKept
		if f.maxLen > 0 && int64(len(v)) > f.maxLen && !lost {
			return fail("LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "Field `%s` exceeds the maximum character length of %d.", f.name, f.maxLen)
		}
	}
	return nil
}
