package canon

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestNFC(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"ASCII", "edge-a.example.net", "edge-a.example.net"},
		{"composed", "\u00e9", "\u00e9"},
		{"decomposed", "e\u0301", "\u00e9"},
		{"singleton", "\u212b", "\u00c5"},
		{"excluded from composition", "\u0958", "\u0915\u093c"},
		{"marks out of order", "e\u0302\u0323", "\u1ec7"},
		{"composed, then a lower mark", "\u00ea\u0323", "\u1ec7"},
		{"blocked by an equal class", "a\u0328\u0328\u0301", "\u0105\u0328\u0301"},
		{"blocked by a starter", "e\u200d\u0301", "e\u200d\u0301"},
		{"leading mark", "\u0301e", "\u0301e"},
		{"decomposes to marks", "\u0344", "\u0308\u0301"},
		{"two starters", "\u09c7\u09be", "\u09cb"},
		{"Hangul", "\u1112\u1161\u11ab", "\ud55c"},
		{"Hangul LV and T", "\uac00\u11a8", "\uac01"},
		{"not a Hangul tail", "\uac00\u11a7", "\uac00\u11a7"},
		{"three starters", "\u0dd9\u0dcf\u0dca", "\u0ddd"},
		{"invalid UTF-8 is left alone", "e\u0301\xff", "e\u0301\xff"},

		// Unassigned in the pinned version, so inert (decision 0002).
		{"mark of 15.0 is not reordered", "a\u0301\U00010efd", "\u00e1\U00010efd"},
		{"mark of 15.0 blocks", "a\U0001e08f\u0301", "a\U0001e08f\u0301"},
		{"mark of 15.0 keeps its place", "a\u0345\U0001e08f\u0301", "a\u0345\U0001e08f\u0301"},
		{"mark of 16.0 separates", "e\u0302\u0897\u0323", "\u00ea\u0897\u0323"},
		{"letter of 16.0 is not decomposed", "e\u0301\U000105c9", "\u00e9\U000105c9"},
		{"letter of 16.0 is not composed", "e\u0301\U000105d2\u0307", "\u00e9\U000105d2\u0307"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := NFC(test.in)
			if got != test.want {
				t.Errorf("NFC(%+q) = %+q, want %+q", test.in, got, test.want)
			}
			wantNormal := test.in == test.want && utf8.ValidString(test.in)
			if IsNFC(test.in) != wantNormal {
				t.Errorf("IsNFC(%+q) = %v", test.in, !wantNormal)
			}
		})
	}
}

// However long a run of marks, nothing is inserted into it.
func TestNFCLongRuns(t *testing.T) {
	for _, n := range []int{29, 30, 31, 32, 100, 10_000} {
		in := "e" + strings.Repeat("\u0301", n)
		want := "\u00e9" + strings.Repeat("\u0301", n-1)
		if got := NFC(in); got != want {
			t.Errorf("%d marks: %d bytes, want %d", n, len(got), len(want))
		}
		if !IsNFC(want) {
			t.Errorf("%d marks: the normal form is not normal", n)
		}
		// Marks out of order, the later ones with the lower class.
		in = "a" + strings.Repeat("\u0345", n) + strings.Repeat("\u0327", n)
		want = "a" + strings.Repeat("\u0327", n) + strings.Repeat("\u0345", n)
		if got := NFC(in); got != want {
			t.Errorf("%d marks out of order: %d bytes, want %d", n, len(got), len(want))
		}
	}
}

// pinnedNFC is the SHA-256 of everything NFC knows about single characters,
// as dumped below. It was computed by another implementation of Unicode 14.0.
const pinnedNFC = "0fac48b0d3d1b47fbefdce3ef350de5b36f151d3199678d9f5c2691f6ba0bcd6"

// A newer x/text brings newer tables. If this fails after an update, characters
// that Unicode assigned since then take part in normalisation: add them to
// newerThanPinned (docs/decisions/0002-unicode-version.md).
func TestNFCIsPinned(t *testing.T) {
	hash := sha256.New()
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		chars := decompose(string(r))
		if len(chars) == 1 && chars[0] == (char{r, 0}) {
			continue
		}
		fmt.Fprintf(hash, "%X:", r)
		for _, c := range chars {
			fmt.Fprintf(hash, " %X/%d", c.r, c.class)
		}
		for _, c := range NFC(string(r)) {
			fmt.Fprintf(hash, " %X", c)
		}
		fmt.Fprintln(hash)
	}
	if got := fmt.Sprintf("%x", hash.Sum(nil)); got != pinnedNFC {
		t.Errorf("normalisation data of norm %s hash to %s, want those of Unicode 14.0: %s",
			norm.Version, got, pinnedNFC)
	}
}

// FuzzNFC compares with norm.NFC wherever the two must agree: no characters
// newer than the pinned version, and no run of marks so long that norm
// inserts U+034F. Everywhere, NFC is idempotent and keeps the NFD.
func FuzzNFC(f *testing.F) {
	for _, seed := range []string{
		"", "a", "e\u0301", "\u00ea\u0323", "\u212b\u0345", "\u1112\u1161\u11ab\u11a8", "\uac00\u11a7",
		"\u09c7\u09be", "\u0344", "\u0f73\u0f75", "a\u0301\u034f\u0328", "\U0001d15e", "\U00010efd\u0301",
		"\u0dd9\u0dcf\u0dca", "\u0301a", "\xff", "e\u0301\xed\xa0\x80",
		"a" + strings.Repeat("\u0301", 30), "a" + strings.Repeat("\u0345\u0327", 40),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := NFC(s)
		if !utf8.ValidString(s) {
			if got != s || IsNFC(s) {
				t.Fatalf("invalid %q became %q", s, got)
			}
			return
		}
		if again := NFC(got); again != got || !IsNFC(got) {
			t.Fatalf("NFC(%+q) = %+q, of which the NFC is %+q", s, got, again)
		}
		if strings.ContainsFunc(s, isNewer) || longRun(s) {
			return
		}
		if want := norm.NFC.String(s); got != want {
			t.Fatalf("NFC(%+q) = %+q, norm says %+q", s, got, want)
		}
	})
}

// longRun reports whether norm would break a run of s: it counts marks after
// decomposition, and some starters as well.
func longRun(s string) bool {
	run := 0
	for _, c := range decompose(s) {
		if norm.NFC.PropertiesString(string(c.r)).BoundaryBefore() {
			run = 0
			continue
		}
		run++
		if run > 25 {
			return true
		}
	}
	return false
}
