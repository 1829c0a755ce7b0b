package canon

// The bounds of every canonical value (seed 003, "Canonicalization and
// digests").
const (
	// MaxDepth is the deepest level a value may have; the root is level 0.
	MaxDepth = 32
	// MaxNodes is the number of values, containers included, in one document.
	MaxNodes = 10_000
	// MaxMembers is the number of members in one array or object.
	MaxMembers = 4_096
	// MaxStringBytes is the UTF-8 length of one string or key after NFC.
	MaxStringBytes = 64 << 10
	// MaxEncodedBytes is the length of one encoded document.
	MaxEncodedBytes = 1 << 20
	// MaxContext is the number of context components of one digest. Each is
	// at most MaxStringBytes long.
	MaxContext = 16
)

// budget counts what one document has used of the bounds that hold for it as
// a whole.
type budget struct {
	nodes int
	bytes int
}

// node accounts for one more value at the given depth.
func (b *budget) node(depth int) Class {
	if depth > MaxDepth {
		return ErrDepth
	}
	b.nodes++
	if b.nodes > MaxNodes {
		return ErrNodes
	}
	return ok
}

// write accounts for n more bytes of the encoded form.
func (b *budget) write(n int) Class {
	b.bytes += n
	if b.bytes > MaxEncodedBytes {
		return ErrTotalBytes
	}
	return ok
}
