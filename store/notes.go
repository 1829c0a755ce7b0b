package store

import (
	"errors"
	"time"

	"countersign/core"
)

// insertNote writes the value-free addition to an event.
func (t *tx) insertNote(e core.AuditEvent, n core.Note) error {
	return t.insertRow(tableNotes, []any{e.Sequence, e.ContractID, e.Version, n.Actor, string(n.Boundary),
		string(n.Knowledge), string(n.Failure), string(n.Direction), int64(n.Status), n.Response,
		instantOrNil(n.LastByteAt), n.Evidence, string(n.Outcome), int64(n.Neighbours)})
}

func noteOf(r ownRow) core.Note {
	n := core.Note{Actor: r.text(3), Boundary: core.Boundary(r.text(4)), Knowledge: core.Knowledge(r.text(5)),
		Failure: core.FailureClass(r.text(6)), Direction: core.Direction(r.text(7)), Status: int(r.number(8)),
		Response: r.text(9), Evidence: r.text(11), Outcome: core.Outcome(r.text(12)), Neighbours: int(r.number(13))}
	if at, err := core.ParseInstant(r.text(10)); err == nil {
		n.LastByteAt = &at
	}
	return n
}

// addNotes puts the notes of a contract beside its events; an event that the
// reference wrote has none.
func (t *tx) addNotes(contractID string, events []core.AuditEvent) error {
	rows, err := t.notesOf(contractID)
	if errors.Is(err, ErrRefused) {
		return &Flaw{ContractID: contractID, Reason: ReasonNote}
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if v := r.number(2); v < int64(len(events)) && noteFits(r, events[v]) {
			n := noteOf(r)
			events[v].Note = &n
		}
	}
	return nil
}

// notesOf reads the notes of a contract's events, oldest first.
func (t *tx) notesOf(contractID string) ([]ownRow, error) {
	return t.rows(tableNotes, "WHERE sequence IN (SELECT sequence FROM audit_events WHERE contract_id = ?) "+
		"ORDER BY sequence", contractID)
}

// noteFits reports whether a note names the event it stands beside.
func noteFits(r ownRow, e core.AuditEvent) bool {
	return r.number(0) == e.Sequence && r.text(1) == e.ContractID && r.number(2) == e.Version
}

func instantOrNil(t *time.Time) any {
	if t == nil {
		return nil
	}
	return core.FormatInstant(*t)
}
