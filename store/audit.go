package store

import (
	"database/sql"

	"countersign/core"
)

const eventColumns = "sequence, contract_id, event_type, previous_state, current_state, state_version, recorded_at, mac"

// eventRow is one row of audit_events as it is in the file.
type eventRow struct {
	sequence   int64
	contractID string
	kind       string
	previous   sql.NullString
	current    string
	version    int64
	recordedAt string
	mac        string
	mistyped   bool // a column has another type than the schema says
}

// eventScan receives the columns of one event, whatever their types.
type eventScan struct {
	sequence, version          integer
	id, kind, current, at, mac text
	previous                   any
}

func (e *eventScan) into() []any {
	return []any{&e.sequence, &e.id, &e.kind, &e.previous, &e.current, &e.version, &e.at, &e.mac}
}

func (e *eventScan) row() eventRow {
	r := eventRow{sequence: e.sequence.n, contractID: e.id.s, kind: e.kind.s, current: e.current.s,
		version: e.version.n, recordedAt: e.at.s, mac: e.mac.s}
	r.previous.String, r.previous.Valid = e.previous.(string)
	r.mistyped = !(e.sequence.ok && e.id.ok && e.kind.ok && e.current.ok && e.version.ok && e.at.ok && e.mac.ok &&
		(r.previous.Valid || e.previous == nil))
	return r
}

// scanEvent reads the current row.
func scanEvent(rows *sql.Rows, e *eventRow) error {
	var columns eventScan
	if err := rows.Scan(columns.into()...); err != nil {
		return classify(err)
	}
	*e = columns.row()
	return nil
}

// authentic reports whether the event's MAC holds.
func (e *eventRow) authentic(m *macs) bool {
	if e.mistyped {
		return false
	}
	m, ok := m.event(*e)
	return ok && m.equal(e.mac)
}

// events returns the raw events that a condition selects.
func (t *tx) events(where string, args ...any) ([]eventRow, error) {
	rows, err := t.QueryContext(t.ctx, "SELECT "+eventColumns+" FROM audit_events "+where, args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var found []eventRow
	for rows.Next() {
		var e eventRow
		if err := scanEvent(rows, &e); err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, classify(rows.Err())
}

// checkChain verifies a contract's whole chain, given in the order of its
// versions: complete, contiguous, each event naming the state of the one
// before, authentic, and legal (seed 003, Persistence and integrity). The
// order of the checks is that of the conformance cases' classes.
//
// A time before that of the previous event is accepted: a clock that was set
// back writes it legally.
func checkChain(m *macs, c core.Contract, rows []eventRow) ([]core.AuditEvent, Reason) {
	if int64(len(rows)) != c.StateVersion+1 {
		return nil, ReasonAuditIncomplete
	}
	chain := make([]core.AuditEvent, len(rows))
	for i := range rows {
		reason := checkEvent(m, rows, i, &chain[i])
		if reason != "" {
			return nil, reason
		}
	}
	if chain[len(chain)-1].Current != c.State {
		return nil, ReasonAuditState
	}
	return chain, ""
}

func checkEvent(m *macs, rows []eventRow, i int, into *core.AuditEvent) Reason {
	e := &rows[i]
	switch {
	case e.version != int64(i):
		return ReasonAuditOrdering
	case i == 0 && (e.kind != string(core.EventCreated) || e.previous.Valid || e.current != string(core.Preparing)):
		return ReasonAuditOrigin
	case i > 0 && (!e.previous.Valid || e.previous.String != rows[i-1].current):
		return ReasonAuditChain
	}
	at, err := core.ParseInstant(e.recordedAt)
	switch {
	case err != nil:
		return ReasonAuditTimestamp
	case !e.authentic(m):
		return ReasonAuditMAC
	case i > 0 && e.sequence <= rows[i-1].sequence:
		return ReasonAuditSequence
	}
	*into = core.AuditEvent{Sequence: e.sequence, ContractID: e.contractID, Type: core.EventType(e.kind),
		Previous: core.State(e.previous.String), Current: core.State(e.current), Version: e.version, RecordedAt: at}
	if i > 0 {
		return checkStep(into)
	}
	return ""
}

// checkStep: only the events that a legal writer writes, on edges that its
// kind of event may take.
func checkStep(e *core.AuditEvent) Reason {
	rule := core.Edge(e.Previous, e.Current)
	stays := e.Previous == e.Current
	legal := false
	switch e.Type {
	case core.EventTransition:
		legal = rule == core.EdgeLegal
	case core.EventConfirmed:
		legal = stays && e.Current == core.Prepared
	case core.EventRotated:
		legal = stays && e.Current.Known()
	case core.EventResolved:
		legal = rule == core.EdgeManual
	default:
		return ReasonAuditType
	}
	if !legal {
		return ReasonAuditEdge
	}
	return ""
}

// appendEvent writes the next link of a contract's chain. Its time is never
// before that of the contract's last event: after a send, a clock that was
// set back must not keep the result from being recorded.
func (t *tx) appendEvent(kind core.EventType, previous core.State, c core.Contract, last core.AuditEvent) (core.AuditEvent, error) {
	at := t.now
	if at.Before(last.RecordedAt) {
		at = last.RecordedAt
	}
	e := eventRow{contractID: c.ID, kind: string(kind), current: string(c.State), version: c.StateVersion,
		recordedAt: core.FormatInstant(at), previous: sql.NullString{String: string(previous), Valid: previous != ""}}
	m, ok := t.macs.event(e)
	if !ok {
		return core.AuditEvent{}, core.ErrInvalid
	}
	result, err := t.exec(`INSERT INTO audit_events (contract_id, event_type, previous_state, current_state,
		state_version, recorded_at, mac) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		e.contractID, e.kind, e.previous, e.current, e.version, e.recordedAt, string(m.finish()))
	if err != nil {
		return core.AuditEvent{}, err
	}
	sequence, err := result.LastInsertId()
	t.head.events++
	t.touched = true
	return core.AuditEvent{Sequence: sequence, ContractID: c.ID, Type: kind, Previous: previous,
		Current: c.State, Version: c.StateVersion, RecordedAt: at}, err
}
