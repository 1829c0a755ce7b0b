package sim

// Host overrides carry their further names as nested objects.

func (o *object) loadNested() {
	for _, f := range o.m.fields {
		if f.kind != "nested" {
			continue
		}
		raw, isList := o.vals[f.name].(*rows)
		if !isList || len(raw.items) == 0 {
			o.vals[f.name] = nil
			continue
		}
		shown := []any{}
		for i, entry := range raw.items {
			child := o.nestedObject(f, i)
			child.load(entry)
			shown = append(shown, child.represent())
		}
		o.vals[f.name] = shown
	}
}

func (o *object) nestedObject(f *field, i int) *object {
	child := o.s.newObject(o.s.profile.tables.models[f.nested])
	child.parentID, child.id, child.hasParent = o.id, int64(i), true
	return child
}

func (o *object) validateNested(f *field) *apiError {
	items, ok := o.vals[f.name].([]any)
	if !ok {
		return fail("FIELD_INVALID_MANY_VALUE", "Field `%s` must be of type `array`.", f.name)
	}
	made, shown := []*object{}, []any{}
	for i, x := range items {
		data, ok := x.(*dict)
		if !ok {
			return fail("FIELD_INVALID_TYPE", "Field `%s` must be of type `array`", f.name)
		}
		child := o.nestedObject(f, i)
		child.assign(data)
		if err := child.validate(false, false, false, made); err != nil {
			return &apiError{status: err.status, id: err.id, message: "Field `" + f.name + "` encountered a nested validation error: " + err.message}
		}
		made = append(made, child)
		shown = append(shown, child.represent())
	}
	o.vals[f.name] = shown
	return nil
}

func (o *object) storeNested(f *field) any {
	items, _ := o.vals[f.name].([]any)
	out := &rows{}
	for i, x := range items {
		data, ok := x.(*dict)
		if !ok {
			continue
		}
		child := o.nestedObject(f, i)
		child.assign(data)
		out.items = append(out.items, child.internal())
	}
	return out
}
