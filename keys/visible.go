package keys

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes any text safe to print: what a terminal would act on or not
// show (control characters, escape sequences, bidi controls, zero-width and
// other invisible characters, odd spaces, stacked marks, invalid bytes) is
// spelled out as \x1b or \u{202e} (design section 4, rule 12). A backslash is
// doubled, so that no text can look like a mark. The result is one line.
func visible(s string) string {
	var out strings.Builder
	marks := mostMarks // a mark at the beginning has nothing to combine with
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1, r < ' ', r == 0x7f:
			fmt.Fprintf(&out, `\x%02x`, s[0])
			marks = mostMarks
		case r == '\\':
			out.WriteString(`\\`)
			marks = 0
		case unicode.Is(unicode.M, r) && marks < mostMarks && !invisible(r):
			out.WriteRune(r)
			marks++
		case !unicode.IsPrint(r), unicode.Is(unicode.M, r), invisible(r):
			fmt.Fprintf(&out, `\u{%x}`, r)
			marks = mostMarks
		default:
			out.WriteRune(r)
			marks = 0
		}
		s = s[size:]
	}
	return out.String()
}

// mostMarks is how many combining marks one character may carry; more would
// draw over other lines.
const mostMarks = 3

// invisible characters that unicode.IsPrint takes for printable ones.
func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// quote is visible text between quotation marks; those inside are marked, so
// that a value shows where it ends.
func quote(s string) string { return `"` + strings.ReplaceAll(visible(s), `"`, `\"`) + `"` }

// pieces breaks visible text into pieces of at most width columns, so that
// no terminal has to: a line that wraps by itself could begin like another
// label. A character beyond ASCII counts as two columns.
func pieces(s string, width int) []string {
	var lines []string
	start, column := 0, 0
	for i, r := range s {
		w := 1
		switch {
		case unicode.Is(unicode.M, r):
			w = 0
		case r >= utf8.RuneSelf:
			w = 2
		}
		if column+w > width {
			lines = append(lines, s[start:i])
			start, column = i, 0
		}
		column += w
	}
	return append(lines, s[start:])
}
