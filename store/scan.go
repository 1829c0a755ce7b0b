package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"countersign/core"
)

// scanner verifies every row of a store in one pass that streams: its memory
// does not grow with the number of contracts (design section 10). Each
// worker takes a range of contracts in the order in which they are in the
// file, which is nearly the order of their events, on its own connection; all
// of them see the same snapshot.
type scanner struct {
	macs     func() *macs
	schema   int
	own      bool
	progress func(done, total int)

	mu    sync.Mutex
	done  int
	total int
}

// tally is what was found in one range; ranges are merged.
type tally struct {
	contracts, events, reservations int64
	authentic                       int64 // MACs that held
	missing                         int64 // events that authentic records should have besides
	behind                          int64 // records that our own tables do not know yet
	flaws                           []foundFlaw
	members, memberEvents           int64
	memberSet                       setDigest
	memberUnknown                   bool // a member row is bad and its record too
	states                          map[core.State]int64
	logs, records                   logTally
}

type foundFlaw struct {
	Flaw
	claims
	rowID     int64
	claimedID string // what an authentic payload calls itself
}

func (a *tally) merge(b tally) {
	a.contracts += b.contracts
	a.events += b.events
	a.reservations += b.reservations
	a.authentic += b.authentic
	a.missing += b.missing
	a.behind += b.behind
	a.flaws = append(a.flaws, b.flaws...)
	a.members += b.members
	a.memberEvents += b.memberEvents
	a.memberSet.merge(b.memberSet)
	a.memberUnknown = a.memberUnknown || b.memberUnknown
	for s, n := range b.states {
		a.states[s] += n
	}
	a.logs.merge(b.logs)
	a.records.merge(b.records)
}

// run scans the whole store on as many connections as there are processors,
// at most four. Every connection is in a transaction on the same snapshot.
func (sc *scanner) run(ctx context.Context, conns []*sql.Conn) (tally, error) {
	bounds, err := sc.bounds(ctx, conns[0], len(conns))
	if err != nil {
		return tally{}, err
	}
	parts := make([]tally, len(conns))
	failures := make([]error, len(conns))
	var wait sync.WaitGroup
	for i, conn := range conns {
		wait.Add(1)
		go func() {
			defer wait.Done()
			w := &worker{scanner: sc, macs: sc.macs(), tally: tally{states: map[core.State]int64{}}}
			failures[i] = w.scan(ctx, conn, bounds[i], bounds[i+1])
			parts[i] = w.tally
		}()
	}
	wait.Wait()
	total := tally{states: map[core.State]int64{}}
	for _, part := range parts {
		total.merge(part)
	}
	sc.report(0)
	return total, errors.Join(failures...)
}

// bounds divides the contracts into n ranges of row ids: range i is
// (bounds[i], bounds[i+1]].
func (sc *scanner) bounds(ctx context.Context, q querier, n int) ([]int64, error) {
	var highest int64
	err := q.QueryRowContext(ctx, "SELECT count(*), ifnull(max(rowid), 0) FROM contracts").Scan(&sc.total, &highest)
	if err != nil {
		return nil, classify(err)
	}
	bounds := make([]int64, n+1)
	bounds[0] = math.MinInt64
	for i := 1; i < n; i++ {
		bounds[i] = highest / int64(n) * int64(i)
	}
	bounds[n] = math.MaxInt64
	return bounds, nil
}

// report counts n more contracts as done.
func (sc *scanner) report(n int) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.done += n
	if sc.progress != nil {
		sc.progress(min(sc.done, sc.total), sc.total)
	}
}

// snapshot opens n connections that read the same state of the database. A
// change of any contract adds an audit event, so equal sequence numbers mean
// equal contracts; where another console is at work, it is tried again.
func snapshot(ctx context.Context, db *sql.DB, n int) ([]*sql.Conn, error) {
	for attempt := 0; ; attempt++ {
		if attempt == 3 {
			n = 2 // one to scan, one to check the indexes
		}
		conns, same, err := beginAll(ctx, db, n)
		if err == nil && same {
			return conns, nil
		}
		closeAll(conns)
		if err != nil {
			return nil, err
		}
	}
}

func beginAll(ctx context.Context, db *sql.DB, n int) (conns []*sql.Conn, same bool, err error) {
	same = true
	var first string
	for range n {
		conn, err := db.Conn(ctx)
		if err != nil {
			return conns, false, err
		}
		conns = append(conns, conn)
		if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
			return conns, false, err
		}
		state, err := stateOf(ctx, conn)
		if err != nil {
			return conns, false, err
		}
		if len(conns) == 1 {
			first = state
		}
		same = same && state == first
	}
	return conns, same, nil
}

// stateOf names the state of the database that a connection reads.
func stateOf(ctx context.Context, conn *sql.Conn) (string, error) {
	objects, err := schemaObjects(ctx, conn)
	if err != nil {
		return "", err
	}
	var sequence, rows any
	if _, exists := find(objects, "table", "sqlite_sequence"); exists {
		err = conn.QueryRowContext(ctx, "SELECT max(seq) FROM sqlite_sequence").Scan(&sequence)
	}
	if err == nil && hasOwn(objects) {
		err = conn.QueryRowContext(ctx, "SELECT max(mac) FROM cs_head").Scan(&rows)
	}
	return fmt.Sprint(sequence, rows), err
}

func closeAll(conns []*sql.Conn) {
	for _, c := range conns {
		c.ExecContext(context.Background(), "ROLLBACK")
		c.Close()
	}
}

func scanWorkers() int { return min(max(runtime.GOMAXPROCS(0), 1), 4) }
