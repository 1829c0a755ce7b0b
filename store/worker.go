package store

import (
	"context"
	"database/sql"

	"countersign/core"
)

// worker scans one range of contract ids.
type worker struct {
	*scanner
	macs *macs
	tally
	pending int // contracts done and not reported yet
}

// group is everything in the file about one contract id.
type group struct {
	id                 string
	records            []scannedRow
	events             []eventRow
	reserved           []reservationRow
	members            []ownRow
	notes              []ownRow
	badMember, badNote bool // a row of ours about this contract is not authentic
}

type scannedRow struct {
	contractRow
	rowID int64
}

type reservationRow struct{ target, contractID text }

// cursor reads one table in the order of contract ids.
type cursor[T any] struct {
	rows *sql.Rows
	read func(*sql.Rows, *T) error
	id   func(*T) string
	next T
	more bool
}

func openCursor[T any](ctx context.Context, q querier, from, to any, query, order string,
	read func(*sql.Rows, *T) error, id func(*T) string) (*cursor[T], error) {
	where, args := "", []any(nil)
	switch {
	case from != nil && to != nil:
		where, args = " WHERE contract_id >= ? AND contract_id < ?", []any{from, to}
	case from != nil:
		where, args = " WHERE contract_id >= ?", []any{from}
	case to != nil:
		where, args = " WHERE contract_id < ?", []any{to}
	}
	rows, err := q.QueryContext(ctx, query+where+" ORDER BY "+order, args...)
	if err != nil {
		return nil, classify(err)
	}
	c := &cursor[T]{rows: rows, read: read, id: id}
	return c, c.advance()
}

func (c *cursor[T]) advance() error {
	if c.more = c.rows.Next(); !c.more {
		return classify(c.rows.Err())
	}
	return c.read(c.rows, &c.next)
}

// lower returns the smaller of least and this cursor's id.
func (c *cursor[T]) lower(least string, any bool) (string, bool) {
	if c == nil || !c.more {
		return least, any
	}
	if id := c.id(&c.next); !any || id < least {
		return id, true
	}
	return least, any
}

// take appends the rows of one id.
func (c *cursor[T]) take(id string, into []T) ([]T, error) {
	if c == nil {
		return into, nil
	}
	for c.more && c.id(&c.next) == id {
		into = append(into, c.next)
		if err := c.advance(); err != nil {
			return into, err
		}
	}
	return into, nil
}

// tables are the cursors that a worker merges.
type tables struct {
	contracts    *cursor[scannedRow]
	events       *cursor[eventRow]
	reservations *cursor[reservationRow]
	members      *cursor[scannedOwn]
	notes        *cursor[scannedOwn]
}

// scannedOwn is a row of ours and whether its columns have usable types.
type scannedOwn struct {
	ownRow
	typed bool
	id    string
}

func (w *worker) open(ctx context.Context, q querier, from, to any) (t tables, err error) {
	t.contracts, err = openCursor(ctx, q, from, to, "SELECT contracts.rowid, "+contractColumns+" FROM contracts",
		"contract_id", readScanned, func(r *scannedRow) string { return r.id.s })
	if err != nil {
		return t, err
	}
	t.events, err = openCursor(ctx, q, from, to, "SELECT "+eventColumns+" FROM audit_events",
		"contract_id, state_version", scanEvent, func(e *eventRow) string { return e.contractID })
	if err != nil {
		return t, err
	}
	t.reservations, err = openCursor(ctx, q, from, to, "SELECT target_identity_digest, contract_id FROM target_reservations",
		"contract_id", func(rows *sql.Rows, r *reservationRow) error { return classify(rows.Scan(&r.target, &r.contractID)) },
		func(r *reservationRow) string { return r.contractID.s })
	if err != nil || !w.own {
		return t, err
	}
	t.members, err = openOwn(ctx, q, from, to, tableMembers, "contract_id", 1)
	if err != nil {
		return t, err
	}
	t.notes, err = openOwn(ctx, q, from, to, tableNotes, "contract_id, state_version", 0)
	return t, err
}

func (t tables) close() {
	for _, rows := range []*sql.Rows{rowsOf(t.contracts), rowsOf(t.events), rowsOf(t.reservations),
		rowsOf(t.members), rowsOf(t.notes)} {
		if rows != nil {
			rows.Close()
		}
	}
}

func rowsOf[T any](c *cursor[T]) *sql.Rows {
	if c == nil {
		return nil
	}
	return c.rows
}

func readScanned(rows *sql.Rows, r *scannedRow) error {
	return classify(rows.Scan(append([]any{&r.rowID}, r.into()...)...))
}

