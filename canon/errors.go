package canon

import "strconv"

// Class says why something was refused. Each class is itself an error, so
// errors.Is(err, canon.ErrFloat) asks for one. The names are those of the
// conformance cases.
type Class string

// The classes of refusal.
const (
	// ErrSyntax: the text is not one JSON value.
	ErrSyntax Class = "syntax"
	// ErrType: a Go value of a type that no canonical value has, or another
	// kind of value than was asked for.
	ErrType Class = "type"
	// ErrFloat: a number with a fraction or an exponent.
	ErrFloat Class = "float"
	// ErrIntegerRange: an integer that does not fit in 64 bits with a sign.
	ErrIntegerRange Class = "integer_range"
	// ErrUnicodeScalar: invalid UTF-8, or a surrogate without its partner.
	ErrUnicodeScalar Class = "unicode_scalar"
	// ErrDuplicateKey: the same key twice in one object.
	ErrDuplicateKey Class = "duplicate_key"
	// ErrKeyCollision: two different keys of one object are equal after NFC.
	ErrKeyCollision Class = "key_collision"
	// ErrDepth: a value deeper than MaxDepth.
	ErrDepth Class = "depth"
	// ErrNodes: more than MaxNodes values.
	ErrNodes Class = "nodes"
	// ErrMembers: more than MaxMembers members in one array or object.
	ErrMembers Class = "collection_items"
	// ErrStringBytes: a string or key longer than MaxStringBytes.
	ErrStringBytes Class = "string_bytes"
	// ErrTotalBytes: an encoded form longer than MaxEncodedBytes.
	ErrTotalBytes Class = "total_bytes"
	// ErrContext: more than MaxContext context components.
	ErrContext Class = "context_components"
	// ErrContextBytes: a context component longer than MaxStringBytes.
	ErrContextBytes Class = "context_component_bytes"
	// ErrContextScalar: a context component that is not valid UTF-8.
	ErrContextScalar Class = "context_unicode_scalar"
	// ErrPurpose: a purpose that is not a name of lower-case letters, digits
	// and hyphens.
	ErrPurpose Class = "purpose"
	// ErrDigest: a text that is not 64 lower-case hexadecimal digits.
	ErrDigest Class = "digest"

	// ok is the class of what is not refused.
	ok Class = ""
)

// reason says the class in words for a person.
func (c Class) reason() string {
	switch c {
	case ErrSyntax:
		return "not a JSON value"
	case ErrType:
		return "unsupported type of value"
	case ErrFloat:
		return "number with a fraction or an exponent"
	case ErrIntegerRange:
		return "integer outside 64 bits"
	case ErrUnicodeScalar:
		return "invalid Unicode"
	case ErrDuplicateKey:
		return "duplicate key in an object"
	case ErrKeyCollision:
		return "keys of an object equal after normalisation"
	case ErrDepth:
		return "nested too deeply"
	case ErrNodes:
		return "too many values"
	case ErrMembers:
		return "too many members in one array or object"
	case ErrStringBytes:
		return "string too long"
	case ErrTotalBytes:
		return "encoded form too long"
	case ErrContext:
		return "too many context components"
	case ErrContextBytes:
		return "context component too long"
	case ErrContextScalar:
		return "invalid Unicode in a context component"
	case ErrPurpose:
		return "not a digest purpose"
	case ErrDigest:
		return "not a digest of 64 lower-case hexadecimal digits"
	default:
		return "refused"
	}
}

// Error implements error.
func (c Class) Error() string { return "canon: " + c.reason() }

// NoOffset is the Offset of an Error that does not concern a text.
const NoOffset = -1

// Error is every error of this package. Its text names the class and the
// place, never any part of the value (seed 003, "Audit contract").
type Error struct {
	// Class says why.
	Class Class
	// Offset is the byte offset in the parsed text at which the flaw was
	// noticed, or NoOffset.
	Offset int
}

// Error implements error.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Class.Error()
	}
	return e.Class.Error() + " at byte " + strconv.Itoa(e.Offset)
}

// Unwrap returns the class, for errors.Is.
func (e *Error) Unwrap() error { return e.Class }

// refuse returns the error of a class that has no place in a text.
func refuse(c Class) error {
	return &Error{Class: c, Offset: NoOffset}
}
