package canon

import "encoding/binary"

// Frame returns the parts, each preceded by its length as an unsigned
// four-byte big-endian integer (seed 003, "Canonicalization and digests").
// Different lists of parts have different frames, whatever bytes they hold.
//
// Lengths beyond four bytes cannot occur: documents are bounded by
// MaxEncodedBytes and a database value by its own, smaller limit.
func Frame(parts ...[]byte) []byte {
	return frame(parts)
}

// FrameStrings is Frame for strings.
func FrameStrings(parts ...string) []byte {
	return frame(parts)
}

func frame[T ~string | ~[]byte](parts []T) []byte {
	size := 0
	for _, p := range parts {
		size += 4 + len(p)
	}
	out := make([]byte, 0, size)
	for _, p := range parts {
		out = appendFrame(out, p)
	}
	return out
}

// appendFrame appends the length of part and part to dst.
func appendFrame[T ~string | ~[]byte](dst []byte, part T) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(part)))
	return append(dst, part...)
}