func openOwn(ctx context.Context, q querier, from, to any, t ownTable, order string, id int) (*cursor[scannedOwn], error) {
	read := func(rows *sql.Rows, r *scannedOwn) (err error) {
		r.ownRow, r.typed, err = t.scanOwn(rows)
		if err == nil {
			r.id = r.text(id)
		}
		return err
	}
	return openCursor(ctx, q, from, to, t.selectSQL(""), order, read, func(r *scannedOwn) string { return r.id })
}

// scan merges the tables of one range.
func (w *worker) scan(ctx context.Context, q querier, from, to any) error {
	t, err := w.open(ctx, q, from, to)
	defer t.close()
	if err != nil {
		return err
	}
	var g group
	for {
		id, any := t.contracts.lower("", false)
		id, any = t.events.lower(id, any)
		id, any = t.reservations.lower(id, any)
		id, any = t.members.lower(id, any)
		id, any = t.notes.lower(id, any)
		if !any {
			w.report(w.pending)
			return nil
		}
		if err := w.collect(t, &g, id); err != nil {
			return err
		}
		w.judge(&g)
		if w.pending++; w.pending == 256 {
			w.report(w.pending)
			w.pending = 0
		}
	}
}

// collect gathers all rows of one id.
func (w *worker) collect(t tables, g *group, id string) (err error) {
	*g = group{id: id, records: g.records[:0], events: g.events[:0], reserved: g.reserved[:0],
		members: g.members[:0], notes: g.notes[:0]}
	if g.records, err = t.contracts.take(id, g.records); err != nil {
		return err
	}
	if g.events, err = t.events.take(id, g.events); err != nil {
		return err
	}
	if g.reserved, err = t.reservations.take(id, g.reserved); err != nil {
		return err
	}
	w.contracts += int64(len(g.records))
	w.events += int64(len(g.events))
	w.reservations += int64(len(g.reserved))
	if t.members != nil {
		return w.collectOwn(t, g)
	}
	return nil
}

func (w *worker) collectOwn(t tables, g *group) error {
	members, err := t.members.take(g.id, nil)
	if err != nil {
		return err
	}
	for _, r := range members {
		w.members++
		if !r.typed || !tableMembers.verified(w.macs, r.ownRow) {
			g.badMember = true
			continue
		}
		w.authentic++
		g.members = append(g.members, r.ownRow)
	}
	notes, err := t.notes.take(g.id, nil)
	if err != nil {
		return err
	}
	for _, r := range notes {
		if !w.logs.add(w.macs, tableNotes, r.ownRow, r.typed) {
			g.badNote = true
			continue
		}
		w.authentic++
		g.notes = append(g.notes, r.ownRow)
	}
	return nil
}

// judge decides about one contract id.
func (w *worker) judge(g *group) {
	if len(g.records) == 0 {
		w.judgeAbsent(g)
		return
	}
	r := &g.records[0]
	c, reason := r.open(w.macs)
	claimed := ""
	if reason == "" || reason == ReasonIndexMismatch {
		claimed = c.ID
	}
	if reason != ReasonRecordMAC && reason != ReasonPayloadType {
		w.authentic++
	}
	if w.schema == 6 {
		c, reason = w.openLegacy(r)
	}
	var chain []core.AuditEvent
	if reason == "" {
		chain, reason = w.judgeChain(g, c)
	} else {
		w.countAuthentic(g.events)
	}
	if reason == "" && w.own {
		reason = w.judgeMember(g, r, c, chain)
	} else if w.own {
		w.countMembers(g)
	}
	if reason == "" && g.badNote {
		reason = ReasonNote
	}
	if reason != "" {
		w.flaws = append(w.flaws, foundFlaw{Flaw: Flaw{ContractID: g.id, Reason: reason}, claims: r.claims(),
			rowID: r.rowID, claimedID: claimed})
	}
}

func (w *worker) judgeAbsent(g *group) {
	if len(g.events)+len(g.reserved) > 0 && len(w.orphans) < orphanLimit {
		w.orphans = append(w.orphans, g.id)
	}
	if len(g.members) > 0 {
		w.countMembers(g)
		m := g.members[0]
		w.flaws = append(w.flaws, foundFlaw{Flaw: Flaw{ContractID: g.id, Reason: ReasonMissing}, claims: claims{
			keys: map[string]bool{m.text(3): true}, targets: map[string]bool{m.text(4): true}}})
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
	reserved := ""
	if len(g.reserved) > 0 {
		reserved = g.reserved[0].target.s
	}
	if len(g.reserved) > 1 || !reservationFits(c, reserved) {
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
