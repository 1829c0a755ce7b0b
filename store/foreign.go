package store

import (
	"time"

	"countersign/core"
)

// A store that the reference wrote and in which a record is flawed is open
// for reading alone and has none of our tables. What they would answer is
// worked out here from the reference's own; nothing needs to be fast.

// foreignPlaces lists a page as cs_members would: position and contract id.
func (t *tx) foreignPlaces(q core.ListQuery, from int64, limit int) ([]ownRow, error) {
	states := map[core.ListName]string{core.ListActive: activeStates, core.ListNeedsYou: waitingStates}[q.List]
	where, beyond, order := "", "<", " DESC"
	if q.List == core.ListOldest {
		beyond, order = ">", ""
	}
	if states != "" {
		where = " AND contracts.state IN (" + states + ")"
	}
	rows, err := t.QueryContext(t.ctx, `SELECT audit_events.sequence, contracts.contract_id FROM audit_events
		JOIN contracts ON contracts.contract_id = audit_events.contract_id
		WHERE audit_events.state_version = 0 AND audit_events.sequence `+beyond+" ?"+where+
		" ORDER BY audit_events.sequence"+order+" LIMIT ?", from, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var places []ownRow
	for rows.Next() {
		var position integer
		var id text
		if err := rows.Scan(&position, &id); err != nil {
			return nil, err
		}
		places = append(places, ownRow{values: []any{position.n, id.s}})
	}
	return places, rows.Err()
}

// foreignHead counts contracts, events and states.
func (t *tx) foreignHead() (head, error) {
	h := newHead()
	rows, err := t.QueryContext(t.ctx, "SELECT state, count(*) FROM contracts GROUP BY state")
	if err != nil {
		return h, err
	}
	defer rows.Close()
	for rows.Next() {
		var state text
		var n int64
		if err := rows.Scan(&state, &n); err != nil {
			return h, err
		}
		h.states[core.State(state.s)] = n
		h.contracts += n
	}
	if err := rows.Err(); err != nil {
		return h, err
	}
	return h, t.QueryRowContext(t.ctx, "SELECT count(*) FROM audit_events").Scan(&h.events)
}

// foreignAmbiguous finds the newest event that entered RECONCILIATION from a send.
func (t *tx) foreignAmbiguous() (time.Time, string, error) {
	events, err := t.events("WHERE current_state = 'reconciliation' AND previous_state IN ('executing', 'rolling_back') " +
		"ORDER BY recorded_at DESC LIMIT 1")
	if err != nil || len(events) == 0 {
		return time.Time{}, "", err
	}
	at, err := core.ParseInstant(events[0].recordedAt)
	if err != nil {
		return time.Time{}, "", nil
	}
	return at, events[0].contractID, nil
}

// storeHead is the head, or what it would be.
func (t *tx) storeHead() (head, error) {
	if !t.s.own {
		return t.foreignHead()
	}
	return readHead(t.ctx, t, t.macs)
}
