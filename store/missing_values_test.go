package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/core"
)

// without makes a value NULL in a closed store, as only somebody can who does
// not go through SQLite's own checks, and returns the error of opening it.
func (r *rig) without(table, column, where string) error {
	r.t.Helper()
	r.must(r.Store.Close())
	var text string
	run := func(statements ...string) {
		r.t.Helper()
		db := layer{}.connect(r.opts.Path, map[string][]string{"mode": {"rw"}}, 1)
		for _, s := range append([]string{"PRAGMA writable_schema = 1"}, statements...) {
			_, err := db.Exec(s)
			r.must(err)
		}
		r.must(db.QueryRow("SELECT sql FROM sqlite_schema WHERE name = ?", table).Scan(&text))
		r.must(db.Close())
	}
	run()
	as := func(text string) string {
		return fmt.Sprintf("UPDATE sqlite_schema SET sql = '%s' WHERE name = '%s'", strings.ReplaceAll(text, "'", "''"), table)
	}
	strict := text
	run(as(strings.Replace(strict, column+" TEXT NOT NULL", column+" TEXT", 1)))
	run(fmt.Sprintf("UPDATE %s SET %s = NULL WHERE %s", table, column, where))
	run(as(strict))
	return r.tamper()
}

// A value that is missing is a flaw of its record, like a value that is wrong:
// it quarantines that record, or refuses the store for what the row is, and
// never because SQLite noticed it too (design section 4, rule 13).
func TestMissingValueIsAFlawOfItsRecord(t *testing.T) {
	t.Parallel()
	const first = "contract_id = 'a' AND state_version = 1"
	for _, c := range []struct {
		table, column, where string
		record               Reason // quarantines a
		store                Reason // or refuses the store
	}{
		{"audit_events", "recorded_at", first, ReasonAuditTimestamp, ""},
		{"audit_events", "mac", first, ReasonAuditMAC, ""},
		{"audit_events", "event_type", first, ReasonAuditMAC, ""},
		{"audit_events", "current_state", first, ReasonAuditMAC, ""},
		{"contracts", "mac", "contract_id = 'a'", ReasonRecordMAC, ""},
		{"contracts", "operation_id", "contract_id = 'a'", ReasonIndexMismatch, ""},
		{"contracts", "state", "contract_id = 'a'", ReasonIndexMismatch, ""},
		{"cs_members", "record_mac", "contract_id = 'a'", ReasonOwnRow, ""},
		{"cs_notes", "actor", first, ReasonNote, ""},
		{"cs_notes", "mac", first, ReasonNote, ""},
		{"cs_conclusions", "authority_id", first, ReasonOwnRow, ""},
		{"cs_loads", "claim", "contract_id = 'a'", ReasonOwnRow, ""},
		{"cs_looks", "finding", "contract_id = 'a'", ReasonOwnRow, ""},
		{"cs_advances", "step", "contract_id = 'a'", "", ReasonOwnRow},
		{"audit_events", "contract_id", first, "", ReasonOrphan},
	} {
		t.Run(c.table+"."+c.column, func(t *testing.T) {
			r := newRig(t, nil)
			a := r.seal(r.acquire(r.confirm(r.create("a", "t-a", "i-a"))))
			r.must(r.RecordLook(r.ctx, core.Look{ContractID: "a", StateVersion: a.StateVersion, Found: core.LookedSame, At: testStart}))
			r.must(r.RecordLoad(r.ctx, core.LoadRecord{ContractID: "a", Direction: core.Forward, Claim: core.LoadAsked}))
			b := r.confirm(r.create("b", "t-b", "i-b"))
			err := r.without(c.table, c.column, c.where)
			if c.store != "" {
				if ReasonOf(err) != c.store || !errors.Is(err, ErrRefused) {
					t.Fatalf("got %v, want the store refused as %s", err, c.store)
				}
				return
			}
			r.must(err)
			if got := r.quarantined(); len(got) != 1 || got["a"] != string(c.record) {
				t.Fatalf("quarantined %v, want a as %s", got, c.record)
			}
			r.nothingActsOn("a")
			r.acquire(b)
		})
	}
}

// A quarantined record explains what an index of the contracts lacks, and
// nothing about any other index: that one would hide a row.
func TestIndexThatHidesARowIsNotExplained(t *testing.T) {
	f := findings{indexes: []string{"cs_contracts_key"}}
	f.flaws = []foundFlaw{{rowID: 3}}
	for line, want := range map[string]bool{
		"row 3 missing from index cs_contracts_key":              true,
		"wrong # of entries in index cs_contracts_key":           true,
		"row 4 missing from index cs_contracts_key":              false,
		"row 3 missing from index cs_advances_attributed":        false,
		"wrong # of entries in index cs_advances_attributed":     false,
		"NULL value in cs_notes.mac":                             true,
		"NULL value in target_reservations.contract_id":          false,
		"non-unique entry in index sqlite_autoindex_contracts_1": false,
		"Tree 5 page 5 cell 0: Rowid 3 out of order":             false,
	} {
		if got := f.explains(line); got != want {
			t.Errorf("%q is explained: %v", line, got)
		}
	}
	f.flaws = nil
	if f.explains("wrong # of entries in index cs_contracts_key") {
		t.Error("explained without a flaw")
	}
}

// SQLite ends a check after so many lines. What it did not come to is not
// known, so the store is refused.
func TestTooManyLinesToTell(t *testing.T) {
	r := newRig(t, nil)
	r.fill(mostLines)
	r.create("a", "t-a", "i-a")
	if err := r.without("audit_events", "mac", "state_version = 0"); ReasonOf(err) != ReasonIntegrity {
		t.Fatalf("got %v", err)
	}
}

// Somebody without the key cannot make room for a removal by adding a row
// that is not authentic: what decides about more than one contract is counted
// and bound by itself (decision 12).
func TestInventedRowHidesNoRemoval(t *testing.T) {
	t.Parallel()
	const invented = "INSERT INTO cs_conclusions SELECT sequence + 100, 'zz', state_version, kind, authority_id, algorithm, " +
		"evidence, outcome, issued_at, mac FROM cs_conclusions LIMIT 1"
	for _, removal := range []string{"DELETE FROM cs_operators", "DELETE FROM cs_consumed", "DELETE FROM cs_receipts",
		"DELETE FROM cs_advances WHERE step = 'attributed'"} {
		t.Run(removal, func(t *testing.T) {
			r := newRig(t, nil)
			a := r.confirm(r.create("a", "t-a", "i-a"))
			r.must(r.PinOperator(r.ctx, "jo", testDigest("key")))
			_, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion)
			r.must(err)
			r.reopen()
			r.must(r.SettleAnchor(r.ctx, 1))
			if err := r.tamper(removal, invented); ReasonOf(err) != ReasonHead {
				t.Fatalf("got %v; quarantined %v", err, r.quarantined())
			}
		})
	}
	r := newRig(t, nil)
	r.create("a", "t-a", "i-a")
	r.must(r.tamper("UPDATE cs_notes SET sequence = sequence + 100 WHERE contract_id = 'a' AND state_version = 1"))
	if got := r.quarantined(); len(got) != 1 || got["a"] != string(ReasonNote) {
		t.Fatalf("a note that was moved away: quarantined %v", got)
	}
}
