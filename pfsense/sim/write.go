package sim

import (
	"sort"
	"strconv"
)

// create adds the object to the configuration.
func (o *object) create(apply, dry bool) *apiError {
	if err := o.validate(false, true, false, nil); err != nil {
		return err
	}
	if dry {
		o.s.wrote = true // a session was opened for it all the same
		return nil
	}
	if err := o.createStored(); err != nil {
		return err
	}
	o.markDirty()
	if err := o.afterCreate(); err != nil {
		return err
	}
	return o.applyIf(apply)
}

func (o *object) createStored() *apiError {
	o.beforeCreate()
	if done, err := o.createSpecial(); done {
		return err
	}
	path, err := o.configPath()
	if err != nil {
		return err
	}
	setPath(o.s.cfg, path+"/"+phpString(o.id), o.internal())
	if err := o.place(path); err != nil {
		return err
	}
	o.reorder(path)
	return o.s.write(o.m, "Added "+o.m.verbose+" via API")
}

// update changes the stored object.
func (o *object) update(apply, add, remove, dry bool) *apiError {
	if add {
		o.appendLists()
	}
	if remove {
		o.removeFromLists()
	}
	if err := o.validate(true, false, false, nil); err != nil {
		return err
	}
	if dry {
		o.s.wrote = true // a session was opened for it all the same
		return nil
	}
	if err := o.updateStored(); err != nil {
		return err
	}
	o.markDirty()
	if err := o.afterUpdate(); err != nil {
		return err
	}
	return o.applyIf(apply)
}

func (o *object) updateStored() *apiError {
	if o.s.fault(Partial) != nil {
		defer o.thinned()()
	}
	if done, err := o.updateSpecial(); done {
		return err
	}
	path, err := o.configPath()
	if err != nil {
		return err
	}
	entry := path
	if o.m.many {
		entry += "/" + phpString(o.indexID())
	}
	o.merge(entry)
	if err := o.place(path); err != nil {
		return err
	}
	o.reorder(path)
	return o.s.write(o.m, "Modified "+o.m.verbose+" via API")
}

// remove deletes the stored object.
func (o *object) remove(apply, dry bool) *apiError {
	if err := o.validate(true, false, true, nil); err != nil {
		return err
	}
	if o.m.many && o.m.manyMin > 0 {
		entries, err := o.internalRows()
		if err != nil {
			return err
		}
		if len(entries) <= o.m.manyMin {
			return fail("MODEL_MANY_MINIMUM_REACHED", "Object deletion denied. Deleting this object would result in the number of "+
				"existing objects falling below the minimum number allowed for this Model, %d.", o.m.manyMin)
		}
	}
	if dry {
		o.s.wrote = true // a session was opened for it all the same
		return nil
	}
	if err := o.removeStored(); err != nil {
		return err
	}
	o.markDirty()
	if err := o.afterRemove(); err != nil {
		return err
	}
	return o.applyIf(apply)
}

func (o *object) removeStored() *apiError {
	if done, err := o.removeSpecial(); done {
		return err
	}
	path, err := o.configPath()
	if err != nil {
		return err
	}
	delPath(o.s.cfg, path+"/"+phpString(o.indexID()))
	return o.s.write(o.m, "Deleted "+o.m.verbose+" via API")
}

func (o *object) markDirty() {
	if o.m.dirty != "" {
		o.s.srv.state.markDirty(o.m.dirty)
	}
}

// applyIf starts the reload that the change asks for and takes the change for applied, whatever becomes of it.
func (o *object) applyIf(apply bool) *apiError {
	if !apply && !o.m.alwaysApply {
		return nil
	}
	if o.m.dispatch != "" {
		if err := o.s.dispatch(o.m.dispatch, o.async); err != nil {
			return err
		}
	}
	if o.m.dirty != "" {
		o.s.srv.state.clearDirty(o.m.dirty)
	}
	return nil
}

// internal is the stored form of a new object.
func (o *object) internal() *dict {
	d := newDict()
	for _, f := range o.m.fields {
		if o.vals[f.name] == nil {
			continue
		}
		if v := f.store(o); v != nil {
			setPath(d, storedPath(f), v)
		}
	}
	return d
}

func storedPath(f *field) string {
	if f.namespace != "" {
		return f.namespace + "/" + f.stored
	}
	return f.stored
}

