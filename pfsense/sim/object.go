package sim

import (
	"strconv"
)

// object is one object of a model in a session's private copy of the configuration.
type object struct {
	s          *session
	m          *model
	id         any // as the request gave it; nil if not set
	parentID   any
	hasParent  bool // the parent has been found
	vals       map[string]any
	asked      map[string]bool // fields that the request gave a value
	initial    map[string]any  // values before the request's changes; nil for a new object
	labels     map[string]string
	placement  any
	sortBy     []string
	descending bool
	sortFlags  string
	async      bool
	actor      string // who creates the object, as created_by shows it; the package leaves it out
	updater    string
}

func (s *session) newObject(m *model) *object {
	o := &object{s: s, m: m, vals: map[string]any{}, labels: map[string]string{}, async: true, sortBy: m.sort,
		sortFlags: m.sortFlags, updater: s.client.user}
	for _, f := range m.fields {
		if f.kind == "time" {
			o.vals[f.name] = s.unix()
		}
	}
	return o
}

func (o *object) creator() string { return o.actor }

// configPath is where the objects of this model are stored.
func (o *object) configPath() (string, *apiError) {
	if o.m.parent == "" {
		return o.m.path, nil
	}
	if !o.hasParent {
		return "", fail("MODEL_CANNOT_GET_CONFIG_PATH_WITHOUT_PARENT_MODEL",
			"Model `get_config_path()` cannot be called until the parent Model has been constructed. Run the `get_parent_model()` method first.")
	}
	return o.s.parentPath(o.m, o.parentID) + "/" + o.m.path, nil
}

// parentPath is the path of a parent object.
func (s *session) parentPath(m *model, id any) string {
	if m.parent == "DHCPServer" {
		return "dhcpd/" + phpString(id)
	}
	i, _ := index(id)
	return s.profile.tables.models[m.parent].path + "/" + strconv.Itoa(i)
}

func (o *object) findParent(id any) *apiError {
	o.parentID = id
	v, ok := getPath(o.s.cfg, o.s.parentPath(o.m, id))
	if o.m.parent == "DHCPServer" {
		known := o.s.interfaces().has(phpString(id))
		ok = ok && known || known && !o.s.profile.parentMustExist
	} else if _, isIndex := index(id); !isIndex {
		ok = false
	}
	if _, isDict := v.(*dict); ok && (isDict || !o.s.profile.parentMustExist) {
		o.hasParent = true
		return nil
	}
	return fail("MODEL_PARENT_OBJECT_NOT_FOUND", "Parent object with ID `%s` does not exist.", phpString(id))
}

// index turns an id into a position as PHP's array keys do: 1, "1", 1.0 and true are all 1; "01" is not.
func index(id any) (int, bool) {
	switch id := id.(type) {
	case int64:
		return int(id), true
	case float64:
		return int(id), true
	case bool:
		if id {
			return 1, true
		}
		return 0, true
	case string:
		n, err := strconv.Atoi(id)
		return n, err == nil && strconv.Itoa(n) == id
	}
	return 0, false
}

func (o *object) indexID() any {
	if i, ok := index(o.id); ok {
		return int64(i)
	}
	return o.id
}

// internalRows are the stored entries of this model.
func (o *object) internalRows() ([]any, *apiError) {
	if special, ok := o.specialRows(); ok {
		return special, nil
	}
	path, err := o.configPath()
	if err != nil {
		return nil, err
	}
	return list(o.s.cfg, path), nil
}

// fromInternal loads the object from the configuration.
func (o *object) fromInternal() *apiError {
	if !o.m.many {
		v, _ := getPath(o.s.cfg, o.m.path)
		o.load(v)
		return nil
	}
	if o.id == nil {
		return fail("MODEL_ID_REQUIRED_FOR_REFRESH", "An ID is required when refreshing objects from config on model with `many`.")
	}
	entries, err := o.internalRows()
	if err != nil {
		return err
	}
	i, ok := index(o.id)
	if !ok || i < 0 || i >= len(entries) {
		return fail("MODEL_OBJECT_NOT_FOUND", "Object with ID `%s` does not exist.", phpString(o.id))
	}
	o.load(entries[i])
	return nil
}

// load takes the values from a stored entry.
func (o *object) load(entry any) {
	d, ok := entry.(*dict)
	if !ok {
		d = newDict()
	}
	for _, f := range o.m.fields {
		if f.namespace == "" {
			raw, has := d.get(f.stored)
			if !has {
				o.vals[f.name] = f.absent(o.s, o.vals)
				continue
			}
			o.vals[f.name] = f.show(o.s, raw)
			if f.typ == "boolean" && !f.meets(o.vals) {
				o.vals[f.name] = nil
			}
			continue
		}
		space, has := d.get(f.namespace)
		sub, isDict := space.(*dict)
		if !has || !isDict || !sub.has(f.stored) {
			if f.kind != "time" {
				o.vals[f.name] = nil
			}
			continue
		}
		o.vals[f.name] = f.show(o.s, sub.vals[f.stored])
	}
	o.loadNested()
}

