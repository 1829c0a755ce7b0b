package canon_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"countersign/canon"
)

// Each text has the one flaw that its class names, noticed at the offset.
func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name   string
		text   string
		class  canon.Class
		offset int
	}{
		{"empty text", "", canon.ErrSyntax, 0},
		{"white space only", " \n", canon.ErrSyntax, 2},
		{"byte order mark", "\ufeff1", canon.ErrSyntax, 0},
		{"form feed is not white space", "\f1", canon.ErrSyntax, 0},
		{"no-break space is not white space", "\u00a01", canon.ErrSyntax, 0},
		{"two values", "1 2", canon.ErrSyntax, 2},
		{"NUL after the value", "1\x00", canon.ErrSyntax, 1},
		{"comment", "1 // one", canon.ErrSyntax, 2},
		{"unknown word", "nil", canon.ErrSyntax, 0},
		{"cut word", "tru", canon.ErrSyntax, 0},
		{"word with a tail", "nulls", canon.ErrSyntax, 4},
		{"upper case word", "True", canon.ErrSyntax, 0},
		{"not a number", "NaN", canon.ErrSyntax, 0},
		{"infinity", "-Infinity", canon.ErrSyntax, 1},

		{"plus sign", "+1", canon.ErrSyntax, 0},
		{"minus alone", "-", canon.ErrSyntax, 1},
		{"leading zero", "01", canon.ErrSyntax, 1},
		{"leading zero after minus", "-01", canon.ErrSyntax, 2},
		{"hexadecimal", "0x1", canon.ErrSyntax, 1},
		{"point without digits", "1.", canon.ErrSyntax, 2},
		{"point without integer", ".5", canon.ErrSyntax, 0},
		{"exponent without digits", "1e", canon.ErrSyntax, 2},
		{"exponent with sign only", "1e+", canon.ErrSyntax, 3},
		{"digit group", "1_000", canon.ErrSyntax, 1},
		{"full-width digit", "\uff11", canon.ErrSyntax, 0},
		{"fraction", "[0.5]", canon.ErrFloat, 4},
		{"exponent", "1E-0", canon.ErrFloat, 4},
		{"one too many", "9223372036854775808", canon.ErrIntegerRange, 19},

		{"unclosed string", `"abc`, canon.ErrSyntax, 4},
		{"string cut in an escape", `"abc\`, canon.ErrSyntax, 5},
		{"single quotes", "'a'", canon.ErrSyntax, 0},
		{"raw newline in a string", "\"a\nb\"", canon.ErrSyntax, 2},
		{"raw NUL in a string", "\"a\x00b\"", canon.ErrSyntax, 2},
		{"raw U+001F in a string", "\"\x1f\"", canon.ErrSyntax, 1},
		{"unknown escape", `"\x41"`, canon.ErrSyntax, 2},
		{"escape of a quote that JSON does not have", `"\'"`, canon.ErrSyntax, 2},
		{"upper case U escape", `"\U0041"`, canon.ErrSyntax, 2},
		{"three digits", `"\u004"`, canon.ErrSyntax, 6},
		{"digits that are not", `"\u00g0"`, canon.ErrSyntax, 5},
		{"control character among the digits", "\"\\u\x100000\"", canon.ErrSyntax, 3},
		{"digits cut off", `"\u00`, canon.ErrSyntax, 5},
		{"high surrogate and bad digits", `"\ud800\uzzzz"`, canon.ErrSyntax, 9},
		{"low surrogate first", `"\udc00\ud800"`, canon.ErrUnicodeScalar, 13},
		{"high surrogate at the end", `"\ud800"`, canon.ErrUnicodeScalar, 7},
		{"high surrogate before another escape", `"\ud800\n"`, canon.ErrUnicodeScalar, 7},

		{"stray continuation byte", "\"\x80\"", canon.ErrUnicodeScalar, 1},
		{"overlong slash", "\"\xc0\xaf\"", canon.ErrUnicodeScalar, 1},
		{"overlong NUL", "\"\xc0\x80\"", canon.ErrUnicodeScalar, 1},
		{"encoded surrogate", "\"\xed\xa0\x80\"", canon.ErrUnicodeScalar, 1},
		{"encoded surrogate pair", "\"\xed\xa0\xbd\xed\xb8\x80\"", canon.ErrUnicodeScalar, 1},
		{"beyond U+10FFFF", "\"\xf4\x90\x80\x80\"", canon.ErrUnicodeScalar, 1},
		{"cut sequence", "\"\u00e9\xe2\x82\"", canon.ErrUnicodeScalar, 3},
		{"Latin-1 after a true U+FFFD", "\"\ufffd\xe9\"", canon.ErrUnicodeScalar, 4},
		{"invalid byte outside a string", "1\xff", canon.ErrUnicodeScalar, 1},

		{"unclosed array", "[1", canon.ErrSyntax, 2},
		{"array comma at the end", "[1,]", canon.ErrSyntax, 3},
		{"array comma at the start", "[,1]", canon.ErrSyntax, 1},
		{"array without a comma", "[1 2]", canon.ErrSyntax, 3},
		{"array closed by a brace", "[1}", canon.ErrSyntax, 2},
		{"closing bracket alone", "]", canon.ErrSyntax, 0},
		{"unclosed object", `{"a":1`, canon.ErrSyntax, 6},
		{"object comma at the end", `{"a":1,}`, canon.ErrSyntax, 7},
		{"object without a colon", `{"a" 1}`, canon.ErrSyntax, 5},
		{"object without a value", `{"a":}`, canon.ErrSyntax, 5},
		{"key without quotes", `{a:1}`, canon.ErrSyntax, 1},
		{"number as a key", `{1:1}`, canon.ErrSyntax, 1},
		{"null as a key", `{null:1}`, canon.ErrSyntax, 1},

		{"duplicate key", `{"a":1,"a":1}`, canon.ErrDuplicateKey, 10},
		{"duplicate key, one escaped", `{"a":1,"\u0061":2}`, canon.ErrDuplicateKey, 15},
		{"duplicate key, not normal", "{\"e\u0301\":1,\"e\u0301\":2}", canon.ErrDuplicateKey, 14},
		{"duplicate empty key", `{"":1,"":2}`, canon.ErrDuplicateKey, 8},
		{"duplicate key, nested", `[{"x":{"b":1,"c":2,"b":3}}]`, canon.ErrDuplicateKey, 22},
		{"colliding keys", "{\"\u00e9\":1,\"e\u0301\":2}", canon.ErrKeyCollision, 13},
		{"colliding keys, the other order", "{\"e\u0301\":1,\"\u00e9\":2}", canon.ErrKeyCollision, 13},
		{"colliding keys, neither normal", "{\"a\u0323\u0302\":1,\"a\u0302\u0323\":2}", canon.ErrKeyCollision, 18},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			value, err := canon.Parse([]byte(test.text))
			var refusal *canon.Error
			if value != nil || !errors.As(err, &refusal) {
				t.Fatalf("Parse(%q) = %v, %v; want an error", test.text, value, err)
			}
			if refusal.Class != test.class || refusal.Offset != test.offset {
				t.Errorf("Parse(%q): class %s at %d, want %s at %d",
					test.text, refusal.Class, refusal.Offset, test.class, test.offset)
			}
			if test.class == canon.ErrKeyCollision {
				return // only NFC makes these keys equal
			}
			if _, err := canon.ParseRaw([]byte(test.text)); !errors.Is(err, test.class) {
				t.Errorf("ParseRaw(%q): %v, want class %s", test.text, err, test.class)
			}
		})
	}
}

