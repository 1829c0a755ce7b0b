package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"countersign/canon"
)

// Labels separate what a MAC is for (design section 3). A contract's record
// has none: its frame has two parts and every other has three or more.
const (
	labelEvent        = "audit-event"
	labelMark         = "anchor-high-water-mark"
	labelProvisioning = "anchor-provisioning-complete"
)

// MinKeyBytes is the shortest integrity key (seed 003, Persistence and integrity).
const MinKeyBytes = 32

// macs computes MACs under one key for one store id. It is not safe for
// concurrent use; every transaction and every scanning worker has its own.
type macs struct {
	storeID string
	hash    hash.Hash
	buf     []byte
	sum     []byte
	text    [2 * sha256.Size]byte
}

func newMACs(storeID string, key []byte) *macs {
	return &macs{storeID: storeID, hash: hmac.New(sha256.New, key)}
}

// start begins a framed message with the store id.
func (m *macs) start() { m.buf = m.buf[:0]; m.part(m.storeID) }

// part appends one framed component.
func (m *macs) part(s string) {
	m.buf = binary.BigEndian.AppendUint32(m.buf, uint32(len(s)))
	m.buf = append(m.buf, s...)
}

// bytes appends one framed component.
func (m *macs) bytes(b []byte) {
	m.buf = binary.BigEndian.AppendUint32(m.buf, uint32(len(b)))
	m.buf = append(m.buf, b...)
}

// finish returns the lower-case hexadecimal MAC, valid until the next call.
func (m *macs) finish() []byte {
	m.hash.Reset()
	m.hash.Write(m.buf)
	m.sum = m.hash.Sum(m.sum[:0])
	hex.Encode(m.text[:], m.sum)
	return m.text[:]
}

// equal compares the finished MAC with a stored one, exactly: upper case or
// anything that is not ASCII differs.
func (m *macs) equal(stored string) bool { return hmac.Equal(m.finish(), []byte(stored)) }

// record is the MAC of a contract's exact bytes.
func (m *macs) record(payload []byte) *macs { m.start(); m.bytes(payload); return m }

// labelled is the MAC of one text under a label.
func (m *macs) labelled(label, value string) *macs {
	m.start()
	m.part(label)
	m.part(value)
	return m
}

// event is the MAC of an audit event: the label and its fields as sorted
// JSON. ok is false where a column is not text that JSON can carry.
func (m *macs) event(e eventRow) (_ *macs, ok bool) {
	m.start()
	m.part(labelEvent)
	at := len(m.buf)
	m.buf = append(m.buf, 0, 0, 0, 0)
	ok = true
	field := func(name, value string) {
		m.buf = append(m.buf, name...)
		var good bool
		m.buf, good = appendJSON(m.buf, value)
		ok = ok && good
	}
	field(`{"contract_id":`, e.contractID)
	field(`,"current_state":`, e.current)
	field(`,"event_type":`, e.kind)
	if e.previous.Valid {
		field(`,"previous_state":`, e.previous.String)
	} else {
		m.buf = append(m.buf, `,"previous_state":null`...)
	}
	field(`,"recorded_at":`, e.recordedAt)
	m.buf = append(m.buf, `,"state_version":`...)
	m.buf = append(strconv.AppendInt(m.buf, e.version, 10), '}')
	binary.BigEndian.PutUint32(m.buf[at:], uint32(len(m.buf)-at-4))
	return m, ok
}

// appendJSON appends a string as stored JSON writes it.
func appendJSON(dst []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			b, err := canon.EncodeASCII(s)
			return append(dst, b...), err == nil
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), true
}

// row is the MAC of a row of one of our own tables: its label and every
// column, each tagged with its type so that NULL, text and integer differ.
func (m *macs) row(label string, columns []any) *macs {
	m.start()
	m.part(label)
	for _, c := range columns {
		switch v := c.(type) {
		case string:
			m.part("t" + v)
		case int64:
			m.part("i" + strconv.FormatInt(v, 10))
		default:
			m.part("n")
		}
	}
	return m
}
