package views

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// mostMarks is how many combining marks one character may carry; more would
// draw over its neighbours.
const mostMarks = 3

// Sanitize makes text from the network or the store safe to show: control
// characters, escape sequences, bidi controls, zero-width and other invisible
// characters, odd spaces and invalid bytes become visible marks (design
// section 4, rule 12). What it gives is one line that cannot move the cursor.
// A mark cannot be forged: its own characters are marked too. With ascii,
// every other character is spelled out as well.
//
// It must be applied exactly once.
func Sanitize(s string, ascii bool) string {
	if plain(s, ascii) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 16)
	marks := mostMarks // a leading combining mark has nothing to combine with
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteString(quoted(fmt.Sprintf("%02X", s[0]), ascii))
			marks = mostMarks
		case unicode.Is(unicode.Mn, r) && !hidden(r) && !ascii && marks < mostMarks:
			out.WriteRune(r)
			marks++
		case shown(r, ascii, s):
			out.WriteRune(r)
			marks = 0
		default:
			out.WriteString(mark(r, ascii))
			marks = mostMarks
		}
		s = s[size:]
	}
	return out.String()
}

// plain is the fast path: printable ASCII without anything to mark.
func plain(s string, ascii bool) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || (ascii && c == '<') {
			return false
		}
	}
	return true
}

// shown reports whether r may appear as itself. rest begins with r.
func shown(r rune, ascii bool, rest string) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= ' ' && r <= '~' && !(ascii && looksLikeMark(rest))
	case ascii:
		return false
	case r == '‹', r >= 0x2400 && r <= 0x243F: // our own marks
		return false
	case hidden(r), unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return false
	}
	return unicode.IsPrint(r)
}

func looksLikeMark(rest string) bool {
	return strings.HasPrefix(rest, "<U+") || (len(rest) > 3 && rest[0] == '<' && rest[3] == '>')
}

// hidden are printable or combining characters that show nothing, or that
// change what stands beside them.
func hidden(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
		unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == 0x034F, r == 0x2800, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x115F, r == 0x1160:
		return true
	}
	return r != ' ' && unicode.Is(unicode.Zs, r)
}

// mark makes a character visible.
func mark(r rune, ascii bool) string {
	switch {
	case !ascii && r < ' ':
		return string(0x2400 + r)
	case !ascii && r == 0x7F:
		return "␡"
	}
	return quoted(fmt.Sprintf("U+%04X", r), ascii)
}

func quoted(s string, ascii bool) string {
	if ascii {
		return "<" + s + ">"
	}
	return "‹" + s + "›"
}

// sanitizeStyled is for output of a widget that has already been styled: it
// keeps the colours, drops every other escape sequence, and sanitises the
// text between them.
func sanitizeStyled(s string, ascii bool) string {
	var out strings.Builder
	var text strings.Builder
	flush := func() {
		out.WriteString(Sanitize(text.String(), ascii))
		text.Reset()
	}
	parser := ansi.NewParser()
	var state byte
	for len(s) > 0 {
		seq, width, n, next := ansi.DecodeSequence(s, state, parser)
		state = next
		switch {
		case seq == "\n":
			flush()
			out.WriteByte('\n')
		case width > 0 || !strings.HasPrefix(seq, "\x1b"):
			text.WriteString(seq)
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			flush()
			out.WriteString(seq)
		}
		s = s[n:]
	}
	flush()
	return out.String()
}
