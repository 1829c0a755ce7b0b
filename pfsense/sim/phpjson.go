package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errJSON = errors.New("not JSON")

// decodeJSON parses a body as PHP's json_decode does: objects keep their order, the last of equal keys wins, numbers
// are integers where they can be, and invalid UTF-8 is an error. Objects become *dict, arrays []any.
func decodeJSON(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errJSON
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err != nil {
		return nil, errJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	return v, nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '{' {
			return decodeObject(dec)
		}
		return decodeArray(dec)
	case json.Number:
		return phpNumber(string(tok)), nil
	default:
		return tok, nil
	}
}

func decodeObject(dec *json.Decoder) (any, error) {
	d := newDict()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		d.set(key.(string), v)
	}
	_, err := dec.Token()
	return d, err
}

func decodeArray(dec *json.Decoder) (any, error) {
	out := []any{}
	for dec.More() {
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := dec.Token()
	return out, err
}

func phpNumber(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// encodeJSON writes a value as PHP's json_encode does: slashes and everything outside ASCII escaped, whole floats
// without a fraction.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	writeJSON(&b, v)
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(phpFloat(v))
	case string:
		writeJSONString(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, x)
		}
		b.WriteByte(']')
	case *rows:
		writeJSON(b, v.items)
	case *dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSONString(b, k)
			b.WriteByte(':')
			writeJSON(b, v.vals[k])
		}
		b.WriteByte('}')
	case map[string]any:
		writeJSON(b, sortedDict(v))
	default:
		b.WriteString("null")
	}
}

func sortedDict(m map[string]any) *dict {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	d := newDict()
	for _, k := range keys {
		d.set(k, m[k])
	}
	return d
}

const hexDigits = "0123456789abcdef"

func writeJSONString(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '/':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < ' ' || r > '~':
			writeUnicode(b, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

func writeUnicode(b *bytes.Buffer, r rune) {
	if r == 0x7f {
		b.WriteByte(0x7f)
		return
	}
	units := []uint16{uint16(r)}
	if r > 0xffff {
		r -= 0x10000
		units = []uint16{uint16(0xd800 + r>>10), uint16(0xdc00 + r&0x3ff)}
	}
	for _, u := range units {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hexDigits[u>>shift&0xf])
		}
	}
}

func phpFloat(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// phpString is PHP's conversion of a value to text, as it appears in messages.
func phpString(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "1"
		}
		return ""
	case string:
		return v
	case []any, *dict, *rows:
		return "Array"
	default:
		return strings.TrimSpace(string(encodeJSON(v)))
	}
}

// same is PHP's strict comparison (===) of representation values.
func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		bb, ok := b.([]any)
		if !ok || len(a) != len(bb) {
			return false
		}
		for i := range a {
			if !same(a[i], bb[i]) {
				return false
			}
		}
		return true
	case *dict:
		bb, ok := b.(*dict)
		return ok && bytes.Equal(encodeJSON(a), encodeJSON(bb))
	default:
		if _, isList := b.([]any); isList {
			return false
		}
		if _, isDict := b.(*dict); isDict {
			return false
		}
		return a == b
	}
}
