package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"countersign/core"
)

// recorder is a driver in front of SQLite's that keeps every statement.
type recorder struct {
	mu         sync.Mutex
	statements map[string]bool
}

const recordingDriver = "sqlite-recording"

var recording = &recorder{statements: map[string]bool{}}

var registerRecorder = sync.OnceFunc(func() { sql.Register(recordingDriver, recording) })

func (r *recorder) Open(name string) (driver.Conn, error) {
	c, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, err
	}
	return &recordingConn{c.(fullConn)}, nil
}

func (r *recorder) keep(query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements[query] = true
}

type fullConn interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
}

type recordingConn struct{ fullConn }

func (c *recordingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	recording.keep(query)
	return c.fullConn.QueryContext(ctx, query, args)
}

func (c *recordingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	recording.keep(query)
	return c.fullConn.ExecContext(ctx, query, args)
}

// everything runs every operation of a store once.
func (r *rig) everything() {
	r.t.Helper()
	ctx := r.ctx
	a := r.rollBack(r.seal(r.acquire(r.confirm(r.create("c-a", "a", "a")))))
	a, err := r.SealRolledBack(ctx, a.ID, a.StateVersion, a.LifecycleLocator, core.Note{})
	r.must(err)
	b := r.move(r.acquire(r.confirm(r.create("c-b", "b", "b"))), core.Reconciliation)
	r.resolve(b, core.ConfirmedApplied)
	r.move(r.acquire(r.confirm(r.create("c-c", "c", "c"))), core.Failed)
	d := r.create("c-d", "d", "d")
	_, err = r.Decline(ctx, d.ID, r.approval(core.ApproveDecline, d), acceptAll{})
	r.must(err)
	e := r.create("c-e", "e", "e")
	r.acquire(r.confirm(r.create("c-f", "f", "f")))
	_, err = r.RecoverInterrupted(ctx)
	r.must(err)
	r.must(r.RecordLoad(ctx, core.LoadRecord{ContractID: a.ID, Direction: core.Forward, Claim: core.LoadAsked}))
	r.must(r.RecordLook(ctx, core.Look{ContractID: a.ID, StateVersion: a.StateVersion, Found: core.LookedSame, At: testStart}))
	r.must(r.PinOperator(ctx, "jo", testDigest("key")))
	h, err := r.Health(ctx)
	r.must(err)
	r.must(r.SettleAnchor(ctx, h.Mark))
	r.clock.add(testValidity)
	_, err = r.ExpirePrepared(ctx, e.ID, e.StateVersion)
	r.must(err)
	r.readEverything(a)
}

func (r *rig) readEverything(c core.Contract) {
	r.t.Helper()
	ctx := r.ctx
	_, errLoad := r.Load(ctx, c.ID)
	_, errTimeline := r.Timeline(ctx, c.ID)
	_, errAttributed := r.Attributed(ctx, c.ID)
	_, errFind := r.FindByIdempotencyKey(ctx, c.IdempotencyKey)
	_, errHistory := r.FindHistoricalByIdempotencyKey(ctx, c.IdempotencyKey)
	_, errLoads := r.Loads(ctx, c.ID)
	_, errCounts := r.Counts(ctx)
	_, _, errAmbiguous := r.LastAmbiguous(ctx)
	_, errPin := r.Pin(ctx, "jo")
	_, errEnrolled := r.Enrolled(ctx)
	_, errReceipt := r.FindReceipt(ctx, r.creation(c).Claim)
	r.must(errors.Join(errLoad, errTimeline, errAttributed, errFind, errHistory, errLoads, errCounts, errAmbiguous, errPin, errEnrolled, errReceipt))
	for _, list := range []core.ListName{core.ListActive, core.ListNeedsYou, core.ListHistory, core.ListOldest} {
		page, err := r.List(ctx, core.ListQuery{List: list, Limit: 1})
		r.must(err)
		_, err = r.List(ctx, core.ListQuery{List: list, Limit: 1, After: page.Next})
		r.must(err)
	}
}

// No statement of any operation scans a table that grows with history
// (design lesson 9). The plans are those of SQLite for every statement that
// was really run.
func TestNoStatementScansHistory(t *testing.T) {
	registerRecorder()
	r := newRig(t, nil)
	r.must(r.Store.Close())
	opened, err := Open(r.ctx, r.opts)
	r.must(err)
	r.must(opened.Close())
	// What opening runs is the verification, which reads everything on
	// purpose: only what comes after it is recorded.
	r.opts.layer.driver = recordingDriver
	r.Store, err = Open(r.ctx, r.opts)
	r.must(err)
	recording.mu.Lock()
	clear(recording.statements)
	recording.mu.Unlock()
	r.everything()

	explained := 0
	for query := range recording.statements {
		if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "UPDATE") && !strings.HasPrefix(query, "DELETE") {
			continue
		}
		explained++
		for _, row := range rawRows(t, r.opts.Path, "EXPLAIN QUERY PLAN "+strings.ReplaceAll(query, "?", "'1'")) {
			if step := fmt.Sprint(row[3]); scans(query, step) {
				t.Errorf("%s\n  %s", step, query)
			}
		}
	}
	if explained < 25 {
		t.Fatalf("only %d statements were recorded", explained)
	}
	t.Logf("%d statements, none scans history", explained)
}

// scans reports whether a step of a query's plan reads a whole table or index
// that grows with history. Walking one from an end until a LIMIT is not that,
// though SQLite calls it a scan; nor is sorting the attempts at one key.
func scans(query, step string) bool {
	for _, small := range []string{"target_reservations", "cs_head", "cs_operators", "cs_advances_attributed", "CONSTANT ROW",
		"(subquery"} {
		if strings.Contains(step, small) {
			return false
		}
	}
	switch {
	case strings.HasPrefix(step, "SCAN"):
		return !strings.Contains(query, "LIMIT")
	case strings.Contains(step, "USE TEMP B-TREE"):
		return !strings.Contains(query, "WHERE contracts.idempotency_key = ?")
	}
	return false
}
