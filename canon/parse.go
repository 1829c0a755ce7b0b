package canon

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads one JSON text strictly and returns its value with strings and
// keys in NFC (see the package comment, "Parsing"). The caller bounds the
// length of data; the value is bounded here. Errors are *Error.
func Parse(data []byte) (any, error) {
	return parse(data, true)
}

// ParseObject is Parse for a text that must be an object; anything else is
// refused with ErrType.
func ParseObject(data []byte) (map[string]any, error) {
	v, err := Parse(data)
	if err != nil {
		return nil, err
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		return nil, refuse(ErrType)
	}
	return object, nil
}

// ParseRaw is as strict as Parse but leaves strings and keys as they are, for
// texts whose exact bytes are authenticated otherwise (stored records). The
// bounds apply to the strings as they are.
func ParseRaw(data []byte) (any, error) {
	return parse(data, false)
}

func parse(data []byte, nfc bool) (any, error) {
	// The strings of the value share this one copy of the text.
	p := parser{text: string(data), nfc: nfc}
	v, c := p.document()
	if c != ok {
		return nil, &Error{Class: c, Offset: p.pos}
	}
	return v, nil
}

// parser is a recursive descent over valid UTF-8; its recursion is bounded by
// MaxDepth.
type parser struct {
	text    string
	pos     int
	nfc     bool
	scratch []byte // for strings with escapes
	budget
}

func (p *parser) document() (any, Class) {
	if i := invalidUTF8(p.text); i >= 0 {
		p.pos = i
		return nil, ErrUnicodeScalar
	}
	v, c := p.value(0)
	if c != ok {
		return nil, c
	}
	p.next()
	if p.pos < len(p.text) {
		return nil, ErrSyntax
	}
	return v, ok
}

// invalidUTF8 returns the offset of the first byte that is not part of valid
// UTF-8, or -1.
func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// peek returns the byte at the position, 0 at the end. No token holds a NUL,
// so the two need no telling apart.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// next skips white space and peeks.
func (p *parser) next() byte {
	for {
		switch c := p.peek(); c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return c
		}
	}
}

func (p *parser) value(depth int) (any, Class) {
	start := p.next()
	if c := p.node(depth); c != ok {
		return nil, c
	}
	switch {
	case start == '{':
		return p.object(depth)
	case start == '[':
		return p.array(depth)
	case start == '"':
		s, c := p.quoted()
		if c != ok {
			return nil, c
		}
		return s, ok
	case start == '-' || '0' <= start && start <= '9':
		return p.number()
	case start == 'n':
		return nil, p.literal("null")
	case start == 't':
		return true, p.literal("true")
	case start == 'f':
		return false, p.literal("false")
	default:
		return nil, ErrSyntax
	}
}

func (p *parser) literal(word string) Class {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return ErrSyntax
	}
	p.pos += len(word)
	return p.write(len(word))
}

func (p *parser) array(depth int) (any, Class) {
	p.pos++ // [
	items := []any{}
	if p.next() != ']' {
		for {
			if len(items) == MaxMembers {
				return nil, ErrMembers
			}
			v, c := p.value(depth + 1)
			if c != ok {
				return nil, c
			}
			items = append(items, v)
			if p.next() != ',' {
				break
			}
			p.pos++
		}
	}
	return items, p.close(']', len(items))
}

func (p *parser) object(depth int) (any, Class) {
	p.pos++ // {
	room := 0
	if depth == 0 {
		room = min(len(p.text)/64, 32) // a record's members, at a guess
	}
	o := object{members: make(map[string]any, room)}
	if p.next() != '}' {
		for {
			if len(o.members) == MaxMembers {
				return nil, ErrMembers
			}
			if c := p.member(&o, depth); c != ok {
				return nil, c
			}
			if p.next() != ',' {
				break
			}
			p.pos++
		}
	}
	return o.members, p.close('}', len(o.members))
}

// object is an object being read. written holds, for those keys that NFC has
// changed, how they were written: it tells a duplicate from a collision.
type object struct {
	members map[string]any
	written map[string]string
}

func (p *parser) member(o *object, depth int) Class {
	if p.next() != '"' {
		return ErrSyntax
	}
	key, c := p.key(o)
	if c != ok {
		return c
	}
	if p.next() != ':' {
		return ErrSyntax
	}
	p.pos++
	if c := p.write(len(":")); c != ok {
		return c
	}
	v, c := p.value(depth + 1)
	if c == ok {
		o.members[key] = v
	}
	return c
}

// key reads a key that the object does not have yet.
func (p *parser) key(o *object) (string, Class) {
	given, escaped, c := p.unquote()
	if c != ok {
		return "", c
	}
	key, c := p.admit(given, escaped)
	if c != ok {
		return "", c
	}
	if _, taken := o.members[key]; taken {
		earlier, changed := o.written[key]
		if given == earlier || !changed && given == key {
			return "", ErrDuplicateKey
		}
		return "", ErrKeyCollision
	}
	if key != given {
		if o.written == nil {
			o.written = map[string]string{}
		}
		o.written[key] = given
	}
	return key, ok
}

// close reads a closing bracket and accounts for brackets and commas.
func (p *parser) close(bracket byte, members int) Class {
	if p.peek() != bracket {
		return ErrSyntax
	}
	p.pos++
	return p.write(bracketsLen(members))
}

func (p *parser) number() (any, Class) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return nil, ErrSyntax
	}
	float, c := p.fraction()
	switch {
	case c != ok:
		return nil, c
	case float:
		return nil, ErrFloat
	}
	n, err := strconv.ParseInt(p.text[start:p.pos], 10, 64)
	if err != nil {
		return nil, ErrIntegerRange
	}
	return n, p.write(intLen(n))
}

// fraction reads the fraction and the exponent of a number, if any.
func (p *parser) fraction() (found bool, c Class) {
	if p.peek() == '.' {
		found = true
		p.pos++
		if !p.digits() {
			return found, ErrSyntax
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		found = true
		p.pos++
		if sign := p.peek(); sign == '+' || sign == '-' {
			p.pos++
		}
		if !p.digits() {
			return found, ErrSyntax
		}
	}
	return found, ok
}

// digits reads one digit or more.
func (p *parser) digits() bool {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}
