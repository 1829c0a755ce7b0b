// Package canon turns values into bytes that two programs agree on, and bytes
// into digests that cannot be confused with one another. It is pure: no clock,
// no randomness, no I/O. This comment is the specification; a second
// implementation can be made from it, and the cases under
// testdata/conformance decide every doubt.
//
// # Values
//
// A value is null, a boolean, a signed 64-bit integer, a string of Unicode
// scalar values, an array of values, or an object: a set of members, each a
// string key and a value. In Go they are nil, bool, int64, string, []any and
// map[string]any. There are no floats, and a boolean is not an integer.
// (seed 003, "Canonicalization and digests".)
//
// # Normal form
//
// Every string, keys included, is normalised to Unicode NFC. The version is
// pinned at 14.0: a code point that Unicode assigned later takes no part in
// normalisation. NFC here is the plain algorithm of UAX #15; it never inserts
// U+034F into long runs of combining marks, as stream-safe variants do. Two
// keys of one object that are equal after NFC are refused.
//
// # Bounds
//
//   - Depth: the root is level 0, a member is one level below its container,
//     and no value is deeper than level 32. An empty container at level 32 is
//     allowed.
//   - Nodes: at most 10,000 values, containers and scalars alike. Keys are
//     not nodes.
//   - Members: at most 4,096 in one array or object.
//   - Strings and keys: at most 65,536 bytes of UTF-8, after NFC and before
//     escaping.
//   - Encoded form: at most 1,048,576 bytes.
//   - Integers: -2^63 to 2^63-1.
//
// # Canonical encoding
//
// The canonical bytes of a value are JSON in UTF-8 with no white space:
//
//   - null, true, false; integers in decimal, with no leading zero and no
//     negative zero.
//   - Arrays keep their order. Object members are ordered by the code points
//     of their keys after NFC, which is the order of their UTF-8 bytes (and
//     not of their UTF-16 units, nor of their escaped forms).
//   - In a string, U+0022 and U+005C are preceded by a backslash; U+0008,
//     U+0009, U+000A, U+000C and U+000D are written \b \t \n \f \r; every
//     other code point below U+0020 is written \u00xx with lower-case digits.
//     Everything else stands for itself: DEL, U+2028, U+2029, '/', '<', '>',
//     '&' and non-characters too.
//
// It is what Python's json.dumps(ensure_ascii=False, sort_keys=True,
// separators=(",", ":")) writes for the normalised value.
//
// The ASCII encoding, in which records are stored, differs in two points: no
// normalisation takes place, and every code point from U+007F up is written
// \uxxxx with lower-case digits, as a surrogate pair above U+FFFF.
//
// # Parsing
//
// The input is one JSON text (RFC 8259) in UTF-8 without a byte order mark.
// Beyond the grammar these are refused: bytes that are not UTF-8, an escaped
// surrogate without its partner, a number with a fraction or an exponent
// whatever its value, an integer outside 64 bits, the same key twice in one
// object, and everything beyond the bounds above. The bounds hold for the
// value, so white space and escapes in the input do not count.
//
// Every refusal has a class (see [Class]). A text with several flaws is
// refused for one of them; which one is not specified.
//
// # Framing and digests
//
// frame(x) is the length of x as an unsigned big-endian 32-bit integer,
// followed by x. The digest of a value is
//
//	SHA-256( frame("pfSense-MCP/Tier1/v1") frame(purpose)
//	         frame(context[0]) ... frame(context[n-1])
//	         frame(canonical bytes of the value) )
//
// with at most 16 context components of at most 65,536 bytes each, which are
// valid UTF-8 and are hashed as given, without NFC. Length framing makes the
// boundaries part of the hashed bytes; the purpose keeps digests of one kind
// from ever standing for another. A digest is written as 64 lower-case
// hexadecimal digits.
package canon
