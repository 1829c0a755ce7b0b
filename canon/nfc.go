package canon

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// NFC returns s in Unicode Normalization Form C, version 14.0, by the plain
// algorithm of UAX #15: decompose, order the marks, compose. The one in
// norm.NFC is not plain: it inserts U+034F into runs of more than 30 combining
// marks, which would change digests. Its tables are used here all the same.
//
// s must be valid UTF-8; any other string is returned as it is.
func NFC(s string) string {
	// What norm calls normal is normal; see newerThanPinned for why its
	// version does not matter here.
	if isASCII(s) || norm.NFC.IsNormalString(s) || !utf8.ValidString(s) {
		return s
	}
	chars := decompose(s)
	orderMarks(chars)
	return compose(chars)
}

// IsNFC reports whether s is valid UTF-8 and in NFC.
func IsNFC(s string) bool {
	return isASCII(s) || utf8.ValidString(s) && NFC(s) == s
}

// char is a decomposed character: a code point and its canonical combining
// class, which is 0 for a starter and more for a mark.
type char struct {
	r     rune
	class uint8
}

func decompose(s string) []char {
	out := make([]char, 0, len(s))
	for i, r := range s {
		if isNewer(r) {
			out = append(out, char{r, 0})
			continue
		}
		if isSyllable(r) {
			out = appendJamo(out, r)
			continue
		}
		p := norm.NFD.PropertiesString(s[i:])
		full := p.Decomposition()
		if full == nil {
			out = append(out, char{r, p.CCC()})
			continue
		}
		for len(full) > 0 {
			part, size := utf8.DecodeRune(full)
			out = append(out, char{part, norm.NFD.Properties(full).CCC()})
			full = full[size:]
		}
	}
	return out
}

// Hangul syllables are computed, not tabulated (Unicode, section 3.12).
const (
	syllableBase  = 0xac00
	syllableCount = 11172
	leadBase      = 0x1100
	vowelBase     = 0x1161
	tailBase      = 0x11a7 // one before the first tail: tail 0 is "none"
	vowelCount    = 21
	tailCount     = 28
)

func isSyllable(r rune) bool {
	return syllableBase <= r && r < syllableBase+syllableCount
}

func appendJamo(out []char, r rune) []char {
	r -= syllableBase
	tail := r % tailCount
	vowel := r / tailCount % vowelCount
	lead := r / tailCount / vowelCount
	out = append(out, char{leadBase + lead, 0}, char{vowelBase + vowel, 0})
	if tail != 0 {
		out = append(out, char{tailBase + tail, 0})
	}
	return out
}

// orderMarks sorts each run of marks by class, keeping the order of equals.
func orderMarks(chars []char) {
	for start := 0; start < len(chars); {
		end := start
		for end < len(chars) && chars[end].class != 0 {
			end++
		}
		slices.SortStableFunc(chars[start:end], func(a, b char) int {
			return cmp.Compare(a.class, b.class)
		})
		start = end + 1
	}
}

// compose replaces each starter and a character that is not blocked from it
// by their primary composite, if they have one. It reuses chars.
func compose(chars []char) string {
	kept := chars[:0]
	starter := -1 // index in kept of the last starter
	for _, c := range chars {
		if starter >= 0 {
			last := len(kept) - 1
			adjacent := last == starter
			if adjacent || kept[last].class < c.class {
				if r := composite(kept[starter].r, c.r); r != 0 {
					kept[starter].r = r
					continue
				}
			}
		}
		if c.class == 0 {
			starter = len(kept)
		}
		kept = append(kept, c)
	}
	out := make([]byte, 0, 3*len(kept))
	for _, c := range kept {
		out = utf8.AppendRune(out, c.r)
	}
	return string(out)
}

// composite returns the primary composite of two characters, 0 if there is
// none. The pair on its own is a text that norm.NFC composes to one character
// exactly if there is one.
func composite(a, b rune) rune {
	if isNewer(a) || isNewer(b) {
		return 0
	}
	var in, out [4 * utf8.UTFMax]byte
	second := utf8.AppendRune(in[:0], b)
	if norm.NFC.Properties(second).BoundaryBefore() {
		return 0
	}
	pair := utf8.AppendRune(utf8.AppendRune(in[:0], a), b)
	composed := norm.NFC.Append(out[:0], pair...)
	r, size := utf8.DecodeRune(composed)
	if size < len(composed) {
		return 0
	}
	return r
}

// isNewer reports whether r has properties of normalisation that it did not
// have in the pinned version.
func isNewer(r rune) bool {
	return r >= 0x897 && unicode.Is(newerThanPinned, r)
}

// newerThanPinned lists the code points which Unicode 15.0 to 17.0 assigned
// and which take part in normalisation. They were unassigned in 14.0, where
// an unassigned code point is an inert starter, and so they are here
// (docs/decisions/0002-unicode-version.md).
//
// A string that is normal by newer tables is normal by 14.0 as well: a newer
// character only ever stands where 14.0 sees a starter with which nothing
// composes, and on either side of it the rules are the same. That is why NFC
// may ask norm first.
var newerThanPinned = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0897, Hi: 0x0897, Stride: 1},
		{Lo: 0x1acf, Hi: 0x1add, Stride: 1},
		{Lo: 0x1ae0, Hi: 0x1aeb, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x105c9, Hi: 0x105c9, Stride: 1},
		{Lo: 0x105d2, Hi: 0x105d2, Stride: 1},
		{Lo: 0x105da, Hi: 0x105da, Stride: 1},
		{Lo: 0x105e4, Hi: 0x105e4, Stride: 1},
		{Lo: 0x10d69, Hi: 0x10d6d, Stride: 1},
		{Lo: 0x10efa, Hi: 0x10efb, Stride: 1},
		{Lo: 0x10efd, Hi: 0x10eff, Stride: 1},
		{Lo: 0x11382, Hi: 0x11385, Stride: 1},
		{Lo: 0x1138b, Hi: 0x1138b, Stride: 1},
		{Lo: 0x1138e, Hi: 0x1138e, Stride: 1},
		{Lo: 0x11390, Hi: 0x11391, Stride: 1},
		{Lo: 0x113b8, Hi: 0x113b8, Stride: 1},
		{Lo: 0x113bb, Hi: 0x113bb, Stride: 1},
		{Lo: 0x113c2, Hi: 0x113c2, Stride: 1},
		{Lo: 0x113c5, Hi: 0x113c5, Stride: 1},
		{Lo: 0x113c7, Hi: 0x113c9, Stride: 1},
		{Lo: 0x113ce, Hi: 0x113d0, Stride: 1},
		{Lo: 0x11f41, Hi: 0x11f42, Stride: 1},
		{Lo: 0x1611e, Hi: 0x16129, Stride: 1},
		{Lo: 0x1612f, Hi: 0x1612f, Stride: 1},
		{Lo: 0x16d63, Hi: 0x16d63, Stride: 1},
		{Lo: 0x16d67, Hi: 0x16d6a, Stride: 1},
		{Lo: 0x1e08f, Hi: 0x1e08f, Stride: 1},
		{Lo: 0x1e4ec, Hi: 0x1e4ef, Stride: 1},
		{Lo: 0x1e5ee, Hi: 0x1e5ef, Stride: 1},
		{Lo: 0x1e6e3, Hi: 0x1e6e3, Stride: 1},
		{Lo: 0x1e6e6, Hi: 0x1e6e6, Stride: 1},
		{Lo: 0x1e6ee, Hi: 0x1e6ef, Stride: 1},
		{Lo: 0x1e6f5, Hi: 0x1e6f5, Stride: 1},
	},
}
