package canon

import "unicode/utf8"

// Normalize returns a deep copy of v with every string and key in NFC, within
// all bounds. Beside the canonical types it accepts int, which becomes int64,
// and Digest, which becomes its text. Errors are *Error.
func Normalize(v any) (any, error) {
	var n normalizer
	out, c := n.value(v, 0)
	if c != ok {
		return nil, refuse(c)
	}
	return out, nil
}

type normalizer struct{ budget }

func (n *normalizer) value(v any, depth int) (any, Class) {
	if c := n.node(depth); c != ok {
		return nil, c
	}
	switch v := v.(type) {
	case nil:
		return nil, n.write(len("null"))
	case bool:
		return v, n.write(boolLen(v))
	case int64:
		return v, n.write(intLen(v))
	case int:
		return int64(v), n.write(intLen(int64(v)))
	case string:
		return n.text(v)
	case Digest:
		return n.text(v.String())
	case []any:
		return n.array(v, depth)
	case map[string]any:
		return n.object(v, depth)
	default:
		return nil, unsupported(v)
	}
}

func (n *normalizer) text(s string) (any, Class) {
	s, c := clean(s, true)
	if c != ok {
		return nil, c
	}
	return s, n.write(quotedLen(s))
}

func (n *normalizer) array(in []any, depth int) (any, Class) {
	if len(in) > MaxMembers {
		return nil, ErrMembers
	}
	if c := n.write(bracketsLen(len(in))); c != ok {
		return nil, c
	}
	out := make([]any, len(in))
	for i, v := range in {
		member, c := n.value(v, depth+1)
		if c != ok {
			return nil, c
		}
		out[i] = member
	}
	return out, ok
}

func (n *normalizer) object(in map[string]any, depth int) (any, Class) {
	if len(in) > MaxMembers {
		return nil, ErrMembers
	}
	if c := n.write(bracketsLen(len(in))); c != ok {
		return nil, c
	}
	out := make(map[string]any, len(in))
	for k, v := range in {
		key, c := clean(k, true)
		if c != ok {
			return nil, c
		}
		if _, taken := out[key]; taken {
			return nil, ErrKeyCollision
		}
		if c := n.write(quotedLen(key) + len(":")); c != ok {
			return nil, c
		}
		if out[key], c = n.value(v, depth+1); c != ok {
			return nil, c
		}
	}
	return out, ok
}

// clean returns s as a value may hold it: valid UTF-8, in NFC if asked for,
// and not too long.
func clean(s string, nfc bool) (string, Class) {
	if !isASCII(s) {
		if !utf8.ValidString(s) {
			return "", ErrUnicodeScalar
		}
		if nfc {
			s = NFC(s)
		}
	}
	if len(s) > MaxStringBytes {
		return "", ErrStringBytes
	}
	return s, ok
}

// unsupported returns the class of a Go value that is no canonical value.
func unsupported(v any) Class {
	switch v.(type) {
	case float32, float64:
		return ErrFloat
	default:
		return ErrType
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
