package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// findings are the result of a complete verification that changed nothing.
type findings struct {
	schema   int  // 6, 7 or 8; 0 for a blank file
	blank    bool // no tables at all: an empty store
	own      bool // our tables are in the file
	sequence int64
	head     head
	indexes  []string // of the table of contracts
	tally
}

// inspect verifies a store completely without changing its file: metadata
// first, then the structure, then every row. An error that is a Refusal
// refuses the store; flaws of single records are in the findings.
func (s *Store) inspect(ctx context.Context, o Options, thorough bool) (findings, error) {
	db := o.layer.connect(o.Path, inspectOptions("ro"), scanWorkers()+1)
	defer db.Close()
	f, err := s.inspectWith(ctx, db, o, thorough)
	if !needsRecovery(err) {
		return f, damaged(err)
	}
	// A transaction of a process that died must be rolled back before the
	// file can be read at all: SQLite does that when it may write.
	rw := o.layer.connect(o.Path, inspectOptions("rw"), scanWorkers()+1)
	defer rw.Close()
	f, err = s.inspectWith(ctx, rw, o, thorough)
	return f, damaged(err)
}

// inspectOptions: a connection that waited for a lock would keep another
// program from what the connections beside it hold, so none waits long, not
// even while it is opened.
func inspectOptions(mode string) url.Values {
	v := readOnly(briefly)
	v.Set("mode", mode)
	return v
}

// needsRecovery reports whether reading failed for want of writing.
func needsRecovery(err error) bool {
	var e *sqlite.Error
	if errors.Is(err, ErrReadOnly) {
		return true
	}
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_READONLY
}

// damaged makes a damaged file a refusal.
func damaged(err error) error {
	err = classify(err)
	if errors.Is(err, ErrDamaged) {
		return refuse(ReasonNotDatabase)
	}
	return err
}

func (s *Store) inspectWith(ctx context.Context, db *sql.DB, o Options, thorough bool) (f findings, err error) {
	var conns []*sql.Conn
	err = s.patiently(ctx, func(ctx context.Context) (err error) {
		conns, err = snapshot(ctx, db, scanWorkers()+1)
		return err
	})
	if err != nil {
		return f, err
	}
	defer closeAll(conns)
	q := conns[0]
	objects, err := schemaObjects(ctx, q)
	if err != nil {
		return f, err
	}
	if f.blank = len(objects) == 0; f.blank {
		return f, nil
	}
	if f.schema, err = checkMetadata(ctx, q, objects, s.storeID); err != nil {
		return f, err
	}
	if f.own = hasOwn(objects); f.own {
		if err := checkOwnVersion(ctx, q); err != nil {
			return f, err
		}
	}
	if err := checkStructure(ctx, q, objects, f.schema); err != nil {
		return f, err
	}
	for _, o := range objects {
		if o.kind == "index" && o.table == "contracts" {
			f.indexes = append(f.indexes, o.name)
		}
	}
	sc := &scanner{macs: s.newMACs, schema: f.schema, own: f.own, progress: o.Progress}
	indexes := make(chan indexReport, 1)
	go func() { indexes <- checkIndexes(ctx, conns[len(conns)-1], f.own, thorough) }()
	f.tally, err = sc.run(ctx, conns[:len(conns)-1])
	report := <-indexes
	if err := errors.Join(err, report.err); err != nil {
		return f, err
	}
	return f, s.judge(ctx, q, &f, sc.total, report.lines)
}

// judge decides what refuses the store as a whole, in the order in which a
// reason explains the most.
func (s *Store) judge(ctx context.Context, q querier, f *findings, total int, indexes []string) error {
	if len(f.flaws) > 0 && f.authentic == 0 {
		return &Refusal{ReasonRecordMAC, "nothing in it is authentic under this key; check the configured key"}
	}
	if len(f.flaws) > 0 && f.schema < SchemaVersion {
		return refuse(f.flaws[0].Reason)
	}
	if f.contracts != int64(total) || slices.ContainsFunc(indexes, func(line string) bool { return !f.explains(line) }) {
		return refuse(ReasonIntegrity)
	}
	if err := f.checkStrays(ctx, q, s.newMACs()); err != nil {
		return err
	}
	if err := f.checkSequence(ctx, q); err != nil {
		return err
	}
	m := s.newMACs()
	if err := checkAnchorRows(ctx, q, m); err != nil {
		return err
	}
	if !f.own {
		return nil
	}
	return f.checkOwnRows(ctx, q, m)
}

