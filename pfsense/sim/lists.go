package sim

import (
	"regexp"
	"sort"
	"strings"
)

// controlNames are request fields that steer the endpoint and are never values or filters.
var controlNames = tagSet("apply async append remove placement sort_by sort_order sort_flags reverse limit offset all dry_run")

type listQuery struct {
	filters    *dict
	limit      int
	offset     int
	reverse    bool
	sortBy     []string
	descending bool
	sortFlags  string
}

// query reads the objects of a model, of all parents if it has one, as plural endpoints do.
func (s *session) query(m *model, q listQuery) ([]*object, *apiError) {
	all, err := s.readAll(m)
	if err != nil {
		return nil, err
	}
	if len(q.filters.keys) == 0 && q.sortBy == nil {
		return plainPage(all, q), nil
	}
	kept := []*object{}
	for _, o := range all {
		ok, err := o.matches(q.filters)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, o)
		}
	}
	if q.sortBy != nil {
		sortObjects(kept, q.sortBy, q.descending, q.sortFlags)
	}
	kept = page(kept, q.limit, q.offset)
	if q.reverse {
		reverse(kept)
	}
	return kept, nil
}

// plainPage pages before the objects are made. With an offset but no limit the ids are counted anew: a defect that
// makes such an answer useless for a later change.
func plainPage(all []*object, q listQuery) []*object {
	if q.reverse {
		reverse(all)
	}
	out := page(all, q.limit, q.offset)
	if q.offset > 0 && q.limit == 0 {
		for i, o := range out {
			o.id = int64(i)
		}
	}
	return out
}

func page(all []*object, limit, offset int) []*object {
	if offset >= len(all) && offset > 0 {
		return []*object{}
	}
	all = all[offset:]
	if limit > 0 && limit < len(all) {
		all = all[:limit]
	}
	return all
}

func reverse(all []*object) {
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
}

func (s *session) readAll(m *model) ([]*object, *apiError) {
	if m.parent == "" {
		return s.siblings(s.newObject(m))
	}
	var out []*object
	for _, id := range s.parents(m) {
		o := s.newObject(m)
		o.parentID, o.hasParent = id, true
		part, err := s.siblings(o)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

func (s *session) parents(m *model) []any {
	var ids []any
	if m.parent == "DHCPServer" {
		for _, id := range subDict(s.cfg, "dhcpd").keys {
			ids = append(ids, id)
		}
		return ids
	}
	for i := range list(s.cfg, s.profile.tables.models[m.parent].path) {
		ids = append(ids, int64(i))
	}
	return ids
}

// matches applies the query filters. A field that the model does not have filters nothing.
func (o *object) matches(filters *dict) (bool, *apiError) {
	for _, target := range filters.keys {
		name, filter := target, "exact"
		if i := strings.LastIndex(target, "__"); i >= 0 {
			name, filter = target[:i], target[i+2:]
		}
		test, ok := o.s.filter(filter)
		if !ok {
			return false, fail("QUERY_FILTER_NOT_FOUND", "No QueryFilter class found with the name `%s`.", filter)
		}
		var v any
		switch {
		case name == "id":
			v = o.id
		case name == "parent_id":
			v = o.parentID
		case o.m.field(name) != nil:
			v = o.vals[name]
		default:
			continue
		}
		if !test(v, filters.vals[target]) {
			return false, nil
		}
	}
	return true, nil
}

func (s *session) filter(name string) (func(have, want any) bool, bool) {
	switch name {
	case "exact":
		return same, true
	case "except":
		return func(have, want any) bool { return !same(have, want) }, true
	case "contains":
		return containsFilter, true
	case "startswith":
		return textFilter(strings.HasPrefix), true
	case "endswith":
		return textFilter(strings.HasSuffix), true
	case "regex":
		return regexFilter, true
	case "gt":
		return func(have, want any) bool { return looseCompare(have, want) > 0 }, true
	case "gte":
		return func(have, want any) bool { return looseCompare(have, want) >= 0 }, true
	case "lt":
		return func(have, want any) bool { return looseCompare(have, want) < 0 }, true
	case "lte":
		return func(have, want any) bool { return looseCompare(have, want) <= 0 }, true
	case "in":
		return inFilter, s.profile.inFilter
	case "format":
		return func(any, any) bool { return false }, true
	}
	return nil, false
}

func containsFilter(have, want any) bool {
	if items, ok := have.([]any); ok {
		for _, x := range items {
			if looseCompare(x, want) == 0 {
				return true
			}
		}
		return false
	}
	text, ok := have.(string)
	return ok && strings.Contains(text, phpString(want))
}

func textFilter(test func(string, string) bool) func(have, want any) bool {
	return func(have, want any) bool {
		if items, ok := have.([]any); ok {
			if len(items) == 0 {
				return false
			}
			have = items[0]
			if test("ab", "b") {
				have = items[len(items)-1]
			}
		}
		text, ok := have.(string)
		return ok && test(text, phpString(want))
	}
}

func regexFilter(have, want any) bool {
	pattern := phpString(want)
	if len(pattern) < 2 {
		return false
	}
	end := strings.LastIndexByte(pattern, pattern[0])
	if end <= 0 {
		return false
	}
	flags := ""
	if strings.ContainsRune(pattern[end+1:], 'i') {
		flags = "(?i)"
	}
	re, err := regexp.Compile(flags + pattern[1:end])
	return err == nil && re.MatchString(phpString(have))
}

func inFilter(have, want any) bool {
	options, ok := want.([]any)
	if !ok {
		options = []any{want}
	}
	return contains(options, have)
}

// sortObjects orders as PHP's array_multisort does with the given flags; ties keep their order.
func sortObjects(all []*object, by []string, descending bool, flags string) {
	sort.SliceStable(all, func(i, j int) bool {
		for _, name := range by {
			a, b := all[i].vals[name], all[j].vals[name]
			if name == "id" {
				a, b = all[i].id, all[j].id
			}
			c := compareBy(flags, a, b)
			if c == 0 {
				continue
			}
			return (c < 0) != descending
		}
		return false
	})
}

func compareBy(flags string, a, b any) int {
	switch flags {
	case "SORT_STRING", "SORT_LOCALE_STRING":
		return strings.Compare(phpString(a), phpString(b))
	case "SORT_FLAG_CASE":
		return strings.Compare(lower(phpString(a)), lower(phpString(b)))
	case "SORT_NATURAL":
		return naturalCompare(phpString(a), phpString(b))
	case "SORT_NUMERIC":
		return compareFloat(number(a), number(b))
	}
	return looseCompare(a, b)
}
