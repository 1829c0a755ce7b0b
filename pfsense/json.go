package pfsense

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/canon"
)

// numbers says what a reading does with numbers that have a fraction.
type numbers bool

const (
	// exact refuses them, as canonical values do.
	exact numbers = false
	// tolerant keeps them as json.Number: machine readings (load, temperature)
	// stand beside the fields that matter.
	tolerant numbers = true
)

// parseJSON reads one text as strictly as canon.ParseRaw: no duplicate keys,
// no lone surrogates, no invalid UTF-8, integers of 64 bits, canon's depth;
// strings stay as they are. The bounds on size are not canon's, which are for
// one record, but the answer's: a whole list may be larger than any record.
// The errors are canon's classes.
func parseJSON(data []byte, n numbers) (any, error) {
	switch {
	case !utf8.Valid(data):
		return nil, canon.ErrUnicodeScalar
	case !json.Valid(data):
		return nil, canon.ErrSyntax
	case hasLoneSurrogate(data):
		return nil, canon.ErrUnicodeScalar
	}
	d := jsonReader{tokens: json.NewDecoder(bytes.NewReader(data)), numbers: n}
	d.tokens.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.tokens.Token(); err != io.EOF {
		return nil, canon.ErrSyntax
	}
	return v, nil
}

type jsonReader struct {
	tokens  *json.Decoder
	numbers numbers
}

func (r jsonReader) value(depth int) (any, error) {
	if depth > canon.MaxDepth {
		return nil, canon.ErrDepth
	}
	t, err := r.tokens.Token()
	if err != nil {
		return nil, canon.ErrSyntax
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	case json.Number:
		return r.number(t)
	default:
		return t, nil // string, bool or nil
	}
}

func (r jsonReader) array(depth int) (any, error) {
	items := []any{}
	for r.tokens.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, r.end()
}

func (r jsonReader) object(depth int) (any, error) {
	members := map[string]any{}
	for r.tokens.More() {
		t, err := r.tokens.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, canon.ErrSyntax
		}
		if _, taken := members[key]; taken {
			return nil, canon.ErrDuplicateKey
		}
		if members[key], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return members, r.end()
}

func (r jsonReader) end() error {
	if _, err := r.tokens.Token(); err != nil {
		return canon.ErrSyntax
	}
	return nil
}

func (r jsonReader) number(n json.Number) (any, error) {
	if strings.ContainsAny(n.String(), ".eE") {
		if r.numbers == tolerant {
			return n, nil
		}
		return nil, canon.ErrFloat
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		return nil, canon.ErrIntegerRange
	}
	return i, nil
}

// hasLoneSurrogate looks for \uD800 to \uDFFF without a partner, which
// encoding/json replaces without a word. data is valid JSON, so a backslash
// occurs in strings only and is followed by what it must be followed by.
func hasLoneSurrogate(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return false
		}
		if data[i+1] != 'u' {
			data = data[i+2:]
			continue
		}
		first := hex4(data[i+2:])
		data = data[i+6:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(data, []byte(`\u`)) || utf16.DecodeRune(first, hex4(data[2:])) == utf8.RuneError {
			return true
		}
		data = data[6:]
	}
}

func hex4(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}