// checkSequence: no legal writer skips a sequence number, so as many events
// must exist as were ever numbered, save those that quarantined records lack
// (design lesson 15).
func (f *findings) checkSequence(ctx context.Context, q querier) error {
	var highest int64
	err := q.QueryRowContext(ctx, "SELECT ifnull(max(sequence), 0), (SELECT ifnull(max(seq), 0) "+
		"FROM sqlite_sequence WHERE name = 'audit_events') FROM audit_events").Scan(&highest, &f.sequence)
	if err != nil {
		return classify(err)
	}
	renumbered := slices.ContainsFunc(f.flaws, func(flaw foundFlaw) bool { return flaw.Reason == ReasonAuditSequence })
	if lost := f.sequence - f.events; !renumbered && (highest > f.sequence || lost > f.missing) {
		return refuse(ReasonSequenceGap)
	}
	return nil
}

// indexReport is what SQLite's integrity check complains about.
type indexReport struct {
	lines []string
	err   error
}

// mostLines is after how many lines SQLite ends a check.
const mostLines = 100

// checkIndexes lets SQLite compare indexes with tables, beside the scan: a
// damaged index would let a second contract through, or hide the mark. Events
// the scan itself reads through their index; of them and of our tables without
// an index only the tree is checked, because reading in order does not notice
// a row that can no longer be found. A thorough check looks at every page of
// the file.
func checkIndexes(ctx context.Context, q querier, own, thorough bool) (r indexReport) {
	checks := []string{"integrity_check(metadata)", "integrity_check(contracts)", "integrity_check(target_reservations)",
		"integrity_check(anchor_state)", "integrity_check(rate_cooldowns)", "quick_check(audit_events)"}
	if own {
		indexed := indexedTables()
		for _, t := range append(logTables(), tableHead, tableMembers) {
			check := "quick_check("
			if slices.Contains(indexed, t.sqlName()) {
				check = "integrity_check("
			}
			checks = append(checks, check+t.sqlName()+")")
		}
	}
	if thorough {
		checks = []string{fmt.Sprintf("integrity_check(%d)", mostLines)}
	}
	for _, check := range checks {
		rows, err := q.QueryContext(ctx, "PRAGMA "+check)
		if err != nil {
			return indexReport{err: classify(err)}
		}
		before := len(r.lines)
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				r.err = classify(err)
			}
			if line != "ok" {
				r.lines = append(r.lines, line)
			}
		}
		if len(r.lines) >= before+mostLines {
			r.lines = append(r.lines, "what comes after these is not known")
		}
		if err := errors.Join(r.err, classify(rows.Err()), rows.Close()); err != nil {
			return indexReport{err: err}
		}
	}
	return r
}

// explains reports whether a line of SQLite's integrity check says nothing that
// the scan does not see for itself: a missing value in a row that it verifies
// column by column, or an index that does not fit a quarantined contract. Of
// an index of another table nothing is explained: it would hide what it lacks.
func (f *findings) explains(line string) bool {
	if column, found := strings.CutPrefix(line, "NULL value in "); found {
		table, _, _ := strings.Cut(column, ".")
		return table == "contracts" || table == "audit_events" || strings.HasPrefix(table, ownPrefix)
	}
	if index, found := strings.CutPrefix(line, "wrong # of entries in index "); found {
		return len(f.flaws) > 0 && slices.Contains(f.indexes, index)
	}
	rest, isRow := strings.CutPrefix(line, "row ")
	number, index, missing := strings.Cut(rest, " missing from index ")
	rowID, err := strconv.ParseInt(number, 10, 64)
	return isRow && missing && err == nil && slices.Contains(f.indexes, index) &&
		slices.ContainsFunc(f.flaws, func(flaw foundFlaw) bool { return flaw.rowID == rowID })
}