// fromRepresentation takes id, parent and values from request data, loading the stored object first.
func (o *object) fromRepresentation(data *dict, ep *endpoint, method string) *apiError {
	if pid, ok := data.get("parent_id"); ok && o.m.parent != "" {
		if err := o.findParent(pid); err != nil {
			return err
		}
	}
	if id, ok := data.get("id"); ok {
		switch id.(type) {
		case []any, *dict:
			return o.s.profile.arrayID(ep, method)
		}
		o.id = id
		if err := o.fromInternal(); err != nil {
			return err
		}
		o.remember()
	}
	o.asked = map[string]bool{}
	for _, name := range data.keys {
		o.asked[name] = true
	}
	o.assign(data)
	return nil
}

func (o *object) assign(data *dict) {
	for _, f := range o.m.fields {
		if v, ok := data.get(f.name); ok {
			o.vals[f.name] = v
		}
	}
}

func (o *object) remember() {
	o.initial = map[string]any{}
	for k, v := range o.vals {
		o.initial[k] = clone(v)
	}
}

// represent is the object as answers show it.
func (o *object) represent() *dict {
	d := newDict()
	if o.parentID != nil {
		d.set("parent_id", o.parentID)
	}
	if o.id != nil {
		d.set("id", o.id)
	}
	for _, f := range o.m.fields {
		if o.s.hidden(o.m, f) {
			continue
		}
		d.set(f.name, o.vals[f.name])
	}
	if o.s.hateoas() {
		d.set("_links", o.links())
	}
	return d
}

func (s *session) hidden(m *model, f *field) bool {
	if f.writeOnly {
		return true
	}
	if !f.sensitive || s.settings().text("expose_sensitive_fields") == "enabled" {
		return false
	}
	for _, name := range splitList(s.settings().text("override_sensitive_fields")) {
		if name == m.name+":"+f.name {
			return false
		}
	}
	return true
}

// validate checks the whole object. With only the id, as for deletions, no value is looked at.
func (o *object) validate(requireID, createID, onlyID bool, among []*object) *apiError {
	if requireID && o.m.many && o.id == nil {
		return fail("MODEL_REQUIRES_ID", "Field `id` is required.")
	}
	if o.m.parent != "" && !o.hasParent {
		if o.parentID == nil {
			return fail("MODEL_PARENT_ID_REQUIRED", "Field `parent_id` is required.")
		}
		if err := o.findParent(o.parentID); err != nil {
			return err
		}
	}
	if createID && o.m.many {
		entries, err := o.internalRows()
		if err != nil {
			return err
		}
		o.id = int64(len(entries))
	}
	if onlyID {
		return nil
	}
	if among == nil && o.m.many {
		var err *apiError
		if among, err = o.s.siblings(o); err != nil {
			return err
		}
	}
	for _, f := range o.m.fields {
		if err := o.validateField(f, among); err != nil {
			return err
		}
	}
	if err := o.validateSpecial(); err != nil {
		return err
	}
	return o.checkUniqueTogether(among)
}

func (o *object) checkUniqueTogether(among []*object) *apiError {
	if len(o.m.uniqueTogether) == 0 {
		return nil
	}
	for _, other := range among {
		if o.id != nil && same(other.id, o.indexID()) {
			continue
		}
		equal := true
		for _, name := range o.m.uniqueTogether {
			equal = equal && same(other.vals[name], o.vals[name])
		}
		if equal {
			return fail("MODEL_FIELDS_NOT_UNIQUE_TOGETHER", "Fields [%s] together must be unique from all other objects of its kind. "+
				"Values in use by object with ID `%s`.", joinTexts(o.m.uniqueTogether), phpString(other.id))
		}
	}
	return nil
}

// siblings loads all stored objects of the same kind (and parent).
func (s *session) siblings(o *object) ([]*object, *apiError) {
	entries, err := o.internalRows()
	if err != nil {
		return nil, err
	}
	out := make([]*object, 0, len(entries))
	for i, entry := range entries {
		x := s.newObject(o.m)
		x.id, x.parentID, x.hasParent = int64(i), o.parentID, o.hasParent
		x.load(entry)
		out = append(out, x)
	}
	return out, nil
}
