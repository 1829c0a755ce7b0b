package store

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/core"
)

// fill makes n VERIFIED contracts with five events each, in one transaction
// and as they are in the end, so that a large history is made quickly.
func (r *rig) fill(n int) {
	r.t.Helper()
	r.must(r.write(r.ctx, "fill", func(t *tx) error {
		f, err := newFiller(t)
		for i := 0; i < n && err == nil; i++ {
			err = f.contract(i)
		}
		return err
	}))
}

// filler writes finished rows with prepared statements.
type filler struct {
	*tx
	contracts, events, notes, members *sql.Stmt
	sequence                          int64
}

func newFiller(t *tx) (f *filler, err error) {
	f = &filler{tx: t}
	for into, query := range map[**sql.Stmt]string{
		&f.contracts: "INSERT INTO contracts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		&f.events:    "INSERT INTO audit_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		&f.notes:     tableNotes.insertSQL(),
		&f.members:   tableMembers.insertSQL(),
	} {
		if *into, err = t.PrepareContext(t.ctx, query); err != nil {
			return nil, err
		}
	}
	return f, t.QueryRowContext(t.ctx, "SELECT ifnull(max(sequence), 0) FROM audit_events").Scan(&f.sequence)
}

// fillSteps are the events of a contract that was executed and verified.
var fillSteps = []struct {
	kind core.EventType
	to   core.State
}{{core.EventCreated, core.Preparing}, {core.EventTransition, core.Prepared}, {core.EventConfirmed, core.Prepared},
	{core.EventTransition, core.Executing}, {core.EventTransition, core.Verified}}

func (f *filler) contract(i int) error {
	name := fmt.Sprint(i)
	c := testContract(fmt.Sprintf("aliasdescr-%08x", uint32(i*2654435761)), "fill-"+name, name, f.now, testValidity)
	c.ProtectedSnapshot.Ciphertext = []byte(strings.Repeat("s", 120))
	c.ProtectedIntent.Ciphertext = []byte(strings.Repeat("i", 180))
	digest, now := testDigest("confirmation", name), f.now
	c.ConfirmationDigest, c.ConfirmedAt, c.VerifiedTargetFingerprint = &digest, &now, &digest
	c.State, c.StateVersion = core.Verified, int64(len(fillSteps)-1)
	payload, mac, err := f.seal(c)
	if err != nil {
		return err
	}
	_, err = f.contracts.Exec(c.ID, c.OperationID, c.IdempotencyKey.String(), c.TargetIdentityDigest.String(),
		string(c.State), c.StateVersion, payload, mac)
	if err != nil {
		return err
	}
	m := member{position: f.sequence + 1, version: c.StateVersion, recordMAC: mac, updatedAt: f.now}
	if err := f.chain(c); err != nil {
		return err
	}
	f.touched = true
	f.head.contracts++
	f.head.states[c.State]++
	return f.row(f.members, tableMembers, m.values(c), &f.head.members)
}

func (f *filler) chain(c core.Contract) error {
	previous := sql.NullString{}
	for version, s := range fillSteps {
		f.sequence++
		f.head.events++
		e := eventRow{contractID: c.ID, kind: string(s.kind), previous: previous, current: string(s.to),
			version: int64(version), recordedAt: core.FormatInstant(f.now)}
		m, _ := f.macs.event(e)
		if _, err := f.events.Exec(f.sequence, e.contractID, e.kind, e.previous, e.current, e.version,
			e.recordedAt, string(m.finish())); err != nil {
			return err
		}
		f.head.records.rows++
		note := []any{f.sequence, c.ID, e.version, "jo", "", "", "", "", int64(0), "", nil, "", "", int64(0)}
		if err := f.row(f.notes, tableNotes, note, &f.head.records.digest); err != nil {
			return err
		}
		previous = sql.NullString{String: e.current, Valid: true}
	}
	return nil
}

func (f *filler) row(into *sql.Stmt, t ownTable, values []any, set *setDigest) error {
	mac := string(f.macs.row(t.label(), values).finish())
	set.toggle(mac)
	_, err := into.Exec(append(values, mac)...)
	return err
}

// bareRead reads the same rows as the verified scan and computes the same
// MACs, on one connection: the cost below which no verification can be.
func bareRead(b *testing.B, r *rig) {
	db := layer{}.connect(r.opts.Path, readerOptions(), 1)
	defer db.Close()
	m := newMACs(r.opts.StoreID, r.opts.IntegrityKey)
	query := func(text string) *sql.Rows {
		rows, err := db.Query(text)
		if err != nil {
			b.Fatal(err)
		}
		return rows
	}
	each := func(rows *sql.Rows, into []any, row func()) {
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				b.Fatal(err)
			}
			row()
		}
	}
	var c contractRow
	each(query("SELECT "+contractColumns+" FROM contracts"), c.into(), func() {
		m.record(c.payload.([]byte)).finish()
	})
	var e eventScan
	each(query("SELECT "+eventColumns+" FROM audit_events"), e.into(), func() {
		m, _ := m.event(e.row())
		m.finish()
	})
	for _, t := range append(logTables(), tableMembers) {
		var s ownScan
		each(query(t.selectSQL("")), s.targets(t), func() {
			m.row(t.label(), s.columns[:len(s.columns)-1]).finish()
		})
	}
}

// BenchmarkScan compares the verified start-up scan of 10,000 contracts with
// five events each with the bare cost of reading the same rows and computing
// the same MACs in Go (x-bare; the budget is 2).
func BenchmarkScan(b *testing.B) {
	r := newRig(b, nil)
	r.fill(10_000)
	r.must(r.Store.Close())
	var bare, scan time.Duration
	for b.Loop() {
		start := time.Now()
		bareRead(b, r)
		bare += time.Since(start)
		start = time.Now()
		if f, err := newStore(r.opts).inspect(r.ctx, r.opts, false); err != nil || f.contracts != 10_000 {
			b.Fatal(f.contracts, err)
		}
		scan += time.Since(start)
	}
	b.ReportMetric(float64(scan)/float64(bare), "x-bare")
	b.ReportMetric(float64(scan.Microseconds())/float64(b.N)/10_000, "µs/contract")
}

// BenchmarkTransition measures the transitions of one contract in a store of
// 100 and of 100,000 contracts: syncs per transition (the budget is one, plus
// what checkpoints cost now and then), and how much slower the large store is.
func BenchmarkTransition(b *testing.B) {
	small, large := transitionRig(b, 100), transitionRig(b, 100_000)
	var spent [2]time.Duration
	var transitions int
	useWatchedVFS(b)
	serial := 0
	for b.Loop() {
		for i, r := range []*rig{small, large} {
			serial++
			start := time.Now()
			transitions += r.oneLife(fmt.Sprintf("life-%d", serial))
			spent[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(watched.syncs.Load())/float64(transitions), "syncs/transition")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-100")
	b.ReportMetric(float64((spent[0]+spent[1]).Microseconds())/float64(transitions), "µs/transition")
}

func transitionRig(b *testing.B, n int) *rig {
	r := newRig(b, func(o *Options) { o.layer.vfs = useWatchedVFS(b) })
	r.fill(n)
	r.reopen() // what was written in bulk is in the file now
	return r
}

// oneLife takes a contract from creation to VERIFIED and returns how many
// durable commits that was: create, confirm, plan, acquire, seal.
func (r *rig) oneLife(id string) int {
	r.seal(r.acquire(r.confirm(r.create(id, id, id))))
	return 5
}
