package pfsense

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/canon"
	"countersign/core"
)

// maxTextBytes is the longest plain string the API stores; it counts bytes.
const maxTextBytes = 1024

// exactly refuses an object that has other members than these.
func exactly(o core.Object, names ...string) error {
	for _, name := range names {
		if _, ok := o[name]; !ok {
			return refuse(core.ErrRequest, name+" is missing")
		}
	}
	if len(o) != len(names) {
		return refuse(core.ErrRequest, "there is a member this change does not have; it takes "+strings.Join(names, ", "))
	}
	return nil
}

// textMember returns a member as text in NFC, as every request is compared.
func textMember(o core.Object, name string) (string, error) {
	s, ok := o[name].(string)
	if !ok {
		return "", refuse(core.ErrRequest, name+" must be text")
	}
	if !utf8.ValidString(s) {
		return "", refuse(core.ErrRequest, name+" is not valid Unicode")
	}
	return canon.NFC(s), nil
}

// boolMember returns a member that must be true or false.
func boolMember(o core.Object, name string) (bool, error) {
	b, ok := o[name].(bool)
	if !ok {
		return false, refuse(core.ErrRequest, name+" must be yes or no")
	}
	return b, nil
}

// intMember returns a member that must be a whole number in a range.
func intMember(o core.Object, name string, least, most int64) (int64, error) {
	n, ok := o[name].(int64)
	if !ok {
		return 0, refuse(core.ErrRequest, name+" must be a whole number")
	}
	if n < least || n > most {
		return 0, refuse(core.ErrRequest, fmt.Sprintf("%s must be between %d and %d", name, least, most))
	}
	return n, nil
}

// choiceMember returns a member that must be one of these words, exactly.
func choiceMember(o core.Object, name string, choices []string) (string, error) {
	if s, ok := o[name].(string); ok && slices.Contains(choices, s) {
		return s, nil
	}
	return "", refuse(core.ErrRequest, name+" must be one of "+strings.Join(choices, ", "))
}

// unstorable says what in a text config.xml cannot hold, or "". Control
// characters make pfSense fall back to its last backup, with a 200.
func unstorable(s string) string {
	for _, r := range s {
		switch {
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return "control characters damage the firewall's configuration; take them out"
		case r == '\uFFFE' || r == '\uFFFF':
			return "U+FFFE and U+FFFF damage the firewall's configuration; take them out"
		}
	}
	return ""
}

// unwritable says why a text would not come back as it was sent, or "".
func unwritable(s string) string {
	switch {
	case len(s) > maxTextBytes:
		return fmt.Sprintf("%d bytes, and the firewall stores %d at most (an accented letter takes 2 or more)", len(s), maxTextBytes)
	case s != "" && strings.TrimSpace(s) == "":
		return "only white space, which the firewall stores as empty"
	case !canon.IsNFC(s):
		return "not in Unicode normal form, so it could not be compared"
	}
	return unstorable(s)
}

// member is one member of a request body.
type member struct {
	name  string
	value any
}

// encodeBody writes compact JSON with the members in this order, as the
// conformance cases fix it: non-ASCII and HTML characters stay themselves.
func encodeBody(members ...member) ([]byte, error) {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := canon.Encode(m.name)
		if err != nil {
			return nil, fmt.Errorf("request body: %w", err)
		}
		value, err := canon.Encode(m.value)
		if err != nil {
			return nil, fmt.Errorf("request body: %w", err)
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// with returns a copy of an object with some members replaced.
func with(o core.Object, changes core.Object) core.Object {
	out := make(core.Object, len(o)+len(changes))
	for _, m := range []core.Object{o, changes} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// pick returns the named members of an object.
func pick(o core.Object, names ...string) core.Object {
	out := make(core.Object, len(names))
	for _, name := range names {
		out[name] = o[name]
	}
	return out
}

// same compares canonical values.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// strs returns a list that holds nothing but text.
func strs(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, item := range list {
		if out[i], ok = item.(string); !ok {
			return nil, false
		}
	}
	return out, true
}

// list is the canonical value of a list of texts.
func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// count is a number with its noun: "1 address", "3 addresses".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shown is a value as people read it.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// between reports whether v is a whole number in a range.
func between(v any, least, most int64) bool {
	n, ok := v.(int64)
	return ok && least <= n && n <= most
}

// oneOf reports whether v is one of these words.
func oneOf(v any, words ...string) bool {
	s, ok := v.(string)
	return ok && slices.Contains(words, s)
}

// settled returns the named members with null, "" and [] all as null, and
// refuses text that is not in normal form. A member that a version does not
// give is null too.
func settled(row core.Object, names ...string) (core.Object, error) {
	out := make(core.Object, len(names))
	for _, name := range names {
		v := row[name]
		if blank(v) {
			v = nil
		}
		if !isSettled(v) {
			return nil, refuse(core.ErrTargetUnsupported, "the firewall gives its "+name+" in a form that could not be written back")
		}
		out[name] = v
	}
	return out, nil
}

func isSettled(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64:
		return true
	case string:
		return canon.IsNFC(v)
	}
	return isTextList(v)
}

// words joins a list for people.
func words(v any) string {
	texts, _ := strs(v)
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}