func TestParseValues(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{" null ", nil},
		{"false", false},
		{"-0", int64(0)},
		{"-9223372036854775808", int64(-1 << 63)},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u0041\u00e9\u00E9\ud83d\uDE00"`, "Aéé😀"},
		{`"a\u0301"`, "\u00e1"},
		{`"\ud83d\ude00\ufffd"`, "😀\ufffd"},
		{"[]", []any{}},
		{"[ [] , {} ]", []any{[]any{}, map[string]any{}}},
		{"{\"b\":[1,\t\"x\"],\r\n\"a\":true}", map[string]any{"a": true, "b": []any{int64(1), "x"}}},
	}
	for _, test := range tests {
		got, err := canon.Parse([]byte(test.text))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("Parse(%q) = %#v, %v; want %#v", test.text, got, err, test.want)
		}
	}
}

func TestParseRawKeepsStrings(t *testing.T) {
	text := "{\"\u00e9\":\"e\u0301\",\"e\u0301\":\"\u212b\"}" // a collision only for Parse
	want := map[string]any{"\u00e9": "e\u0301", "e\u0301": "\u212b"}
	got, err := canon.ParseRaw([]byte(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ParseRaw = %#v, %v; want %#v", got, err, want)
	}
}

func TestParseDoesNotKeepTheInput(t *testing.T) {
	text := []byte(`["before"]`)
	got, err := canon.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[2:], "after!")
	if want := []any{"before"}; !reflect.DeepEqual(got, want) {
		t.Errorf("value changed with the input: %v", got)
	}
}

