package canon

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string and admits it.
func (p *parser) quoted() (string, Class) {
	given, escaped, c := p.unquote()
	if c != ok {
		return "", c
	}
	return p.admit(given, escaped)
}

// admit cleans a string that was read and accounts for its canonical form.
// One that was written without escapes needs none either, NFC or not.
func (p *parser) admit(given string, escaped bool) (string, Class) {
	s, c := clean(given, p.nfc)
	if c != ok {
		return "", c
	}
	size := len(s) + len(`""`)
	if escaped {
		size = quotedLen(s)
	}
	return s, p.write(size)
}

// unquote reads a string, which starts at the position.
func (p *parser) unquote() (s string, escaped bool, c Class) {
	p.pos++ // "
	start := p.pos
	p.scratch = p.scratch[:0]
	for {
		switch b := p.peek(); {
		case b == '"':
			s = p.text[start:p.pos]
			p.pos++
			if escaped {
				p.scratch = append(p.scratch, s...)
				s = string(p.scratch)
			}
			return s, escaped, ok
		case b == '\\':
			p.scratch = append(p.scratch, p.text[start:p.pos]...)
			if c := p.escape(); c != ok {
				return "", true, c
			}
			escaped = true
			start = p.pos
		case b < ' ':
			return "", escaped, ErrSyntax
		default:
			p.pos++
		}
	}
}

// escape reads an escape sequence and appends what it stands for to scratch.
func (p *parser) escape() Class {
	p.pos++ // \
	b := p.peek()
	p.pos++
	switch b {
	case '"', '\\', '/':
	case 'b':
		b = '\b'
	case 'f':
		b = '\f'
	case 'n':
		b = '\n'
	case 'r':
		b = '\r'
	case 't':
		b = '\t'
	case 'u':
		return p.unicodeEscape()
	default:
		p.pos--
		return ErrSyntax
	}
	p.scratch = append(p.scratch, b)
	return ok
}

// unicodeEscape reads the digits after \u and, for a high surrogate, the low
// surrogate that must follow it as an escape of its own.
func (p *parser) unicodeEscape() Class {
	r, c := p.hex4()
	if c != ok {
		return c
	}
	if utf16.IsSurrogate(r) {
		if !strings.HasPrefix(p.text[p.pos:], `\u`) {
			return ErrUnicodeScalar
		}
		p.pos += len(`\u`)
		low, c := p.hex4()
		if c != ok {
			return c
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return ErrUnicodeScalar
		}
	}
	p.scratch = utf8.AppendRune(p.scratch, r)
	return ok
}

// hex4 reads four hexadecimal digits of either case.
func (p *parser) hex4() (rune, Class) {
	var r rune
	for range 4 {
		c := p.peek()
		if 'A' <= c && c <= 'F' {
			c += 'a' - 'A'
		}
		digit := nibble(c)
		if digit > 0xf {
			return 0, ErrSyntax
		}
		r = r<<4 | rune(digit)
		p.pos++
	}
	return r, ok
}
