package sim

import (
	"net/http"
)

// result is the data of a successful answer.
type result struct {
	data        any
	links       *dict
	raw         []byte // a body that is not in the envelope
	contentType string
}

// controls are the request's control parameters.
type controls struct {
	apply, async, add, remove, reverse, dryRun bool
	limit, offset                              int
	placement                                  any
	sortBy                                     []string
	descending                                 bool
	sortFlags                                  string
}

func (s *session) dispatchMethod(data any) (*result, *apiError) {
	d, isDict := data.(*dict)
	if !isDict {
		d = newDict()
	}
	c, err := s.controls(d)
	if err != nil {
		return nil, err
	}
	if special, ok := s.specialEndpoint(d, c); ok {
		return special()
	}
	if s.ep.many {
		return s.plural(data, d, c)
	}
	o := s.newObject(s.ep.model)
	o.async, o.placement = c.async, c.placement
	if c.sortBy != nil {
		o.sortBy, o.descending, o.sortFlags = c.sortBy, c.descending, c.sortFlags
	}
	if err := s.singular(o, d, c); err != nil {
		return nil, err
	}
	return &result{data: o.represent()}, nil
}

func (s *session) singular(o *object, d *dict, c controls) *apiError {
	if !o.m.many && s.req.method != http.MethodPost {
		if err := o.fromInternal(); err != nil {
			return err
		}
		o.remember()
	}
	switch s.req.method {
	case http.MethodGet:
		if err := o.fromRepresentation(d, s.ep, s.req.method); err != nil {
			return err
		}
		if o.m.many && o.id == nil {
			if o.m.parent != "" && !o.hasParent {
				return fail("MODEL_REQUIRES_ID", "Field `id` is required.")
			}
			return fail("MODEL_REQUIRES_ID", "Field `id` is required.")
		}
		return o.fromInternal()
	case http.MethodPost:
		d.del("id")
		if err := o.fromRepresentation(d, s.ep, s.req.method); err != nil {
			return err
		}
		return o.create(c.apply, c.dryRun)
	case http.MethodPatch:
		if err := o.fromRepresentation(d, s.ep, s.req.method); err != nil {
			return err
		}
		return o.update(c.apply, c.add, c.remove, c.dryRun)
	case http.MethodDelete:
		return s.deleteOne(o, d, c)
	}
	return fail("ENDPOINT_REQUEST_METHOD_UNKNOWN", "Request method `%s` is unknown.", s.req.method)
}

// deleteOne takes the other fields into the answer before 2.10.0, and looks at nothing but the id from then on.
func (s *session) deleteOne(o *object, d *dict, c controls) *apiError {
	if s.profile.deleteNeedsObject {
		only := newDict()
		for _, name := range []string{"parent_id", "id"} {
			if v, ok := d.get(name); ok {
				only.set(name, v)
			}
		}
		if !only.has("id") {
			return fail("MODEL_ID_REQUIRED_FOR_REFRESH", "An ID is required when refreshing objects from config on model with `many`.")
		}
		d = only
	}
	if err := o.fromRepresentation(d, s.ep, s.req.method); err != nil {
		return err
	}
	return o.remove(c.apply, c.dryRun)
}

func (s *session) plural(data any, d *dict, c controls) (*result, *apiError) {
	q := listQuery{filters: newDict(), limit: c.limit, offset: c.offset, reverse: c.reverse, sortBy: c.sortBy,
		descending: c.descending, sortFlags: c.sortFlags}
	for _, k := range d.keys {
		if !controlNames[k] {
			q.filters.set(k, d.vals[k])
		}
	}
	switch s.req.method {
	case http.MethodPut:
		return s.replace(data, c)
	case http.MethodDelete:
		return s.deleteMany(d, q)
	}
	objects, err := s.query(s.ep.model, q)
	if err != nil {
		return nil, err
	}
	return &result{data: represent(objects), links: s.pageLinks(c)}, nil
}

func (s *session) replace(data any, c controls) (*result, *apiError) {
	items, ok := data.([]any)
	if d, isDict := data.(*dict); isDict && len(d.keys) == 0 {
		items, ok = []any{}, true
	}
	if !ok {
		return nil, fail("ENDPOINT_REQUEST_DATA_MUST_BE_INDEXED_ARRAY",
			"PUT requests to `many` endpoints must contain an indexed array of objects to replace.")
	}
	if s.ep.model.path == "" {
		return nil, unexpected("config_set_path(): Argument #1 ($path) must be of type string, null given")
	}
	objects, err := s.replaceAll(s.ep.model, items, c.apply, c.async, s.ep)
	if err != nil {
		return nil, err
	}
	return &result{data: represent(objects)}, nil
}

// deleteMany deletes what the filters leave. A misspelt filter leaves everything; a dry run is not one here.
func (s *session) deleteMany(d *dict, q listQuery) (*result, *apiError) {
	all := d.vals["all"] == true
	if len(q.filters.keys) == 0 && !all {
		return nil, fail("MODEL_DELETE_MANY_REQUIRES_QUERY_PARAMS", "At least one query parameter is required to perform mass deletion.")
	}
	if all {
		q.filters = newDict()
	}
	objects, err := s.query(s.ep.model, q)
	if err != nil {
		return nil, err
	}
	data := represent(objects)
	if err := removeMany(objects); err != nil {
		return nil, err
	}
	return &result{data: data}, nil
}