func TestParseObject(t *testing.T) {
	got, err := canon.ParseObject([]byte(`{"a":1}`))
	if want := map[string]any{"a": int64(1)}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ParseObject = %v, %v", got, err)
	}
	for _, text := range []string{"null", "[]", `"{}"`, "1"} {
		if got, err := canon.ParseObject([]byte(text)); got != nil || !errors.Is(err, canon.ErrType) {
			t.Errorf("ParseObject(%s) = %v, %v; want class type", text, got, err)
		}
	}
	if _, err := canon.ParseObject([]byte("{")); !errors.Is(err, canon.ErrSyntax) {
		t.Errorf("ParseObject({): %v; want class syntax", err)
	}
}

// Every bound holds at its limit and refuses one more, for ParseRaw as for
// Parse (whose limits the conformance cases walk through).
func TestParseRawBounds(t *testing.T) {
	array := func(member string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(member+",", n), ",") + "]"
	}
	nodes := array(array("0", 999), 9) // 1 + 9 * 1000
	long := strings.TrimSuffix(array(`"`+strings.Repeat("x", 65530)+`"`, 16), "]")
	tests := []struct {
		name, fits, tooMuch string
		class               canon.Class
	}{
		{"depth", strings.Repeat("[", 33) + strings.Repeat("]", 33),
			strings.Repeat("[", 34) + strings.Repeat("]", 34), canon.ErrDepth},
		{"members", array("0", 4096), array("0", 4097), canon.ErrMembers},
		{"nodes", nodes[:len(nodes)-1] + "," + array("0", 998) + "]",
			nodes[:len(nodes)-1] + "," + array("0", 999) + "]", canon.ErrNodes},
		{"string", `"` + strings.Repeat("é", 32768) + `"`, `"` + strings.Repeat("é", 32768) + `a"`, canon.ErrStringBytes},
		{"string as it is", `"` + strings.Repeat("e\u0301", 21845) + `a"`,
			`"` + strings.Repeat("e\u0301", 21846) + `"`, canon.ErrStringBytes},
		// 16 strings of 65,532 bytes and their punctuation leave 48 bytes: a
		// comma, two quotes, 44 bytes of escapes and the bracket.
		{"encoded size", long + `,"` + strings.Repeat(`\n`, 22) + `"]`,
			long + `,"` + strings.Repeat(`\n`, 22) + `x"]`, canon.ErrTotalBytes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := canon.ParseRaw([]byte(test.fits)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			if _, err := canon.ParseRaw([]byte(test.tooMuch)); !errors.Is(err, test.class) {
				t.Errorf("one over: %v, want class %s", err, test.class)
			}
		})
	}
}

// Deep nesting must be refused without recursing into all of it.
func TestParseDeepNesting(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		_, err := canon.Parse([]byte(strings.Repeat(open, 1_000_000)))
		if !errors.Is(err, canon.ErrDepth) {
			t.Errorf("a million %q: %v, want class depth", open, err)
		}
	}
}
