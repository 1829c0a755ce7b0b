package sim

import (
	"net/http"
	"strings"
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
	if s.req.method == http.MethodPut && s.ep.many && isDict && len(d.keys) > 0 {
		return nil, fail("ENDPOINT_REQUEST_DATA_MUST_BE_INDEXED_ARRAY",
			"PUT requests to `many` endpoints must contain an indexed array of objects to replace.")
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
		if !consumedNames[k] || k == "dry_run" && !s.profile.dryRun {
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
	items, _ := data.([]any)
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
	}{{"async", &c.async}, {"reverse", &c.reverse}, {"append", &c.add}, {"remove", &c.remove}} {
		if err := boolControl(d, p.name, p.into); err != nil {
			return c, err
		}
		if p.name == "reverse" {
			if err := s.sortControls(d, &c); err != nil {
				return c, err
			}
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
	return c, placementControl(c.placement)
}

func boolControl(d *dict, name string, into *bool) *apiError {
	v, ok := d.get(name)
	if !ok || v == nil {
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
	if !ok || v == nil {
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
	if err := boolControl(d, "dry_run", &c.dryRun); err != nil {
		return err
	}
	for _, token := range strings.Split(s.req.header.Get("Prefer"), ",") {
		c.dryRun = c.dryRun || lower(strings.TrimSpace(token)) == "dry-run"
	}
	if c.dryRun && s.req.method == http.MethodGet {
		return fail("ENDPOINT_DRY_RUN_NOT_SUPPORTED_ON_GET", "The `dry_run` parameter is not supported on GET requests.")
	}
	if c.dryRun && s.req.method == http.MethodPut {
		return fail("MODEL_CACHE_MODELSET_MISSING_SIGNATURE", "ModelSet cannot be cached without a signature.")
	}
	return nil
}

var (
	sortOrders    = tagSet("SORT_ASC SORT_DESC")
	sortFlagNames = tagSet(sortFlagList)
)

const sortFlagList = "SORT_REGULAR SORT_NUMERIC SORT_STRING SORT_LOCALE_STRING SORT_NATURAL SORT_FLAG_CASE"

func (s *session) sortControls(d *dict, c *controls) *apiError {
	if v := d.vals["sort_by"]; v != nil {
		names, isList := v.([]any)
		if !isList {
			names = []any{v}
		}
		c.sortBy = []string{}
		for _, n := range names {
			text, isText := n.(string)
			if !isText {
				return fail("ENDPOINT_SORT_BY_FIELD_INVALID_TYPE", "Field `sort_by` must be of type `string`.")
			}
			if s.ep.model.field(text) == nil {
				return fail("ENDPOINT_SORT_BY_FIELD_NON_EXISTENT_FIELD", "Field `sort_by` must be a valid field in the Model.")
			}
			c.sortBy = append(c.sortBy, text)
		}
	}
	order, err := textControl(d, "sort_order", sortOrders, "['SORT_ASC', 'SORT_DESC'].")
	if err != nil {
		return err
	}
	c.descending = order == "SORT_DESC"
	flags := `["` + strings.ReplaceAll(sortFlagList, " ", `","`) + `"]`
	c.sortFlags, err = textControl(d, "sort_flags", sortFlagNames, flags)
	return err
}

func textControl(d *dict, name string, allowed map[string]bool, shown string) (string, *apiError) {
	v := d.vals[name]
	if v == nil {
		return "", nil
	}
	text, isText := v.(string)
	if !isText {
		return "", fail("ENDPOINT_"+upper(name)+"_FIELD_INVALID_TYPE", "Field `%s` must be of type `string`.", name)
	}
	if !allowed[text] {
		return "", fail("ENDPOINT_"+upper(name)+"_FIELD_UNKNOWN_"+upper(name), "Field `%s` must be one of: %s", name, shown)
	}
	return text, nil
}