func represent(objects []*object) []any {
	out := make([]any, 0, len(objects))
	for _, o := range objects {
		out = append(out, o.represent())
	}
	return out
}

// controls reads the control parameters. Only apply takes anything for false that is not true.
func (s *session) controls(d *dict) (controls, *apiError) {
	c := controls{async: true, apply: d.vals["apply"] == true, placement: d.vals["placement"]}
	for _, p := range []struct {
		name string
		into *bool
	}{{"async", &c.async}, {"append", &c.add}, {"remove", &c.remove}, {"reverse", &c.reverse}} {
		if err := boolControl(d, p.name, p.into); err != nil {
			return c, err
		}
	}
	for _, p := range []struct {
		name string
		into *int
	}{{"limit", &c.limit}, {"offset", &c.offset}} {
		if err := intControl(d, p.name, p.into); err != nil {
			return c, err
		}
	}
	if err := s.dryRunControl(d, &c); err != nil {
		return c, err
	}
	if err := placementControl(c.placement); err != nil {
		return c, err
	}
	return c, s.sortControls(d, &c)
}

func boolControl(d *dict, name string, into *bool) *apiError {
	v, ok := d.get(name)
	if !ok {
		return nil
	}
	b, isBool := v.(bool)
	if !isBool {
		return fail("ENDPOINT_"+upper(name)+"_FIELD_INVALID_TYPE", "Field `%s` must be of type `boolean`.", name)
	}
	*into = b
	return nil
}

func intControl(d *dict, name string, into *int) *apiError {
	v, ok := d.get(name)
	if !ok {
		return nil
	}
	n, isInt := v.(int64)
	if !isInt {
		return fail("ENDPOINT_"+upper(name)+"_FIELD_INVALID_TYPE", "Field `%s` must be of type `integer`.", name)
	}
	*into = int(n)
	return nil
}

func placementControl(v any) *apiError {
	text, isText := v.(string)
	if _, isNumber := numeric(text); isText && !isNumber {
		return unexpected("Cannot assign string to property RESTAPI\\Core\\Model::$placement of type ?int")
	}
	return nil
}

func (s *session) dryRunControl(d *dict, c *controls) *apiError {
	if !s.profile.dryRun {
		return nil
	}
	if d.has("dry_run") && s.req.method == http.MethodGet {
		return fail("ENDPOINT_DRY_RUN_NOT_SUPPORTED_ON_GET", "The `dry_run` parameter is not supported on GET requests.")
	}
	if err := boolControl(d, "dry_run", &c.dryRun); err != nil {
		return err
	}
	if lower(s.req.header.Get("Prefer")) == "dry-run" {
		c.dryRun = true
	}
	if c.dryRun && s.req.method == http.MethodPut {
		return fail("MODEL_CACHE_MODELSET_MISSING_SIGNATURE", "ModelSet cannot be cached without a signature.")
	}
	return nil
}

var sortOrders = tagSet("SORT_ASC SORT_DESC")
var sortFlagNames = tagSet("SORT_REGULAR SORT_NUMERIC SORT_STRING SORT_LOCALE_STRING SORT_NATURAL SORT_FLAG_CASE")

func (s *session) sortControls(d *dict, c *controls) *apiError {
	if v, ok := d.get("sort_by"); ok {
		c.sortBy = texts(v)
		if len(c.sortBy) == 0 {
			return fail("ENDPOINT_SORT_BY_FIELD_INVALID_TYPE", "Field `sort_by` must be of type `string` or `array`.")
		}
		for _, name := range c.sortBy {
			if name != "id" && s.ep.model.field(name) == nil {
				return fail("ENDPOINT_SORT_BY_FIELD_NON_EXISTENT_FIELD", "Field `sort_by` contains non-existent field `%s`.", name)
			}
		}
	}
	if v, ok := d.get("sort_order"); ok {
		text, isText := v.(string)
		if !isText {
			return fail("ENDPOINT_SORT_ORDER_FIELD_INVALID_TYPE", "Field `sort_order` must be of type `string`.")
		}
		if !sortOrders[text] {
			return fail("ENDPOINT_SORT_ORDER_FIELD_UNKNOWN_SORT_ORDER", "Field `sort_order` must be one of [SORT_ASC, SORT_DESC]")
		}
		c.descending = text == "SORT_DESC"
	}
	if v, ok := d.get("sort_flags"); ok {
		text, isText := v.(string)
		if !isText {
			return fail("ENDPOINT_SORT_FLAGS_FIELD_INVALID_TYPE", "Field `sort_flags` must be of type `string`.")
		}
		if !sortFlagNames[text] {
			return fail("ENDPOINT_SORT_FLAGS_FIELD_UNKNOWN_SORT_FLAGS", "Field `sort_flags` must be one of [SORT_REGULAR, SORT_NUMERIC, SORT_STRING, SORT_LOCALE_STRING, SORT_NATURAL, SORT_FLAG_CASE]")
		}
		c.sortFlags = text
	}
	return nil
}
