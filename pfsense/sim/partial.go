package sim

// thinned takes a part of the change out of what will be stored and returns the function that puts it back into the
// answer. Of several changed fields the last is left as it was; of a single one only half is taken.
func (o *object) thinned() (restore func()) {
	full := o.vals
	o.vals = map[string]any{}
	var changed []string
	for _, f := range o.m.fields {
		o.vals[f.name] = full[f.name]
		if !same(full[f.name], o.initial[f.name]) && !f.readOnly && f.kind != "time" {
			changed = append(changed, f.name)
		}
	}
	if len(changed) > 0 {
		last := changed[len(changed)-1]
		if len(changed) > 1 {
			o.vals[last] = o.initial[last]
		} else {
			o.vals[last] = half(full[last], o.initial[last])
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
