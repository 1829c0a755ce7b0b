package sim

// thinned takes a part of what the request asked for out of what will be stored and returns the function that puts it
// back into the answer. Of several changed fields the last is left as it was; of a single one only half is taken. What
// follows from a change, such as a linked rule, is done whole.
func (o *object) thinned() (restore func()) {
	full, before := o.vals, o.before()
	o.vals = map[string]any{}
	var changed []string
	for _, f := range o.m.fields {
		o.vals[f.name] = full[f.name]
		if o.asked[f.name] && !same(full[f.name], before[f.name]) {
			changed = append(changed, f.name)
		}
	}
	if len(changed) > 0 {
		last := changed[len(changed)-1]
		if len(changed) > 1 {
			o.vals[last] = before[last]
		} else {
			o.vals[last] = half(full[last], before[last])
		}
	}
	return func() {
		for _, f := range o.m.fields {
			if f.kind == "time" {
				full[f.name] = o.vals[f.name]
			}
		}
		o.vals = full
	}
}

// before are the values as they are still stored.
func (o *object) before() map[string]any {
	if o.initial != nil {
		return o.initial
	}
	old := o.s.newObject(o.m)
	if old.fromInternal() != nil {
		return nil
	}
	return old.vals
}

// half is a value between the new one and the old one.
func half(now, before any) any {
	switch now := now.(type) {
	case string:
		if len(now) > 1 {
			r := []rune(now)
			return string(r[:len(r)/2])
		}
	case []any:
		if len(now) > 0 {
			return now[:len(now)-1]
		}
	}
	return before
}
