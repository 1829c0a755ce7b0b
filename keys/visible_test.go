package keys

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Mail relays (CHG-1042)":    "Mail relays (CHG-1042)",
		"Zürich 東京":                 "Zürich 東京",
		"a\nb\tc\r":                 `a\x0ab\x09c\x0d`,
		"\x1b[2J\x1b]52;c;aGk=\a":   `\x1b[2J\x1b]52;c;aGk=\x07`,
		"\x7f\u0085\u009b1m":        `\x7f\u{85}\u{9b}1m`,
		"abc\u202etxt.exe":          `abc\u{202e}txt.exe`,
		"\u2066x\u2069":             `\u{2066}x\u{2069}`,
		"zero\u200bwidth\ufeff":     `zero\u{200b}width\u{feff}`,
		"\u2028\u2029\u00a0":        `\u{2028}\u{2029}\u{a0}`,
		"\u3164\u115f\u2800":        `\u{3164}\u{115f}\u{2800}`,
		"\ufe0f\U000e0100":          `\u{fe0f}\u{e0100}`,
		"\U000e0041tag":             `\u{e0041}tag`,
		"bad \xff\xc3 bytes":        `bad \xff\xc3 bytes`,
		"\ufffd":                    "\ufffd",
		`\x1b \\`:                   `\\x1b \\\\`,
		"e\u0301":                   "e\u0301",
		"\u0301e":                   `\u{301}e`,
		"a\u0300\u0301\u0302\u0303": "a\u0300\u0301\u0302" + `\u{303}`,
	} {
		if got := visible(in); got != want {
			t.Errorf("%q became %s, want %s", in, got, want)
		}
	}
	if got := quote("a \"b\" \\"); got != `"a \"b\" \\"` {
		t.Errorf("quoted as %s", got)
	}
}

// No text leaves anything that a terminal acts on, and no two texts look alike.
func TestVisibleIsSafe(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "bytes") {
			in = string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		}
		out := visible(in)
		if !utf8.ValidString(out) {
			t.Fatalf("%q is not text", out)
		}
		for _, r := range out {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || invisible(r) {
				t.Fatalf("%q holds %U", out, r)
			}
		}
		if other, taken := seen[out]; taken && other != in {
			t.Fatalf("%q and %q look alike: %s", in, other, out)
		}
		seen[out] = in
	})
}

func TestPieces(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 200), strings.Repeat("東", 100), strings.Repeat("e\u0301", 90)} {
		folded := pieces(s, 63)
		if strings.Join(folded, "") != s {
			t.Errorf("%q is not whole: %q", s, folded)
		}
		for _, piece := range folded {
			if utf8.RuneCountInString(strings.ReplaceAll(piece, "\u0301", "")) > 63 {
				t.Errorf("%q is too wide", piece)
			}
		}
	}
}
