package pfsense

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
)

// checkAgainstCanon holds parseJSON to canon.ParseRaw: it reads what that
// reads, to the same value, and refuses what that refuses, except for size.
func checkAgainstCanon(t *testing.T, text []byte) {
	t.Helper()
	want, wantErr := canon.ParseRaw(text)
	got, err := parseJSON(text, exact)
	switch {
	case wantErr == nil:
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.80q: got %#v, %v; want %#v", text, got, err, want)
		}
	case isSize(wantErr):
	case err == nil:
		t.Errorf("%.80q: accepted, canon says %v", text, wantErr)
	}
}

func isSize(err error) bool {
	for _, class := range []canon.Class{canon.ErrNodes, canon.ErrMembers, canon.ErrStringBytes, canon.ErrTotalBytes} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func TestConformanceAnswersAreStrictJSON(t *testing.T) {
	for _, file := range []string{"canonical_accept.json", "canonical_reject.json"} {
		var cases struct {
			Cases []struct {
				Name  string  `json:"name"`
				Input *string `json:"input"`
			} `json:"cases"`
		}
		canontest.Load(t, file, &cases)
		ran := 0
		for _, c := range cases.Cases {
			if c.Input == nil {
				continue // long texts about canon's own bounds
			}
			ran++
			checkAgainstCanon(t, []byte(*c.Input))
		}
		t.Logf("%s: %d of %d cases (the others are about canon's bounds)", file, ran, len(cases.Cases))
	}
}

func TestParseJSON(t *testing.T) {
	refused := map[string]canon.Class{
		"\xff":                canon.ErrUnicodeScalar,
		`"\ud800"`:            canon.ErrUnicodeScalar,
		`"\udc00\ud800"`:      canon.ErrUnicodeScalar,
		`"\ud800\n"`:          canon.ErrUnicodeScalar,
		`"\ud800\u0041"`:      canon.ErrUnicodeScalar,
		`{"\udfff":1}`:        canon.ErrUnicodeScalar,
		`{"a":1,"\u0061":2}`:  canon.ErrDuplicateKey,
		`1.5`:                 canon.ErrFloat,
		`1e3`:                 canon.ErrFloat,
		`9223372036854775808`: canon.ErrIntegerRange,
		``:                    canon.ErrSyntax,
		`{} {}`:               canon.ErrSyntax,
		"\ufeff{}":            canon.ErrSyntax,
		strings.Repeat("[", 34) + strings.Repeat("]", 34): canon.ErrDepth,
	}
	for text, class := range refused {
		if v, err := parseJSON([]byte(text), exact); !errors.Is(err, class) || v != nil {
			t.Errorf("%q: got %v, %v; want %v", text, v, err, class)
		}
	}
	accepted := map[string]any{
		`"\\ud800"`:        `\ud800`,
		`"\ud83d\ude00"`:   "\U0001F600",
		`"\\\ud83d\ude00"`: "\\\U0001F600",
		`"\ufffd"`:         "\ufffd",
		`-0`:               int64(0),
	}
	for text, want := range accepted {
		if v, err := parseJSON([]byte(text), exact); err != nil || v != want {
			t.Errorf("%q: got %#v, %v; want %#v", text, v, err, want)
		}
	}
	// A list may be larger than any record.
	long := "[" + strings.Repeat("0,", 20_000) + `"` + strings.Repeat("a", 100_000) + `"]`
	if v, err := parseJSON([]byte(long), exact); err != nil || len(v.([]any)) != 20_001 {
		t.Errorf("long list: %v", err)
	}
	if v, err := parseJSON([]byte(`{"load":[8.43]}`), tolerant); err != nil ||
		!reflect.DeepEqual(v, map[string]any{"load": []any{json.Number("8.43")}}) {
		t.Errorf("tolerant: %#v, %v", v, err)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"\ud83d\ude00",null,true]}`, `{"a":1,"a":2}`, `"\ud800"`, `1.0`, "\"\xff\"", `[[[]]]`, `"\\u"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkAgainstCanon(t, text) })
}
