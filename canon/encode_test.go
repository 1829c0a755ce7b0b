package canon_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/canon"
)

func TestEncodings(t *testing.T) {
	tests := []struct {
		name      string
		value     any
		canonical string
		ascii     string
	}{
		{"null", nil, `null`, `null`},
		{"int", -7, `-7`, `-7`},
		{"int64", int64(1<<63 - 1), `9223372036854775807`, `9223372036854775807`},
		{"digest", canon.Digest{0xab}, `"ab` + strings.Repeat("00", 31) + `"`, `"ab` + strings.Repeat("00", 31) + `"`},
		{"nil slice", []any(nil), `[]`, `[]`},
		{"nil map", map[string]any(nil), `{}`, `{}`},
		{"short escapes", "\"\\/\b\t\n\f\r", `"\"\\/\b\t\n\f\r"`, `"\"\\/\b\t\n\f\r"`},
		{"other controls", "\x00\x0b\x1f", `"\u0000\u000b\u001f"`, `"\u0000\u000b\u001f"`},
		{"HTML stays", "<a&b>", `"<a&b>"`, `"<a&b>"`},
		{"DEL is not printable ASCII", "\x7f", "\"\x7f\"", `"\u007f"`},
		{"line separators", "\u2028\u2029", "\"\u2028\u2029\"", `"\u2028\u2029"`},
		{"Latin-1", "\u00e9\u00ff", "\"\u00e9\u00ff\"", `"\u00e9\u00ff"`},
		{"last of the plane", "\uffff", "\"\uffff\"", `"\uffff"`},
		{"surrogate pairs", "\U00010000😀\U0010ffff", "\"\U00010000😀\U0010ffff\"", `"\ud800\udc00\ud83d\ude00\udbff\udfff"`},
		{"only one is normalised", "e\u0301", "\"\u00e9\"", `"e\u0301"`},
		{"keys by code point", map[string]any{"\U00010000": 1, "\uffff": 2, "b": 3, "B": 4, "": 5},
			"{\"\":5,\"B\":4,\"b\":3,\"\uffff\":2,\"\U00010000\":1}",
			`{"":5,"B":4,"b":3,"\uffff":2,"\ud800\udc00":1}`},
		{"keys change their order under NFC", map[string]any{"e\u0301": 1, "f": 2},
			"{\"f\":2,\"\u00e9\":1}", `{"e\u0301":1,"f":2}`},
		{"nested", []any{map[string]any{"b": []any{}, "a": true}}, `[{"a":true,"b":[]}]`, `[{"a":true,"b":[]}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := canon.Encode(test.value); err != nil || string(got) != test.canonical {
				t.Errorf("Encode: %s, %v; want %s", got, err, test.canonical)
			}
			if got, err := canon.EncodeASCII(test.value); err != nil || string(got) != test.ascii {
				t.Errorf("EncodeASCII: %s, %v; want %s", got, err, test.ascii)
			}
		})
	}
}

// What Go can hold and a canonical value cannot is refused by all who take
// values, wherever it stands.
func TestGoValuesRefused(t *testing.T) {
	wide := map[string]any{}
	for i := range canon.MaxMembers + 1 {
		wide[strings.Repeat("k", i)] = nil
	}
	var deep any
	for range canon.MaxDepth + 1 {
		deep = []any{deep}
	}
	tests := []struct {
		name  string
		value any
		class canon.Class
	}{
		{"float64", 1.0, canon.ErrFloat},
		{"float32", float32(1), canon.ErrFloat},
		{"uint64", uint64(1), canon.ErrType},
		{"int32", int32(1), canon.ErrType},
		{"bytes", []byte("x"), canon.ErrType},
		{"strings", []string{"x"}, canon.ErrType},
		{"typed map", map[string]string{"a": "b"}, canon.ErrType},
		{"map with other keys", map[int]any{1: 1}, canon.ErrType},
		{"named string", canon.Intent, canon.ErrType},
		{"pointer", new(string), canon.ErrType},
		{"invalid UTF-8", "a\xffb", canon.ErrUnicodeScalar},
		{"encoded surrogate", "\xed\xa0\x80", canon.ErrUnicodeScalar},
		{"too long", strings.Repeat("a", canon.MaxStringBytes+1), canon.ErrStringBytes},
		{"too wide", wide, canon.ErrMembers},
		{"too wide array", make([]any, canon.MaxMembers+1), canon.ErrMembers},
		{"too deep", deep, canon.ErrDepth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			refused(t, test.value, test.class)
			if test.class != canon.ErrDepth {
				refused(t, []any{map[string]any{"a": test.value}}, test.class)
			}
		})
	}
	refused(t, map[string]any{"a\xff": 1}, canon.ErrUnicodeScalar)
	refused(t, map[string]any{strings.Repeat("a", canon.MaxStringBytes+1): 1}, canon.ErrStringBytes)
}

func refused(t *testing.T, value any, class canon.Class) {
	t.Helper()
	if got, err := canon.Encode(value); got != nil || !errors.Is(err, class) {
		t.Errorf("Encode: %v, want class %s", err, class)
	}
	if got, err := canon.EncodeASCII(value); got != nil || !errors.Is(err, class) {
		t.Errorf("EncodeASCII: %v, want class %s", err, class)
	}
	if got, err := canon.Normalize(value); got != nil || !errors.Is(err, class) {
		t.Errorf("Normalize: %v, want class %s", err, class)
	}
	if got, err := canon.Sum(canon.Intent, nil, value); !got.IsZero() || !errors.Is(err, class) {
		t.Errorf("Sum: %v, want class %s", err, class)
	}
}

// Keys that NFC makes equal are two keys for the encoding without NFC.
func TestKeyCollision(t *testing.T) {
	value := map[string]any{"\u212b": 1, "\u00c5": 2}
	if _, err := canon.Encode(value); !errors.Is(err, canon.ErrKeyCollision) {
		t.Errorf("Encode: %v", err)
	}
	if _, err := canon.Normalize(value); !errors.Is(err, canon.ErrKeyCollision) {
		t.Errorf("Normalize: %v", err)
	}
	got, err := canon.EncodeASCII(value)
	if want := `{"\u00c5":2,"\u212b":1}`; err != nil || string(got) != want {
		t.Errorf("EncodeASCII: %s, %v; want %s", got, err, want)
	}
}

func TestNormalizeCopies(t *testing.T) {
	inner := []any{"a"}
	in := map[string]any{"list": inner, "n": 3, "d": canon.Digest{}}
	out, err := canon.Normalize(in)
	if err != nil {
		t.Fatal(err)
	}
	object := out.(map[string]any)
	inner[0] = "changed"
	in["n"] = 4
	if object["list"].([]any)[0] != "a" || object["n"] != int64(3) || object["d"] != (canon.Digest{}).String() {
		t.Errorf("Normalize = %v", object)
	}
}

// No error of this package holds a part of what it refuses.
func TestErrorsAreValueFree(t *testing.T) {
	const secret = "Xyzzy7"
	texts := []string{
		`{"` + secret + `":1,"` + secret + `":2}`,
		`["` + secret + `" ` + secret + `]`,
		`["` + secret + `\ud800"]`,
		`["` + secret + "\xff\"]",
		`["` + secret + `",1.5]`,
	}
	for _, text := range texts {
		_, err := canon.Parse([]byte(text))
		checkValueFree(t, err, secret)
	}
	_, err := canon.Encode(map[string]any{secret: []any{secret, 1.5}})
	checkValueFree(t, err, secret)
	_, err = canon.Sum(canon.Purpose(secret), nil, nil)
	checkValueFree(t, err, secret)
	_, err = canon.Sum(canon.Intent, []string{secret + "\xff"}, nil)
	checkValueFree(t, err, secret)
	_, err = canon.ParseDigest(secret)
	checkValueFree(t, err, secret)
}

func checkValueFree(t *testing.T, err error, secret string) {
	t.Helper()
	if err == nil {
		t.Error("not refused")
	} else if strings.Contains(err.Error(), secret) {
		t.Errorf("error shows the value: %v", err)
	}
}
