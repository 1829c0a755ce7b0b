package sim

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// The conversions between what is stored in the configuration and what the API shows.

// meets reports whether the field's condition on other fields holds for the values at hand.
func (f *field) meets(vals map[string]any) bool {
	if f.conditions == nil {
		return true
	}
	for _, key := range f.conditions.keys {
		want := f.conditions.vals[key]
		name, negate := strings.CutPrefix(key, "!")
		got := vals[name]
		ok := same(got, want)
		if options, isList := want.([]any); isList {
			ok = contains(options, got)
		}
		if ok == negate {
			return false
		}
	}
	return true
}

func contains(options []any, v any) bool {
	for _, o := range options {
		if same(o, v) {
			return true
		}
	}
	return false
}

// absent is the value of a field that is not stored.
func (f *field) absent(s *session, vals map[string]any) any {
	switch {
	case f.kind == "time":
		return s.unix()
	case !f.meets(vals):
		return nil
	case f.typ == "boolean":
		return false
	case truthy(f.def):
		return clone(f.def)
	}
	return nil
}

// show converts a stored value to the one in answers.
func (f *field) show(s *session, raw any) any {
	if f.kind == "nested" {
		return raw
	}
	if !f.many {
		return f.showOne(s, raw)
	}
	out := []any{}
	switch raw := raw.(type) {
	case *rows:
		for _, x := range raw.items {
			out = append(out, f.showOne(s, x))
		}
	case string:
		if raw != "" && f.delimiter != "" {
			for _, part := range strings.Split(raw, f.delimiter) {
				out = append(out, f.showOne(s, part))
			}
		}
	}
	return out
}

func (f *field) showOne(s *session, raw any) any {
	if f.kind == "address" {
		return s.showAddress(raw)
	}
	text, ok := raw.(string)
	if !ok {
		return raw
	}
	switch {
	case f.typ == "boolean":
		return f.onTrue == "" || text == f.onTrue
	case f.typ == "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil
		}
		return n
	case f.kind == "interface":
		return s.showInterface(text)
	case f.kind == "network":
		if name, isIP := strings.CutSuffix(text, "ip"); isIP && s.interfaces().has(name) {
			return s.showInterface(name) + ":ip"
		}
		return s.showInterface(text)
	case f.kind == "port":
		return strings.ReplaceAll(text, "-", ":")
	case f.kind == "base64":
		plain, _ := base64.StdEncoding.DecodeString(text)
		return string(plain)
	case f.kind == "foreign" && text == "" && s.profile.foreignBlankNull:
		return nil
	}
	return text
}

// store converts a value to its stored form; nil removes the entry.
func (f *field) store(o *object) any {
	v := o.vals[f.name]
	if f.kind == "nested" {
		return o.storeNested(f)
	}
	if f.many {
		return f.storeMany(o, v)
	}
	return f.storeOne(o, v)
}

func (f *field) storeMany(o *object, v any) any {
	items, _ := v.([]any)
	if f.delimiter == "" {
		if len(items) == 0 {
			return nil
		}
		r := &rows{}
		for _, x := range items {
			r.items = append(r.items, f.storeOne(o, x))
		}
		return r
	}
	parts := make([]string, 0, len(items))
	for _, x := range items {
		text, _ := f.storeOne(o, x).(string)
		parts = append(parts, text)
	}
	return strings.Join(parts, f.delimiter)
}

func (f *field) storeOne(o *object, v any) any {
	switch f.kind {
	case "base64":
		text, _ := v.(string)
		return base64.StdEncoding.EncodeToString([]byte(text))
	case "port":
		if text, ok := v.(string); ok {
			return strings.ReplaceAll(text, ":", "-")
		}
	case "time":
		if f.allows("update") {
			o.vals[f.name] = o.s.unix()
			v = o.vals[f.name]
		}
	case "address":
		return o.s.storeAddress(v, o.labels[f.name])
	case "interface", "network":
		if text, ok := v.(string); ok {
			return o.s.storeInterface(text, f.kind == "network")
		}
	}
	switch v := v.(type) {
	case bool:
		switch {
		case v:
			return f.onTrue
		case f.onFalse != "":
			return f.onFalse
		}
		return nil
	case string:
		return v
	case nil:
		return nil
	default:
		return phpString(v)
	}
}

// showAddress turns the sections of a rule's source or destination into the API's text.
func (s *session) showAddress(raw any) string {
	d, ok := raw.(*dict)
	if !ok {
		return "unknown"
	}
	if d.has("any") {
		return "any"
	}
	prefix := ""
	if d.has("not") {
		prefix = "!"
	}
	if net := d.text("network"); d.has("network") {
		if name, isIP := strings.CutSuffix(net, "ip"); isIP {
			return prefix + s.showInterface(name) + ":ip"
		}
		return prefix + s.showInterface(net)
	}
	if d.has("address") {
		return prefix + d.text("address")
	}
	return "unknown"
}

// storeAddress is the reverse; the label says what validation took the value for.
func (s *session) storeAddress(v any, label string) any {
	text, _ := v.(string)
	if text == "any" {
		return newDict("any", "")
	}
	d := newDict()
	if rest, inverted := strings.CutPrefix(text, "!"); inverted {
		d.set("not", "")
		text = rest
	}
	text, isIP := strings.CutSuffix(text, ":ip")
	switch label {
	case "ip", "subnet", "alias":
		d.set("address", text)
	default:
		net := s.storeInterface(text, false)
		if isIP {
			net += "ip"
		}
		d.set("network", net)
	}
	return d
}

func (s *session) interfaces() *dict { return subDict(s.cfg, "interfaces") }

func (s *session) settings() *dict {
	v, _ := getPath(s.cfg, settingsPath)
	d, _ := v.(*dict)
	return d
}

// showInterface names an interface as the settings want it: by id, by description or by device.
func (s *session) showInterface(id string) string {
	d := subDict(s.interfaces(), id)
	if !s.interfaces().has(id) {
		return id
	}
	switch s.settings().text("represent_interfaces_as") {
	case "if":
		return d.text("if")
	case "descr":
		if d.text("descr") != "" {
			return d.text("descr")
		}
		return strings.ToUpper(id)
	}
	return id
}

// storeInterface finds the id of an interface by the name that is shown for it.
func (s *session) storeInterface(shown string, withIP bool) string {
	suffix := ""
	if withIP {
		if name, isIP := strings.CutSuffix(shown, ":ip"); isIP {
			shown, suffix = name, "ip"
		}
	}
	for _, id := range s.interfaces().keys {
		if s.showInterface(id) == shown {
			return id + suffix
		}
	}
	return shown + suffix
}

// interfaceNames are the names a field accepts as interfaces.
func (s *session) interfaceNames(f *field) []any {
	var out []any
	for _, id := range s.interfaces().keys {
		out = append(out, s.showInterface(id))
	}
	if f.allows("groups") {
		for _, g := range list(s.cfg, "ifgroups/ifgroupentry") {
			if d, ok := g.(*dict); ok {
				out = append(out, d.text("ifname"))
			}
		}
	}
	for _, extra := range []struct{ option, name string }{
		{"ipsec", "enc0"}, {"openvpn", "openvpn"}, {"localhost", "lo0"}, {"blank", ""},
	} {
		if f.allows(extra.option) {
			out = append(out, extra.name)
		}
	}
	if f.allows("any") && s.profile.anyInterface {
		out = append(out, "any")
	}
	return out
}
