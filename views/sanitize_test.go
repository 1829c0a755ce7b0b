package views

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestSanitize(t *testing.T) {
	for _, c := range []struct{ name, in, want, ascii string }{
		{"plain text stays", "Public web, new DC (CHG-1042)", "Public web, new DC (CHG-1042)", "Public web, new DC (CHG-1042)"},
		{"empty", "", "", ""},
		{"letters stay", "café Ωμέγα 日本", "café Ωμέγα 日本", "caf<U+00E9> <U+03A9><U+03BC><U+03AD><U+03B3><U+03B1> <U+65E5><U+672C>"},
		{"an escape sequence cannot clear the screen", "a\x1b[2Jb", "a␛[2Jb", "a<U+001B>[2Jb"},
		{"nor set the clipboard", "\x1b]52;c;eA==\a", "␛]52;c;eA==␇", "<U+001B>]52;c;eA==<U+0007>"},
		{"nor forge a line", "ok\r\nVERIFIED", "ok␍␊VERIFIED", "ok<U+000D><U+000A>VERIFIED"},
		{"nor move back", "x\b\ty", "x␈␉y", "x<U+0008><U+0009>y"},
		{"delete", "a\x7f", "a␡", "a<U+007F>"},
		{"an eight-bit control sequence", "\u009b31m", "‹U+009B›31m", "<U+009B>31m"},
		{"bidi override", "\u202egnp.exe", "‹U+202E›gnp.exe", "<U+202E>gnp.exe"},
		{"bidi isolate", "\u2066x\u2069", "‹U+2066›x‹U+2069›", "<U+2066>x<U+2069>"},
		{"zero width", "web\u200b_servers\u200d\ufeff", "web‹U+200B›_servers‹U+200D›‹U+FEFF›", "web<U+200B>_servers<U+200D><U+FEFF>"},
		{"soft hyphen", "a\u00adb", "a‹U+00AD›b", "a<U+00AD>b"},
		{"a blank that is none", "a\u00a0b\u2003c\u2800d", "a‹U+00A0›b‹U+2003›c‹U+2800›d", "a<U+00A0>b<U+2003>c<U+2800>d"},
		{"fillers", "\u3164\u115f\uffa0", "‹U+3164›‹U+115F›‹U+FFA0›", "<U+3164><U+115F><U+FFA0>"},
		{"line and paragraph separators", "a\u2028b\u2029", "a‹U+2028›b‹U+2029›", "a<U+2028>b<U+2029>"},
		{"tags and variation selectors", "a\U000e0041\ufe0f", "a‹U+E0041›‹U+FE0F›", "a<U+E0041><U+FE0F>"},
		{"private use and unassigned", "\ue000\U000f0000\u0378", "‹U+E000›‹U+F0000›‹U+0378›", "<U+E000><U+F0000><U+0378>"},
		{"invalid bytes", "a\xff\xfeb", "a‹FF›‹FE›b", "a<FF><FE>b"},
		{"an accent stays on its letter", "e\u0301", "e\u0301", "e<U+0301>"},
		{"an accent on nothing", "\u0301e", "‹U+0301›e", "<U+0301>e"},
		{"a tower of accents ends", "e\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301‹U+0301›", "e<U+0301><U+0301><U+0301><U+0301>"},
		{"an enclosing mark", "a\u20dd", "a‹U+20DD›", "a<U+20DD>"},
		{"a mark cannot be forged", "‹U+202E›", "‹U+2039›U+202E›", "<U+2039>U+202E<U+203A>"},
		{"nor a control picture", "␛", "‹U+241B›", "<U+241B>"},
		{"nor an ASCII mark", "<U+001B> <FF> <b>", "<U+001B> <FF> <b>", "<U+003C>U+001B> <U+003C>FF> <b>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Sanitize(c.in, false); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := Sanitize(c.in, true); got != c.ascii {
				t.Errorf("in ASCII: got %q, want %q", got, c.ascii)
			}
		})
	}
}

// harmless reports whether a shown rune can do nothing but show itself.
func harmless(r rune) bool {
	return r == ' ' || (unicode.IsPrint(r) && !hidden(r))
}

// FuzzSanitize: whatever comes in, what comes out is one valid line of
// harmless characters, and two different texts never look the same.
func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"", "web_servers", "\x1b[2J", "\u202e\u200b", "‹U+202E›", "<U+001B>", "\xff\xc3", "e\u0301\u0301\u0301\u0301", "␛"} {
		f.Add(s, "x"+s)
		f.Add(s, "\x1b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, ascii := range []bool{false, true} {
			out := Sanitize(a, ascii)
			if !utf8.ValidString(out) {
				t.Fatalf("%q gives invalid text %q", a, out)
			}
			for _, r := range out {
				if !harmless(r) || (ascii && r > '~') {
					t.Fatalf("%q lets %U through: %q", a, r, out)
				}
			}
			if a != b && out == Sanitize(b, ascii) {
				t.Fatalf("%q and %q look the same: %q", a, b, out)
			}
		}
	})
}

// FuzzSanitizeStyled: of a widget's output only colours survive as sequences.
func FuzzSanitizeStyled(f *testing.F) {
	f.Add("\x1b[1mbold\x1b[0m\nnext \x1b[2J \u202e")
	f.Add("\x1b]52;c;eA==\a\x1b[31m\x9b2J")
	f.Fuzz(func(t *testing.T, s string) {
		out := sanitizeStyled(s, false)
		rest := out
		for {
			i := strings.IndexByte(rest, 0x1b)
			if i < 0 {
				break
			}
			end := strings.IndexByte(rest[i:], 'm')
			if end < 0 || strings.Trim(rest[i:i+end], "\x1b[0123456789;:<=>?!\"#$%&'()*+,-./ ") != "" {
				t.Fatalf("%q lets a sequence through: %q", s, out)
			}
			rest = rest[i+end+1:]
		}
		for _, r := range ansi.Strip(out) {
			if r != '\n' && !harmless(r) {
				t.Fatalf("%q lets %U through: %q", s, r, out)
			}
		}
	})
}
