package core

import (
	"testing"
	"time"
)

// slowInstant is the reading of the standard library, written again.
func slowInstant(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05+00:00", "2006-01-02T15:04:05.000000+00:00"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 && FormatInstant(t) == s {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// FuzzInstant: reading the digits agrees with the standard library.
func FuzzInstant(f *testing.F) {
	for _, s := range []string{"2026-09-05T12:00:00+00:00", "2026-09-05T12:00:00.000001+00:00", "2026-02-29T12:00:00+00:00",
		"2024-02-29T23:59:59.999999+00:00", "2026-09-05T12:00:00.000000+00:00", "2026-13-05T12:00:00+00:00", "0000-01-01T00:00:00+00:00",
		"2026-09-05T24:00:00+00:00", "2026-09-05T12:00:60+00:00", "2026-00-00T00:00:00+00:00", "2026-09-05 12:00:00+00:00", "+026-09-05T12:00:00+00:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := exactInstant(s)
		want, wantOK := slowInstant(s)
		if ok != wantOK || !got.Equal(want) && ok {
			t.Fatalf("%q: %v %v, want %v %v", s, got, ok, want, wantOK)
		}
	})
}
