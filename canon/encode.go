package canon

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode returns the canonical bytes of v, normalising strings and keys on
// the way: two values that differ only in normalisation have the same bytes.
// Beside the canonical types it accepts int and Digest (as its text). Errors
// are *Error.
func Encode(v any) ([]byte, error) {
	return encode(v, encoder{nfc: true})
}

// EncodeASCII returns v in the form of stored records: the order of Encode,
// every code point from U+007F up escaped, and no normalisation (design
// section 3). It accepts what Encode accepts, with the same bounds.
func EncodeASCII(v any) ([]byte, error) {
	return encode(v, encoder{ascii: true})
}

func encode(v any, e encoder) ([]byte, error) {
	e.buf = make([]byte, 0, 1024)
	if c := e.value(v, 0); c != ok {
		return nil, refuse(c)
	}
	return e.buf, nil
}

// encoder writes one document.
type encoder struct {
	nfc   bool     // normalise strings and keys
	ascii bool     // escape everything that is not printable ASCII
	buf   []byte   // what is written so far
	base  int      // where the document starts in buf
	stack []member // sorted members of the objects being written
	budget
}

type member struct {
	key   string
	value any
}

func (e *encoder) value(v any, depth int) Class {
	if c := e.node(depth); c != ok {
		return c
	}
	if c := e.body(v, depth); c != ok {
		return c
	}
	if len(e.buf)-e.base > MaxEncodedBytes {
		return ErrTotalBytes
	}
	return ok
}

func (e *encoder) body(v any, depth int) Class {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case int64:
		e.buf = strconv.AppendInt(e.buf, v, 10)
	case int:
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	case string:
		return e.text(v)
	case Digest:
		return e.text(v.String())
	case []any:
		return e.array(v, depth)
	case map[string]any:
		return e.object(v, depth)
	default:
		return unsupported(v)
	}
	return ok
}

func (e *encoder) text(s string) Class {
	s, c := clean(s, e.nfc)
	if c == ok {
		e.buf = appendQuoted(e.buf, s, e.ascii)
	}
	return c
}

func (e *encoder) array(v []any, depth int) Class {
	if len(v) > MaxMembers {
		return ErrMembers
	}
	e.buf = append(e.buf, '[')
	for i, item := range v {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if c := e.value(item, depth+1); c != ok {
			return c
		}
	}
	e.buf = append(e.buf, ']')
	return ok
}

func (e *encoder) object(v map[string]any, depth int) Class {
	if len(v) > MaxMembers {
		return ErrMembers
	}
	start := len(e.stack)
	if c := e.pushSorted(v); c != ok {
		return c
	}
	e.buf = append(e.buf, '{')
	for i := range len(v) {
		m := e.stack[start+i]
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = appendQuoted(e.buf, m.key, e.ascii)
		e.buf = append(e.buf, ':')
		if c := e.value(m.value, depth+1); c != ok {
			return c
		}
	}
	e.buf = append(e.buf, '}')
	e.stack = e.stack[:start]
	return ok
}

// pushSorted puts the members of v on the stack in the order of their keys.
// Byte order of UTF-8 is code point order.
func (e *encoder) pushSorted(v map[string]any) Class {
	start := len(e.stack)
	e.stack = slices.Grow(e.stack, len(v))
	for k, item := range v {
		key, c := clean(k, e.nfc)
		if c != ok {
			return c
		}
		e.stack = append(e.stack, member{key, item})
	}
	members := e.stack[start:]
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	for i := range len(members) - 1 {
		if members[i].key == members[i+1].key {
			return ErrKeyCollision
		}
	}
	return ok
}

const lowerHex = "0123456789abcdef"

// appendQuoted appends s, which is valid UTF-8, as a JSON string.
func appendQuoted(dst []byte, s string, ascii bool) []byte {
	dst = append(dst, '"')
	plain := 0 // start of the run that stands for itself
	for i := 0; i < len(s); {
		c := s[i]
		size := 1
		switch {
		case isPlain(c):
			i++
			continue
		case c < utf8.RuneSelf && c != 0x7f:
			dst = append(dst, s[plain:i]...)
			dst = appendEscape(dst, c)
		case ascii:
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			dst = append(dst, s[plain:i]...)
			dst = appendUnicodeEscape(dst, r)
		default:
			i++
			continue
		}
		i += size
		plain = i
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// isPlain reports whether c is an ASCII character that always stands for
// itself.
func isPlain(c byte) bool {
	return ' ' <= c && c < 0x7f && c != '"' && c != '\\'
}

// appendEscape appends the escape of a quote, a backslash or a control
// character below U+0020.
func appendEscape(dst []byte, c byte) []byte {
	if short := shortEscape(c); short != 0 {
		return append(dst, '\\', short)
	}
	return append(dst, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&0xf])
}

// shortEscape returns the letter of a two-character escape, or 0.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\b':
		return 'b'
	case '\t':
		return 't'
	case '\n':
		return 'n'
	case '\f':
		return 'f'
	case '\r':
		return 'r'
	default:
		return 0
	}
}

// appendUnicodeEscape appends \uxxxx, twice for a code point above U+FFFF.
func appendUnicodeEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		dst = appendUnicodeEscape(dst, 0xd800|r>>10)
		r = 0xdc00 | r&0x3ff
	}
	return append(dst, '\\', 'u',
		lowerHex[r>>12&0xf], lowerHex[r>>8&0xf], lowerHex[r>>4&0xf], lowerHex[r&0xf])
}

// The lengths of canonical forms, for those who count before they write.

// quotedLen is the length of s as a canonical JSON string.
func quotedLen(s string) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case shortEscape(c) != 0:
			n += len(`\n`) - 1
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// bracketsLen is the length of the brackets and commas around n members.
func bracketsLen(n int) int { return len("[]") + max(n-1, 0) }

func boolLen(v bool) int { return len(strconv.FormatBool(v)) }

func intLen(v int64) int {
	var digits [20]byte
	return len(strconv.AppendInt(digits[:0], v, 10))
}
