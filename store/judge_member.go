package store

import (
	"errors"
	"time"

	"countersign/core"
)

// countMembers adds the member rows of a contract to the sums that the head
// must show. Where the record itself is bad, its row still counts.
func (w *worker) countMembers(g *group) {
	if g.badMember {
		w.memberUnknown = true
	}
	for _, r := range g.members {
		w.addMember(core.State(r.text(5)), r.number(6), r.mac)
	}
}

func (w *worker) addMember(state core.State, version int64, mac string) {
	w.memberEvents += version + 1
	w.memberSet.toggle(mac)
	w.states[state]++
}

// judgeMember compares a good record with its row in the set. A record that
// is newer than its row, or has none, was written by another program and is
// taken over. Where the row itself is bad, what it must have been is worked
// out from the record, so that the head can still be checked.
func (w *worker) judgeMember(g *group, r *scannedRow, c core.Contract, chain []core.AuditEvent) Reason {
	if g.badMember {
		m := derivedMember(chain, g.notes, c.StateVersion, r.mac.s)
		w.addMember(c.State, c.StateVersion, string(w.macs.row(tableMembers.label(), m.values(c)).finish()))
		return ReasonOwnRow
	}
	w.countMembers(g)
	if len(g.members) == 0 {
		w.behind++
		return ""
	}
	m := memberOf(g.members[0])
	switch {
	case m.version < c.StateVersion:
		w.behind++
	case m.version > c.StateVersion || m.recordMAC != r.mac.s || len(g.members) > 1:
		return ReasonReplayed
	}
	return ""
}

// derivedMember is the row that a contract's chain and notes lead to.
func derivedMember(chain []core.AuditEvent, notes []ownRow, version int64, recordMAC string) member {
	m := member{position: chain[0].Sequence, version: version, recordMAC: recordMAC,
		updatedAt: chain[len(chain)-1].RecordedAt}
	for i := range chain {
		if at := ambiguousAt(chain[i], lastByteOf(notes, chain[i].Version)); at != nil {
			m.ambiguousAt = at
		}
	}
	return m
}

// lastByteOf finds when the last byte of an event's send left, if noted.
func lastByteOf(notes []ownRow, version int64) *time.Time {
	for _, r := range notes {
		if r.number(1) == version {
			return noteOf(r).LastByteAt
		}
	}
	return nil
}

// logTally counts the rows of the tables that only grow.
type logTally struct {
	rows   int64
	digest setDigest
	bad    int64 // rows that are not authentic
}

// add counts one row and reports whether it is authentic.
func (l *logTally) add(m *macs, t ownTable, r ownRow, typed bool) bool {
	l.rows++
	if !typed || !t.verified(m, r) {
		l.bad++
		return false
	}
	l.digest.toggle(r.mac)
	return true
}

func (l *logTally) merge(o logTally) {
	l.rows += o.rows
	l.bad += o.bad
	l.digest.merge(o.digest)
}

// legacyPrefix is what a schema 6 payload lacks in comparison with schema 7:
// the first member in the order of the names.
const legacyPrefix = `{"authorization_provenance":null,`

var errLegacyFields = errors.New("not a schema 6 record")

// upgradePayload gives a schema 6 payload its schema 7 form. Everything else
// stays byte for byte.
func upgradePayload(payload []byte) ([]byte, error) {
	if len(payload) < 2 || payload[0] != '{' {
		return nil, errLegacyFields
	}
	return append([]byte(legacyPrefix), payload[1:]...), nil
}

// openLegacy authenticates and reads a schema 6 record.
func (w *worker) openLegacy(r *scannedRow) (core.Contract, Reason) {
	payload, ok := r.payload.([]byte)
	if !ok {
		return core.Contract{}, ReasonPayloadType
	}
	if !r.mac.ok || !w.macs.record(payload).equal(r.mac.s) {
		return core.Contract{}, ReasonLegacyMAC
	}
	w.authentic++
	upgraded, err := upgradePayload(payload)
	if err != nil {
		return core.Contract{}, ReasonLegacyFields
	}
	c, err := core.DecodeContract(upgraded)
	switch reason := core.ReasonOf(err); {
	case reason == core.ReasonFields || reason == core.ReasonDuplicateField:
		return core.Contract{}, ReasonLegacyFields
	case err != nil:
		return core.Contract{}, ReasonRecordInvalid
	case !r.matches(c):
		return core.Contract{}, ReasonIndexMismatch
	}
	return c, ""
}
