package store

import (
	"errors"
	"time"

	"countersign/core"
)

// insertNote writes the value-free addition to an event.
func (t *tx) insertNote(e core.AuditEvent, n core.Note) error {
	return t.insertRow(tableNotes, []any{e.ContractID, e.Version, n.Actor, string(n.Boundary),
		string(n.Knowledge), string(n.Failure), string(n.Direction), int64(n.Status), n.Response,
		instantOrNil(n.LastByteAt), n.Evidence, string(n.Outcome), int64(n.Neighbours)})
}

func noteOf(r ownRow) core.Note {
	n := core.Note{Actor: r.text(2), Boundary: core.Boundary(r.text(3)), Knowledge: core.Knowledge(r.text(4)),
		Failure: core.FailureClass(r.text(5)), Direction: core.Direction(r.text(6)), Status: int(r.number(7)),
		Response: r.text(8), Evidence: r.text(10), Outcome: core.Outcome(r.text(11)), Neighbours: int(r.number(12))}
	if at, err := core.ParseInstant(r.text(9)); err == nil {
		n.LastByteAt = &at
	}
	return n
}

// addNotes puts the notes of a contract beside its events; an event that the
// reference wrote has none.
func (t *tx) addNotes(contractID string, events []core.AuditEvent) error {
	rows, err := t.rows(tableNotes, "WHERE contract_id = ? ORDER BY state_version", contractID)
	if errors.Is(err, ErrRefused) {
		return &Flaw{ContractID: contractID, Reason: ReasonNote}
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if v := r.number(1); v < int64(len(events)) {
			n := noteOf(r)
			events[v].Note = &n
		}
	}
	return nil
}

func instantOrNil(t *time.Time) any {
	if t == nil {
		return nil
	}
	return core.FormatInstant(*t)
}
