package pfsense

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"countersign/canon"
	"countersign/core"
)

// mostEntriesAtOnce bounds one request.
const mostEntriesAtOnce = 200

// entriesBefore254 is how many entries an alias may have before API 2.5.4.
const entriesBefore254 = 128

// newAliasEntries adds entries to an alias and removes others, for example to
// block an address. Addresses and details go together by position, so both
// lists are always sent, whole and in order.
func newAliasEntries() listed {
	c := aliasChange(core.Spec{
		EndpointSymbol:      "FIREWALL_ALIAS_ENTRIES",
		SemanticUnit:        "set_firewall_alias_entries_v1",
		AdapterVersion:      "firewall-alias-entries-v1",
		RollbackPlanVersion: "firewall-alias-entries-rollback-v1",
		ContractPrefix:      "aliasents",
		Title:               "alias entries",
		OptionalReads:       []string{pathAPIVersion},
		Loads:               core.Firewall,
		Marks:               []string{"aliases"},
		WayBack:             "all entries are written back as they were, in their order",
	})
	c.values = []value{{"add", "added_entries"}, {"remove", "removed_addresses"}}
	c.project = func(_ core.Reading, row core.Object) (core.Object, error) { return aliasProjection(padded(row)) }
	c.form = func(a core.Object) []core.Field {
		addresses, _ := strs(a["address"])
		return []core.Field{
			{Name: "add", Label: "Add", Kind: core.ListField, Current: []any{},
				Help: "one entry a line: the address, a blank, and what it is"},
			{Name: "remove", Label: "Remove", Kind: core.ListField, Current: []any{}, Choices: addresses,
				Help: "one address a line"},
		}
	}
	c.parse = parseAliasEntries
	c.intend = func(fields, snapshot core.Object) core.Object { return editEntries(snapshot, fields).object(snapshot) }
	c.admit = admitAliasEntries
	c.body = func(o core.Observation, state core.Object) []member {
		return []member{{"id", o.Locator}, {"name", o.Guard}, {"address", state["address"]}, {"detail", state["detail"]}}
	}
	c.changes = aliasEntryChanges
	return c
}

// padded gives every address a detail: the API shows none where all are
// empty, and leaves out those at the end.
func padded(row core.Object) core.Object {
	addresses, ok := strs(row["address"])
	details, ok2 := strs(row["detail"])
	if (!ok && !blank(row["address"])) || (!ok2 && !blank(row["detail"])) {
		return row
	}
	for len(details) < len(addresses) {
		details = append(details, "")
	}
	return with(row, core.Object{"address": list(addresses), "detail": list(details)})
}

// entry is one address with its detail.
type entry struct{ address, detail string }

// parseEntry splits a line at its first blanks.
func parseEntry(line string) entry {
	line = strings.TrimSpace(line)
	at := strings.IndexFunc(line, unicode.IsSpace)
	if at < 0 {
		return entry{address: line}
	}
	return entry{line[:at], strings.TrimSpace(line[at:])}
}

func (e entry) String() string { return strings.TrimSpace(e.address + " " + e.detail) }

// is reports whether two spellings are the same address. The case of an
// alias's name matters, that of a host name does not.
func (e entry) is(address string) bool {
	if e.address == address || strings.Contains(address, ".") && strings.EqualFold(e.address, address) {
		return true
	}
	a, err := netip.ParseAddr(e.address)
	b, err2 := netip.ParseAddr(address)
	return err == nil && err2 == nil && a == b
}

// entries is an alias's content.
type entries []entry

func entriesOf(a core.Object) entries {
	addresses, _ := strs(a["address"])
	details, _ := strs(a["detail"])
	out := make(entries, len(addresses))
	for i := range addresses {
		out[i] = entry{addresses[i], details[i]}
	}
	return out
}

func (es entries) has(address string) bool {
	return slices.ContainsFunc(es, func(e entry) bool { return e.is(address) })
}

// object is the alias with this content.
func (es entries) object(a core.Object) core.Object {
	addresses, details := make([]any, len(es)), make([]any, len(es))
	for i, e := range es {
		addresses[i], details[i] = e.address, e.detail
	}
	return with(a, core.Object{"address": addresses, "detail": details})
}

