package store

import (
	"context"
	"database/sql"
	"time"

	"countersign/core"
)

// tx is one transaction: the rows read in it, the clock read in it, and the
// head that its changes add up to (design lesson 6).
type tx struct {
	*sql.Tx
	ctx  context.Context
	s    *Store
	macs *macs
	now  time.Time
	head head
	// touched is set by whatever changes the head; a transaction that
	// changes nothing writes nothing.
	touched bool
}

// write runs f in one durable transaction that nothing can cancel half-way
// (design section 4, rule 14). The write lock is taken first, then the clock
// is read. An error of f rolls everything back. The fault points are
// "<name>/before commit" and "<name>/after commit".
func (s *Store) write(ctx context.Context, name string, f func(*tx) error) error {
	if s.closedReason != nil {
		return s.closedReason
	}
	ctx = context.WithoutCancel(ctx)
	sqlTx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer sqlTx.Rollback()
	t := &tx{Tx: sqlTx, ctx: ctx, s: s, macs: s.newMACs(), now: core.Instant(s.clock.Now())}
	if t.head, err = readHead(ctx, t, t.macs); err != nil {
		return err
	}
	if err := f(t); err != nil {
		return classify(err)
	}
	if !t.touched {
		return nil
	}
	if err := t.updateHead(); err != nil {
		return classify(err)
	}
	return s.commit(sqlTx, name)
}

func (s *Store) commit(sqlTx *sql.Tx, name string) error {
	s.fault(name + "/before commit")
	if err := sqlTx.Commit(); err != nil {
		return classify(err)
	}
	s.fault(name + "/after commit")
	return nil
}

func (s *Store) fault(name string) {
	if s.faultPoint != nil {
		s.faultPoint(name)
	}
}

// read runs f on one consistent snapshot.
func (s *Store) read(ctx context.Context, f func(*tx) error) error {
	sqlTx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return classify(err)
	}
	defer sqlTx.Rollback()
	t := &tx{Tx: sqlTx, ctx: ctx, s: s, macs: s.newMACs(), now: core.Instant(s.clock.Now())}
	return classify(f(t))
}

// exec runs one statement of a writing transaction.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	return t.ExecContext(t.ctx, query, args...)
}

// appendRow adds a row with the next sequence number to a table of ours.
func (t *tx) appendRow(table ownTable, values []any) error {
	var last int64
	if err := t.QueryRowContext(t.ctx, "SELECT ifnull(max(sequence), 0) FROM "+table.sqlName()).Scan(&last); err != nil {
		return err
	}
	return t.insertRow(table, append([]any{last + 1}, values...))
}

// insertRow writes a row of ours with its MAC; a log table's row is counted
// in the head.
func (t *tx) insertRow(table ownTable, values []any) error {
	mac := string(t.macs.row(table.label(), values).finish())
	if _, err := t.exec(table.insertSQL(), append(values[:len(values):len(values)], mac)...); err != nil {
		return err
	}
	if table.log {
		t.touched = true
		t.head.logsOf(table).add(mac)
	}
	return nil
}

// updateRow writes a row of ours again and returns its new MAC. Log tables
// are never updated.
func (t *tx) updateRow(table ownTable, values []any) (mac string, err error) {
	mac = string(t.macs.row(table.label(), values).finish())
	args := append(values[table.keys:len(values):len(values)], mac)
	args = append(args, values[:table.keys]...)
	_, err = t.exec(table.updateSQL(), args...)
	return mac, err
}

// rows returns the verified rows of a table of ours; none where the file
// has no such tables.
func (t *tx) rows(table ownTable, where string, args ...any) ([]ownRow, error) {
	if !t.s.own {
		return nil, nil
	}
	return table.query(t.ctx, t, t.macs, where, args...)
}

// checkClock refuses a decision about time when the clock is behind what the
// store already recorded: an expired contract must not come back to life.
func (t *tx) checkClock() error {
	last, err := t.lastRecorded()
	if err != nil {
		return err
	}
	if t.now.Before(last) {
		return ErrClock
	}
	return nil
}

// lastRecorded is when the newest audit event was written; zero without
// one. An event that is not authentic says nothing about the time.
func (t *tx) lastRecorded() (time.Time, error) {
	events, err := t.events("ORDER BY sequence DESC LIMIT 1")
	if err != nil || len(events) == 0 {
		return time.Time{}, err
	}
	at, err := core.ParseInstant(events[0].recordedAt)
	if err != nil || !events[0].authentic(t.macs) {
		return time.Time{}, nil
	}
	return at, nil
}