// merge writes the known fields over the stored entry; what the API does not know stays.
func (o *object) merge(entry string) {
	for _, f := range o.m.fields {
		path := entry + "/" + storedPath(f)
		if v := f.store(o); v != nil {
			setPath(o.s.cfg, path, v)
		} else {
			delPath(o.s.cfg, path)
		}
	}
}

// place moves the object to the position asked for. A position past the end fails before anything is written.
func (o *object) place(path string) *apiError {
	if o.placement == nil || !o.m.many {
		return nil
	}
	to, ok := index(o.placement)
	from, _ := index(o.id)
	v, _ := getPath(o.s.cfg, path)
	r, isList := v.(*rows)
	if !ok || !isList || to < 0 || to >= len(r.items) || from >= len(r.items) {
		return fail("MODEL_FAILED_TO_SET_PLACEMENT", "Failed to set placement for Model object.")
	}
	moved := r.items[from]
	rest := append(append([]any{}, r.items[:from]...), r.items[from+1:]...)
	r.items = append(append(append([]any{}, rest[:to]...), moved), rest[to:]...)
	o.id = int64(to)
	return nil
}

// reorder sorts the stored list when the model (or the request, with sort_by) asks for it, and follows its own id.
func (o *object) reorder(path string) {
	if len(o.sortBy) == 0 || !o.m.many {
		return
	}
	all, err := o.s.siblings(o)
	if err != nil {
		return
	}
	sortObjects(all, o.sortBy, o.descending, o.sortFlags)
	v, _ := getPath(o.s.cfg, path)
	r, ok := v.(*rows)
	if !ok {
		return
	}
	sorted := make([]any, 0, len(all))
	newID := o.id
	for i, x := range all {
		old, _ := index(x.id)
		sorted = append(sorted, r.items[old])
		if same(o.id, x.id) {
			newID = int64(i)
		}
	}
	r.items = sorted
	o.id = newID
}

func (o *object) appendLists() {
	for _, f := range o.m.fields {
		now, isList := o.vals[f.name].([]any)
		before, _ := o.initial[f.name].([]any)
		if f.many && isList && !same(now, o.initial[f.name]) {
			o.vals[f.name] = append(append([]any{}, before...), now...)
		}
	}
}

func (o *object) removeFromLists() {
	for _, f := range o.m.fields {
		now, isList := o.vals[f.name].([]any)
		if !f.many || !isList || same(now, o.initial[f.name]) {
			continue
		}
		before, _ := o.initial[f.name].([]any)
		kept := []any{}
		for _, x := range before {
			if !containsText(now, x) {
				kept = append(kept, x)
			}
		}
		o.vals[f.name] = kept
	}
}

// containsText compares as array_diff does: by text.
func containsText(vs []any, v any) bool {
	for _, x := range vs {
		if phpString(x) == phpString(v) {
			return true
		}
	}
	return false
}

// replaceAll puts a new list in the place of the stored one; one bad entry refuses all.
func (s *session) replaceAll(m *model, data []any, apply, async bool, ep *endpoint) ([]*object, *apiError) {
	if len(data) < m.manyMin {
		return nil, fail("MODEL_REPLACE_ALL_MINIMUM_NOT_MET", "A minimum of %d new objects is required to replace all existing objects.", m.manyMin)
	}
	path := m.path
	setPath(s.cfg, path, &rows{})
	made := []*object{}
	for i, x := range data {
		d, ok := x.(*dict)
		if !ok {
			return nil, fail("MODEL_NON_ARRAY_REPRESENTATION_DATA", "Representation data must be of type `array`.")
		}
		o := s.newObject(m)
		o.actor, o.async = s.client.user, async
		o.assign(d)
		o.id = int64(i)
		if err := o.validate(false, false, false, made); err != nil {
			return nil, err
		}
		setPath(s.cfg, path+"/"+strconv.Itoa(i), o.internal())
		made = append(made, o)
	}
	last := s.newObject(m)
	last.async = async
	last.reorder(path)
	if err := s.write(m, "Replaced all "+m.plural+" via API"); err != nil {
		return nil, err
	}
	last.markDirty()
	return made, last.applyIf(apply)
}

// removeMany deletes objects from the last to the first, stopping at the first refusal with the rest left.
func removeMany(objects []*object) *apiError {
	backwards := append([]*object{}, objects...)
	sort.SliceStable(backwards, func(i, j int) bool {
		a, _ := index(backwards[i].id)
		b, _ := index(backwards[j].id)
		return a > b
	})
	for _, o := range backwards {
		if err := o.remove(false, false); err != nil {
			return err
		}
	}
	return nil
}
