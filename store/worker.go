package store

import (
	"context"
	"database/sql"
	"strings"

	"countersign/core"
)

// worker scans one range of contracts. It reads two queries in step: the
// contracts with what there is one of (reservation, place in the set), and
// their events with notes.
type worker struct {
	*scanner
	macs *macs
	tally
	pending int // contracts done and not reported yet
}

// group is everything in the file about one contract.
type group struct {
	scannedRow
	events []eventRow
	notes  []ownRow
	// A row of ours about this contract is not authentic.
	badMember, badNote bool
}

// scannedRow is a contract with its reservation and its place in the set.
type scannedRow struct {
	contractRow
	rowID    int64
	reserved any // target, or nil
	member   scannedOwn
}

// scannedEvent is an event with its note and the contract it was found for.
type scannedEvent struct {
	eventRow
	owner int64
	note  scannedOwn
}

// scannedOwn is a row of ours as it is in the file; without columns where
// there is none.
type scannedOwn struct {
	ownRow
	typed bool
}

func (s scannedOwn) exists() bool { return s.values != nil }

// contractQuery and eventQuery select one range in the order of the file.
// CROSS JOIN keeps SQLite from choosing another order.
func (w *worker) contractQuery() string {
	columns, join := "", ""
	if w.own {
		columns = ", " + tableMembers.qualified()
		join = " LEFT JOIN cs_members ON cs_members.contract_id = contracts.contract_id"
	}
	return "SELECT contracts.rowid, " + contractColumns + ", target_reservations.target_identity_digest" + columns +
		" FROM contracts LEFT JOIN target_reservations ON target_reservations.contract_id = contracts.contract_id" + join +
		" WHERE contracts.rowid > ? AND contracts.rowid <= ? ORDER BY contracts.rowid"
}

func (w *worker) eventQuery() string {
	columns, join := "", ""
	if w.own {
		columns = ", " + tableNotes.qualified()
		join = " LEFT JOIN cs_notes ON cs_notes.sequence = audit_events.sequence"
	}
	return "SELECT contracts.rowid, " + qualify("audit_events", eventColumns) + columns +
		" FROM contracts CROSS JOIN audit_events ON audit_events.contract_id = contracts.contract_id" + join +
		" WHERE contracts.rowid > ? AND contracts.rowid <= ? ORDER BY contracts.rowid, audit_events.state_version"
}

func qualify(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

func (t ownTable) qualified() string {
	return qualify(t.sqlName(), strings.Join(t.columns, ", ")+", mac")
}

// scan reads one range.
func (w *worker) scan(ctx context.Context, q querier, from, to int64) error {
	contracts, err := q.QueryContext(ctx, w.contractQuery(), from, to)
	if err != nil {
		return classify(err)
	}
	defer contracts.Close()
	rows, err := q.QueryContext(ctx, w.eventQuery(), from, to)
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	reader, events := newContractReader(w.own), newEventCursor(rows, w.own)
	if err := events.advance(); err != nil {
		return err
	}
	var g group
	for contracts.Next() {
		g = group{events: g.events[:0], notes: g.notes[:0]}
		if g.scannedRow, err = reader.read(contracts); err != nil {
			return err
		}
		if err := w.collect(events, &g); err != nil {
			return err
		}
		w.judge(&g)
		if w.pending++; w.pending == 256 {
			w.report(w.pending)
			w.pending = 0
		}
	}
	w.report(w.pending)
	return classify(contracts.Err())
}

// contractReader reads contracts; its targets are made once.
type contractReader struct {
	rowID    int64
	row      contractRow
	reserved any
	member   ownScan
	into     []any
}

func newContractReader(own bool) *contractReader {
	r := &contractReader{}
	r.into = append([]any{&r.rowID}, r.row.into()...)
	r.into = append(r.into, &r.reserved)
	if own {
		r.into = append(r.into, r.member.targets(tableMembers)...)
	}
	return r
}

func (r *contractReader) read(rows *sql.Rows) (scannedRow, error) {
	if err := rows.Scan(r.into...); err != nil {
		return scannedRow{}, classify(err)
	}
	return scannedRow{contractRow: r.row, rowID: r.rowID, reserved: r.reserved, member: r.member.take()}, nil
}

// eventCursor reads events in step with their contracts.
type eventCursor struct {
	rows    *sql.Rows
	owner   int64
	columns eventScan
	note    ownScan
	into    []any
	next    scannedEvent
	more    bool
}

func newEventCursor(rows *sql.Rows, own bool) *eventCursor {
	c := &eventCursor{rows: rows}
	c.into = append([]any{&c.owner}, c.columns.into()...)
	if own {
		c.into = append(c.into, c.note.targets(tableNotes)...)
	}
	return c
}

func (c *eventCursor) advance() error {
	if c.more = c.rows.Next(); !c.more {
		return classify(c.rows.Err())
	}
	if err := c.rows.Scan(c.into...); err != nil {
		return classify(err)
	}
	c.next = scannedEvent{eventRow: c.columns.row(), owner: c.owner, note: c.note.take()}
	return nil
}

// collect takes the events of one contract.
func (w *worker) collect(c *eventCursor, g *group) error {
	w.contracts++
	if g.reserved != nil {
		w.reservations++
	}
	for c.more && c.next.owner == g.rowID {
		g.events = append(g.events, c.next.eventRow)
		w.events++
		if n := c.next.note; n.exists() {
			w.collectNote(g, n)
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) collectNote(g *group, n scannedOwn) {
	fits := n.text(1) == g.id.s && n.number(2) == int64(len(g.events)-1)
	if !w.records.add(w.macs, tableNotes, n.ownRow, n.typed) || !fits {
		g.badNote = true
		return
	}
	w.authentic++
	g.notes = append(g.notes, n.ownRow)
}

// judge decides about one contract.
func (w *worker) judge(g *group) {
	c, reason := g.open(w.macs)
	claimed := ""
	if reason == "" || reason == ReasonIndexMismatch {
		claimed = c.ID
	}
	if reason != ReasonRecordMAC && reason != ReasonPayloadType {
		w.authentic++
	}
	if w.schema == 6 {
		c, reason = w.openLegacy(&g.contractRow)
	}
	var chain []core.AuditEvent
	if reason == "" {
		chain, reason = w.judgeChain(g, c)
	} else {
		w.countAuthentic(g.events)
	}
	if w.own {
		reason = w.judgeOwn(g, c, chain, reason)
	}
	if reason != "" {
		w.flaws = append(w.flaws, foundFlaw{Flaw: Flaw{ContractID: g.id.s, Reason: reason}, claims: g.claims(),
			rowID: g.rowID, claimedID: claimed})
	}
}

// judgeChain verifies events and reservation of an authentic record.
func (w *worker) judgeChain(g *group, c core.Contract) ([]core.AuditEvent, Reason) {
	if lack := c.StateVersion + 1 - int64(len(g.events)); lack > 0 {
		w.missing += lack
	}
	chain, reason := checkChain(w.macs, c, g.events)
	if reason != "" {
		w.countAuthentic(g.events)
		return nil, reason
	}
	w.authentic += int64(len(chain))
	reserved, isText := g.reserved.(string)
	if (g.reserved != nil && !isText) || !reservationFits(c, reserved) {
		return nil, ReasonReservation
	}
	return chain, ""
}

// countAuthentic: where a record is bad, its events still tell whether the
// key is the right one.
func (w *worker) countAuthentic(events []eventRow) {
	for i := range events {
		if events[i].authentic(w.macs) {
			w.authentic++
		}
	}
}
