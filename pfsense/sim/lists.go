package sim

import (
	"regexp"
	"sort"
	"strings"
)

// consumedNames are the control parameters that the endpoint takes out of the request data. The others, such as apply,
// stay in and are filters on fields that do not exist: they filter nothing.
var consumedNames = tagSet("async append remove sort_by sort_order sort_flags reverse limit offset dry_run")

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
		return func(have, want any) bool { return looseCompare(have, want) == 0 }, true
	case "except":
		return func(have, want any) bool { return looseCompare(have, want) != 0 }, true
	case "contains":
		return containsFilter, true
	case "startswith":
		return textFilter(strings.HasPrefix, firstOf), true
	case "endswith":
		return textFilter(strings.HasSuffix, lastOf), true
	case "regex":
		return regexFilter, true
	case "gt":
		return numberFilter(func(c int) bool { return c > 0 }), true
	case "gte":
		return numberFilter(func(c int) bool { return c >= 0 }), true
	case "lt":
		return numberFilter(func(c int) bool { return c < 0 }), true
	case "lte":
		return numberFilter(func(c int) bool { return c <= 0 }), true
	case "in":
		return inFilter, s.profile.inFilter
	case "format":
		return s.formatFilter, true
	}
	return nil, false
}

func containsFilter(have, want any) bool {
	if items, ok := have.([]any); ok {
		return looselyContains(items, want)
	}
	return strings.Contains(phpString(have), phpString(want))
}

// textFilter tests a text, or one entry of a list.
func textFilter(test func(string, string) bool, pick func([]any) any) func(have, want any) bool {
	return func(have, want any) bool {
		if items, ok := have.([]any); ok {
			have = pick(items)
		}
		return test(phpString(have), phpString(want))
	}
}

func firstOf(items []any) any {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

func lastOf(items []any) any {
	if len(items) == 0 {
		return nil
	}
	return items[len(items)-1]
}

// numberFilter compares numbers; anything else never matches.
func numberFilter(test func(int) bool) func(have, want any) bool {
	return func(have, want any) bool {
		h, ok1 := numeric(phpString(have))
		w, ok2 := numeric(phpString(want))
		return ok1 && ok2 && test(compareFloat(h, w))
	}
}

// formatFilter asks whether a value has a form, for example "ipv4".
func (s *session) formatFilter(have, want any) bool {
	text := phpString(have)
	switch want {
	case "ipv4":
		return isIPv4(text)
	case "ipv6":
		return isIPv6(text)
	case "ip":
		return isIPv4(text) || isIPv6(text)
	case "mac":
		return macForm.MatchString(text)
	case "subnetv4":
		return isSubnet(text, true, false)
	case "subnetv6":
		return isSubnet(text, false, true)
	case "subnet":
		return isSubnet(text, true, true)
	case "numeric":
		_, ok := numeric(text)
		return ok
	case "hostname":
		return isHostname(text)
	case "fqdn":
		return isFQDN(text)
	case "port":
		return isPort(text)
	case "portrange":
		return isPortRange(text)
	case "alias":
		return s.isAlias(text, true) || s.isAlias(text, false)
	}
	return false
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
	if _, isList := have.([]any); !ok || isList {
		return strings.Contains(phpString(want), phpString(have))
	}
	return looselyContains(options, have)
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
