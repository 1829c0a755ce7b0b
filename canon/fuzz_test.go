package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
)

// FuzzParse asserts that no text makes the parser panic, that what it accepts
// encodes to a fixed point, and that it agrees with encoding/json wherever
// that one is strict enough to agree with.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"canonical_accept.json", "canonical_reject.json"} {
		var cases struct {
			Cases []jsonText `json:"cases"`
		}
		canontest.Load(f, file, &cases)
		for _, c := range cases.Cases {
			if text := c.bytes(); len(text) <= 1024 {
				f.Add(text)
			}
		}
	}
	for _, seed := range []string{
		`{"a":[1,-2,{"b":null}],"c":"\ud83d\ude00\u0000","d":true}`,
		`{"a":1,"a":2}`, `[1.0e-7]`, "\"\xed\xa0\x80\"", "\ufeff{}", `"\u00`, "[[[", "-", "{\"\":\t0}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkFixedPoint(t, text)
		checkAgainstJSON(t, text)
	})
}

func checkFixedPoint(t *testing.T, text []byte) {
	value, err := canon.Parse(text)
	if err != nil {
		checkRefusal(t, err, len(text))
		return
	}
	encoded, err := canon.Encode(value)
	if err != nil {
		t.Fatalf("Encode(Parse(%q)): %v", text, err)
	}
	again, err := canon.Parse(encoded)
	if err != nil || !reflect.DeepEqual(again, value) {
		t.Fatalf("Parse(%q) = %v, %v; want the value of %q: %v", encoded, again, err, text, value)
	}
	if second, err := canon.Encode(again); err != nil || !bytes.Equal(second, encoded) {
		t.Fatalf("%q encodes to %q, %v", encoded, second, err)
	}
	normal, err := canon.Normalize(value)
	if err != nil || !reflect.DeepEqual(normal, value) {
		t.Fatalf("Normalize(Parse(%q)) = %v, %v", text, normal, err)
	}
}

func checkRefusal(t *testing.T, err error, length int) {
	var refusal *canon.Error
	if !errors.As(err, &refusal) || refusal.Class == "" {
		t.Fatalf("error %v has no class", err)
	}
	if refusal.Offset < 0 || refusal.Offset > length {
		t.Fatalf("error %v is outside the text of %d bytes", err, length)
	}
}

func checkAgainstJSON(t *testing.T, text []byte) {
	value, err := canon.ParseRaw(text)
	if err != nil {
		if json.Valid(text) && errors.Is(err, canon.ErrSyntax) {
			t.Fatalf("ParseRaw(%q): %v; encoding/json finds it well formed", text, err)
		}
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var lenient any
	if err := decoder.Decode(&lenient); err != nil {
		t.Fatalf("ParseRaw accepts %q, encoding/json: %v", text, err)
	}
	if want := integers(lenient); !reflect.DeepEqual(value, want) {
		t.Fatalf("ParseRaw(%q) = %v, encoding/json says %v", text, value, want)
	}
	stored, err := canon.EncodeASCII(value)
	if errors.Is(err, canon.ErrTotalBytes) {
		return // escapes are longer than what they stand for
	}
	if err != nil || !json.Valid(stored) {
		t.Fatalf("EncodeASCII(%v) = %q, %v", value, stored, err)
	}
	if again, err := canon.ParseRaw(stored); err != nil || !reflect.DeepEqual(again, value) {
		t.Fatalf("ParseRaw(%q) = %v, %v; want %v", stored, again, err, value)
	}
}

// integers replaces the numbers of encoding/json by int64.
func integers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return v
		}
		return n
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	}
	return v
}