// editEntries removes and adds, keeping the order of what stays. What is
// there already is not added twice.
func editEntries(a, fields core.Object) entries {
	removed, _ := strs(fields["remove"])
	added, _ := strs(fields["add"])
	out := slices.DeleteFunc(entriesOf(a), func(e entry) bool { return slices.ContainsFunc(removed, e.is) })
	for _, line := range added {
		if e := parseEntry(line); !out.has(e.address) {
			out = append(out, e)
		}
	}
	return out
}

func parseAliasEntries(fields core.Object) (core.Object, error) {
	name, err := requestAliasName(fields)
	if err != nil {
		return nil, err
	}
	var seen entries
	add, err := parseLines(fields, "add", &seen)
	if err != nil {
		return nil, err
	}
	remove, err := parseLines(fields, "remove", &seen)
	switch {
	case err != nil:
		return nil, err
	case len(seen) == 0:
		return nil, refuse(core.ErrRequest, "give at least one entry to add or one address to remove")
	case len(seen) > mostEntriesAtOnce:
		return nil, refuse(core.ErrRequest, fmt.Sprintf("at most %d entries can be changed at once", mostEntriesAtOnce))
	}
	return core.Object{"alias_name": name, "add": add, "remove": remove}, nil
}

// parseLines normalises the lines of one list. An address may occur once in
// the whole request.
func parseLines(fields core.Object, name string, seen *entries) ([]any, error) {
	lines, ok := strs(fields[name])
	if !ok {
		return nil, refuse(core.ErrRequest, name+" must be a list of lines")
	}
	out := make([]any, len(lines))
	for i, line := range lines {
		e := parseEntry(canon.NFC(line))
		why := ""
		switch {
		case e.address == "":
			why = "is empty"
		case name == "remove" && e.detail != "":
			why = "must be one address, without its detail"
		case strings.ContainsAny(line, "\n\r"):
			why = "has a line break in it"
		case unstorable(line) != "":
			why = "has control characters, which damage the firewall's configuration"
		case badDetail(e.detail) != "":
			why = "has a detail that cannot be stored: " + badDetail(e.detail)
		case len(e.address) > maxTextBytes:
			why = "is too long"
		case seen.has(e.address):
			why = "names an address for the second time"
		}
		if why != "" {
			return nil, refuse(core.ErrRequest, fmt.Sprintf("line %d to %s %s", i+1, name, why))
		}
		*seen = append(*seen, e)
		out[i] = e.String()
	}
	return out, nil
}

// admitAliasEntries refuses entries that this alias cannot take.
func admitAliasEntries(r core.Reading, o core.Observation, fields core.Object) error {
	now, kind := entriesOf(o.Projection), textOf(o.Projection, "type")
	added, _ := strs(fields["add"])
	removed, _ := strs(fields["remove"])
	for i, line := range added {
		e := parseEntry(line)
		why := badAddress(aliasesIn(r), kind, e.address)
		switch {
		case now.has(e.address):
			why = "it is in the alias already"
		case e.is(o.Label):
			why = "an alias cannot hold itself"
		}
		if why != "" {
			return refuse(core.ErrRequest, fmt.Sprintf("line %d to add: %s", i+1, why))
		}
	}
	for i, address := range removed {
		if !now.has(address) {
			return refuse(core.ErrRequest, fmt.Sprintf("line %d to remove: it is not in the alias", i+1))
		}
	}
	return admitEntryCount(r, len(now), len(editEntries(o.Projection, fields)))
}

func admitEntryCount(r core.Reading, before, after int) error {
	most := mostEntries
	row, _ := r.Data[pathAPIVersion].(core.Object)
	if version, ok := parseVersion(textOf(row, "current_version")); ok && version.before(2, 5, 4) {
		most = entriesBefore254
	}
	switch {
	case after > most:
		return refuse(core.ErrRequest, fmt.Sprintf("the alias would have %d entries, and %d are possible here", after, most))
	case before > most:
		return refuse(core.ErrTargetUnsupported, fmt.Sprintf("it has %d entries now, and this REST API could write back %d at most", before, most))
	}
	return nil
}

func aliasEntryChanges(fields, snapshot core.Object) []core.Change {
	now, then := entriesOf(snapshot), editEntries(snapshot, fields)
	const field = "entries"
	var out []core.Change
	for _, e := range now {
		if !then.has(e.address) {
			out = append(out, core.Change{Field: field, Before: e.String(), Member: true})
		}
	}
	for _, e := range then {
		if !now.has(e.address) {
			out = append(out, core.Change{Field: field, After: e.String(), Member: true})
		}
	}
	return out
}
