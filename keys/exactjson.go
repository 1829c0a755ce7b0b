package keys

import (
	"bytes"
	"encoding/json"
)

// encodeExact writes v, a struct whose fields stand in the order of their
// JSON names and hold only integers, identifiers and base64, as its one
// canonical text.
func encodeExact(v any) ([]byte, error) { return json.Marshal(v) }

// decodeExact accepts only what encodeExact writes: no other order, spacing,
// spelling, duplicate or unknown field. Its error is always ErrCorrupt and
// quotes nothing.
func decodeExact(raw []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if decoder.Decode(v) != nil {
		return ErrCorrupt
	}
	again, err := encodeExact(v)
	defer clear(again)
	if err != nil || !bytes.Equal(raw, again) {
		return ErrCorrupt
	}
	return nil
}
