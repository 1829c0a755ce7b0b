package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
)

// querier is what a transaction and a connection have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// sqlName is the table's name in the file.
func (t ownTable) sqlName() string { return ownPrefix + t.name }

// label separates the MACs of this table's rows from all others.
func (t ownTable) label() string { return "countersign-" + t.name }

func (t ownTable) selectSQL(where string) string {
	return "SELECT " + strings.Join(t.columns, ", ") + ", mac FROM " + t.sqlName() + " " + where
}

func (t ownTable) insertSQL() string {
	return "INSERT INTO " + t.sqlName() + " (" + strings.Join(t.columns, ", ") + ", mac) VALUES (" +
		strings.Repeat("?, ", len(t.columns)) + "?)"
}

func (t ownTable) updateSQL() string {
	return "UPDATE " + t.sqlName() + " SET " + strings.Join(t.columns[t.keys:], " = ?, ") +
		" = ?, mac = ? WHERE " + strings.Join(t.columns[:t.keys], " = ? AND ") + " = ?"
}

// ownRow is one row of a table of ours, its columns as string, int64 or nil.
type ownRow struct {
	values []any
	mac    string
}

func (r ownRow) text(i int) string { s, _ := r.values[i].(string); return s }

func (r ownRow) number(i int) int64 { n, _ := r.values[i].(int64); return n }

// ownScan receives the columns of a row of ours, whatever their types.
type ownScan struct{ columns []any }

// targets are made once for a query.
func (s *ownScan) targets(t ownTable) []any {
	s.columns = make([]any, len(t.columns)+1)
	into := make([]any, len(s.columns))
	for i := range s.columns {
		into[i] = &s.columns[i]
	}
	return into
}

// take judges the types of the columns and takes the MAC off them; a row of
// which every column is NULL is not there.
func (s *ownScan) take() scannedOwn {
	typed, found := true, false
	for _, v := range s.columns {
		switch v.(type) {
		case string, int64:
			found = true
		case nil:
		default:
			found, typed = true, false
		}
	}
	if !found {
		return scannedOwn{typed: true}
	}
	last := len(s.columns) - 1
	mac, isText := s.columns[last].(string)
	values := append(make([]any, 0, last), s.columns[:last]...)
	return scannedOwn{ownRow: ownRow{values: values, mac: mac}, typed: typed && isText}
}

// verified reports whether a row is authentic.
func (t ownTable) verified(m *macs, r ownRow) bool {
	return m.row(t.label(), r.values).equal(r.mac)
}

// errOwnRow is returned for a row of ours that is not authentic: whatever
// needed it is refused.
func (t ownTable) errOwnRow() error {
	return fmt.Errorf("%w (table %s)", refuse(ReasonOwnRow), t.name)
}

// query returns the verified rows that a condition selects.
func (t ownTable) query(ctx context.Context, q querier, m *macs, where string, args ...any) ([]ownRow, error) {
	rows, err := q.QueryContext(ctx, t.selectSQL(where), args...)
	if err != nil {
		return nil, classify(err)
	}
	var found []ownRow
	err = t.each(rows, func(r scannedOwn) error {
		if !r.typed || !r.exists() || !t.verified(m, r.ownRow) {
			return t.errOwnRow()
		}
		found = append(found, r.ownRow)
		return nil
	})
	return found, err
}

// each calls f with every row of a query and closes it.
func (t ownTable) each(rows *sql.Rows, f func(scannedOwn) error) error {
	defer rows.Close()
	var s ownScan
	into := s.targets(t)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return classify(err)
		}
		if err := f(s.take()); err != nil {
			return err
		}
	}
	return classify(rows.Err())
}

// setDigest identifies a set of rows: the exclusive or of their MACs. It
// binds which rows there are; that none is missing or replaced by an older
// one is what the authenticated counts beside it say (head.go).
type setDigest [sha256.Size]byte

// toggle adds a row's MAC to the set, or takes it out again.
func (d *setDigest) toggle(mac string) {
	var b [sha256.Size]byte
	if n, err := hex.Decode(b[:], []byte(mac[:min(len(mac), 2*len(b))])); err != nil || n != len(b) {
		return
	}
	for i := range d {
		d[i] ^= b[i]
	}
}

// merge joins two disjoint sets.
func (d *setDigest) merge(o setDigest) {
	for i := range d {
		d[i] ^= o[i]
	}
}

func (d setDigest) String() string { return hex.EncodeToString(d[:]) }

func parseSetDigest(s string) (d setDigest, ok bool) {
	n, err := hex.Decode(d[:], []byte(s[:min(len(s), 2*len(d))]))
	return d, err == nil && n == len(d) && len(s) == 2*len(d)
}
