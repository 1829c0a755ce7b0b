package store

import (
	"errors"
	"time"

	"countersign/core"
)

// judgeOwn compares a contract with what our own tables say about it. reason
// is what is already wrong with the record.
func (w *worker) judgeOwn(g *group, c core.Contract, chain []core.AuditEvent, reason Reason) Reason {
	m := g.member
	if m.exists() {
		w.members++
		if g.badMember = !m.typed || !tableMembers.verified(w.macs, m.ownRow); !g.badMember {
			w.authentic++
			w.addMember(memberState(m.ownRow), m.number(6), m.mac)
		}
	}
	switch {
	case reason != "":
		// Where both are bad, nothing says what the set must look like.
		w.memberUnknown = w.memberUnknown || g.badMember
		return reason
	case g.badNote:
		w.memberUnknown = w.memberUnknown || g.badMember
		return ReasonNote
	case g.badMember:
		// What the row must have been follows from the record.
		d := derivedMember(chain, g.notes, c.StateVersion, g.mac.s)
		w.addMember(c.State, c.StateVersion, string(w.macs.row(tableMembers.label(), d.values(c)).finish()))
		return ReasonOwnRow
	case !m.exists():
		w.behind++
		return ""
	}
	return w.judgePlace(g, c, memberOf(m.ownRow))
}

// judgePlace: a record that is newer than its row was written by another
// program and is taken over; one that is older was put back.
func (w *worker) judgePlace(g *group, c core.Contract, m member) Reason {
	switch {
	case m.version < c.StateVersion:
		w.behind++
	case m.version > c.StateVersion || m.recordMAC != g.mac.s:
		return ReasonReplayed
	}
	return ""
}

func (w *worker) addMember(state core.State, version int64, mac string) {
	w.memberEvents += version + 1
	w.memberSet.toggle(mac)
	w.states[state]++
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
		if r.number(2) == version {
			return noteOf(r).LastByteAt
		}
	}
	return nil
}

// logTally counts the rows of the tables that only grow.
type logTally struct {
	logSet
	bad int64 // rows that are not authentic
}

// add counts one row and reports whether it is authentic.
func (l *logTally) add(m *macs, t ownTable, r ownRow, typed bool) bool {
	if !typed || !t.verified(m, r) {
		l.rows++
		l.bad++
		return false
	}
	l.logSet.add(r.mac)
	return true
}

// differs reports whether these are not the rows that the head names. Where
// rows are bad, only their number can be compared.
func (l *logTally) differs(s logSet) bool {
	return l.rows != s.rows || (l.bad == 0 && l.digest != s.digest)
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
func (w *worker) openLegacy(r *contractRow) (core.Contract, Reason) {
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
