package store

import (
	"errors"
	"strings"
	"testing"

	"countersign/core"
)

// tamper changes the closed store's file by SQL, as somebody without the key
// could, and returns the error of opening it again.
func (r *rig) tamper(statements ...string) error {
	r.t.Helper()
	r.must(r.Store.Close())
	options := writerOptions()
	options["_pragma"] = []string{busyTimeout, "foreign_keys(0)"}
	db := layer{}.connect(r.opts.Path, options, 1)
	for _, statement := range statements {
		_, err := db.Exec(statement)
		r.must(err)
	}
	r.must(db.Close())
	s, err := Open(r.ctx, r.opts)
	if err != nil {
		r.Store = newStore(r.opts) // nothing is open
		return err
	}
	r.Store = s
	return nil
}

// quarantined returns the classes of the quarantined records by id.
func (r *rig) quarantined() map[string]string {
	r.t.Helper()
	list, err := r.Quarantined(r.ctx)
	r.must(err)
	found := map[string]string{}
	for _, q := range list {
		found[q.ContractID] = q.Reason
	}
	return found
}

// One flawed record of each kind: the console starts, lists it with its
// class, acts on nothing of it, repairs nothing, and everything else works.
func TestOneFlawedRecordIsQuarantined(t *testing.T) {
	for name, c := range map[string]struct {
		statement string
		want      Reason
	}{
		"payload":       {"UPDATE contracts SET payload = CAST(replace(CAST(payload AS TEXT), 'PATCH', 'PATCX') AS BLOB) WHERE contract_id = 'a'", ReasonRecordMAC},
		"index state":   {"UPDATE contracts SET state = 'failed' WHERE contract_id = 'a'", ReasonIndexMismatch},
		"index key":     {"UPDATE contracts SET idempotency_key = '00' WHERE contract_id = 'a'", ReasonIndexMismatch},
		"event time":    {"UPDATE audit_events SET recorded_at = '2026-09-05T11:00:00+00:00' WHERE contract_id = 'a' AND state_version = 1", ReasonAuditMAC},
		"event lost":    {"DELETE FROM audit_events WHERE contract_id = 'a' AND state_version = 3", ReasonAuditIncomplete},
		"reservation":   {"DELETE FROM target_reservations WHERE contract_id = 'a'", ReasonReservation},
		"note":          {"UPDATE cs_notes SET actor = 'mika' WHERE contract_id = 'a' AND state_version = 1", ReasonNote},
		"place":         {"UPDATE cs_members SET updated_at = '2026-09-05T11:00:00+00:00' WHERE contract_id = 'a'", ReasonOwnRow},
		"conclusion":    {"UPDATE cs_conclusions SET authority_id = 'mika' WHERE contract_id = 'a'", ReasonOwnRow},
		"record itself": {"DELETE FROM contracts WHERE contract_id = 'a'; DELETE FROM audit_events WHERE contract_id = 'a'; DELETE FROM target_reservations WHERE contract_id = 'a'; DELETE FROM cs_notes WHERE contract_id = 'a'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.acquire(r.confirm(r.create("a", "t-a", "i-a")))
			b := r.confirm(r.create("b", "t-b", "i-b"))
			err := r.tamper(strings.Split(c.statement, "; ")...)
			if c.want == "" { // a hole in the numbers and in the head refuses the store
				if !errors.Is(err, ErrRefused) {
					t.Fatalf("got %v", err)
				}
				return
			}
			r.must(err)
			if got := r.quarantined(); len(got) != 1 || got["a"] != string(c.want) {
				t.Fatalf("quarantined %v, want a as %s", got, c.want)
			}
			r.nothingActsOn("a")
			// The rest works: what nobody can conclude holds nobody up, once
			// it can no longer be writing.
			r.settle = core.MinimumSettle
			if _, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion); !errors.Is(err, core.ErrSettling) {
				t.Errorf("right after the discovery: %v", err)
			}
			r.clock.add(core.MinimumSettle)
			r.acquire(b)
			moved, err := r.RecoverInterrupted(r.ctx)
			r.must(err)
			if len(moved) != 1 || moved[0].ID != "b" {
				t.Errorf("moved %v", moved)
			}
			r.reopen()
			if got := r.quarantined(); got["a"] != string(c.want) {
				t.Errorf("after work and a restart: %v", got)
			}
			if n := r.count("SELECT count(*) FROM cs_sightings"); n != 1 {
				t.Errorf("%d sightings", n)
			}
		})
	}
}

// nothingActsOn tries every operation on a quarantined contract.
func (r *rig) nothingActsOn(id string) {
	r.t.Helper()
	ctx := r.ctx
	fake := testContract(id, "t-"+id, "i-"+id, r.clock.Now(), testValidity)
	_, errLoad := r.Load(ctx, id)
	_, errTimeline := r.Timeline(ctx, id)
	_, errMove := r.Transition(ctx, id, 3, core.Reconciliation, core.Note{})
	_, errSeal := r.SealVerified(ctx, id, 3, testDigest("x"), 3, core.Note{})
	_, errPlan := r.PlanAcquisition(ctx, id, 2)
	_, errResolve := r.Resolve(ctx, id, r.evidence(fake, core.ConfirmedNotApplied), acceptAll{})
	_, errDecline := r.Decline(ctx, id, r.approval(core.ApproveDecline, fake), acceptAll{})
	_, errExpire := r.ExpirePrepared(ctx, id, 1)
	errLoadRecord := r.RecordLoad(ctx, core.LoadRecord{ContractID: id})
	_, errFind := r.FindByIdempotencyKey(ctx, fake.IdempotencyKey)
	_, errHistory := r.FindHistoricalByIdempotencyKey(ctx, fake.IdempotencyKey)
	// A new contract for the key or the target it claims would act on it too.
	fake.ID, fake.OperationID = id+"-again", "op-"+id+"-again"
	_, errAgain := r.AuthorizeAndCreate(ctx, r.creation(fake))
	for what, err := range map[string]error{"load": errLoad, "timeline": errTimeline, "transition": errMove,
		"seal": errSeal, "plan": errPlan, "resolve": errResolve, "decline": errDecline, "expire": errExpire,
		"load record": errLoadRecord, "find": errFind, "history": errHistory, "create again": errAgain} {
		if !errors.Is(err, core.ErrQuarantined) {
			r.t.Errorf("%s: %v", what, err)
		}
	}
	page, err := r.List(ctx, core.ListQuery{List: core.ListHistory, Limit: 10})
	r.must(err)
	for _, item := range page.Items {
		if item.Contract.ID == id {
			r.t.Error("it is in the list of contracts")
		}
	}
}

// A record that is changed while the store is open is noticed when it is
// touched, and quarantined from then on.
func TestRecordChangedWhileOpen(t *testing.T) {
	r := newRig(t, nil)
	c := r.confirm(r.create("a", "t", "i"))
	other := layer{}.connect(r.opts.Path, writerOptions(), 1)
	defer other.Close()
	_, err := other.Exec("UPDATE contracts SET mac = replace(mac, substr(mac, 1, 1), 'x') WHERE contract_id = 'a'")
	r.must(err)
	if _, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion); ReasonOf(err) != ReasonRecordMAC || !errors.Is(err, core.ErrQuarantined) {
		t.Fatalf("got %v", err)
	}
	if got := r.quarantined(); got["a"] != string(ReasonRecordMAC) {
		t.Fatalf("quarantined %v", got)
	}
}

// The first flawed contract of a store must not look like a wrong key: its
// events still are authentic.
func TestOnlyContractFlawedIsNotAWrongKey(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", "t", "i")
	r.must(r.tamper("UPDATE contracts SET mac = '00'"))
	if got := r.quarantined(); got["a"] != string(ReasonRecordMAC) {
		t.Fatalf("quarantined %v", got)
	}
	r.must(r.Store.Close())
	o := r.opts
	o.IntegrityKey = append([]byte("another key that is "), testKey...)
	if _, err := Open(r.ctx, o); ReasonOf(err) != ReasonRecordMAC || !errors.Is(err, ErrRefused) {
		t.Fatalf("another key: %v", err)
	}
	r.Store = newStore(r.opts)
}

// Rows that somebody keeps and puts back later are authentic one by one, and
// yet the set is not (design lesson 15).
func TestRemovedAndReplayedRowsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statements []string
		store      Reason // refuses the store
		record     Reason // or quarantines a
	}{
		"an older copy of a contract": {[]string{
			"DELETE FROM contracts WHERE contract_id = 'a'", "INSERT INTO contracts SELECT * FROM kept_contracts",
			"DELETE FROM audit_events WHERE contract_id = 'a' AND state_version > 1",
			"UPDATE sqlite_sequence SET seq = 4 WHERE name = 'audit_events'"}, "", ReasonReplayed},
		"an older copy of a contract and of its place": {[]string{
			"DELETE FROM contracts WHERE contract_id = 'a'", "INSERT INTO contracts SELECT * FROM kept_contracts",
			"DELETE FROM audit_events WHERE contract_id = 'a' AND state_version > 1",
			"DELETE FROM cs_members WHERE contract_id = 'a'", "INSERT INTO cs_members SELECT * FROM kept_members",
			"UPDATE sqlite_sequence SET seq = 4 WHERE name = 'audit_events'"}, ReasonHead, ""},
		"the middle of the history": {[]string{
			"DELETE FROM contracts WHERE contract_id = 'b'", "DELETE FROM audit_events WHERE contract_id = 'b'"},
			ReasonSequenceGap, ""},
		"a whole contract": {[]string{
			"DELETE FROM contracts WHERE contract_id = 'b'", "DELETE FROM audit_events WHERE contract_id = 'b'",
			"UPDATE sqlite_sequence SET seq = 3 WHERE name = 'audit_events'"}, "", ReasonMissing},
		"a whole contract and its place": {[]string{
			"DELETE FROM contracts WHERE contract_id = 'b'", "DELETE FROM audit_events WHERE contract_id = 'b'",
			"DELETE FROM cs_members WHERE contract_id = 'b'", "DELETE FROM cs_notes WHERE contract_id = 'b'",
			"UPDATE sqlite_sequence SET seq = 3 WHERE name = 'audit_events'"}, ReasonHead, ""},
		"a spent authorization": {[]string{"DELETE FROM cs_consumed WHERE contract_id = 'a'"}, ReasonHead, ""},
		"a receipt":             {[]string{"DELETE FROM cs_receipts WHERE contract_id = 'a'"}, ReasonHead, ""},
		"a note":                {[]string{"DELETE FROM cs_notes WHERE contract_id = 'a' AND state_version = 1"}, ReasonHead, ""},
		"an operator's key":     {[]string{"DELETE FROM cs_operators"}, ReasonHead, ""},
		"a changed spent row":   {[]string{"UPDATE cs_consumed SET authorization_id = 'x' WHERE contract_id = 'a'"}, ReasonOwnRow, ""},
		"a changed receipt":     {[]string{"UPDATE cs_receipts SET digest = 'x' WHERE contract_id = 'a'"}, ReasonOwnRow, ""},
		"the head":              {[]string{"UPDATE cs_head SET contracts = 1"}, ReasonHead, ""},
		"a table of ours":       {[]string{"DROP TABLE cs_sightings"}, ReasonOwnSchema, ""},
		"an index of ours":      {[]string{"DROP INDEX cs_contracts_key"}, ReasonOwnSchema, ""},
		"an orphan event":       {[]string{"INSERT INTO audit_events SELECT NULL, 'zz', event_type, previous_state, current_state, state_version, recorded_at, mac FROM audit_events WHERE sequence = 1"}, ReasonOrphan, ""},
		"an orphan reservation": {[]string{"INSERT INTO target_reservations VALUES ('t', 'zz')"}, ReasonOrphan, ""},
		"a trigger":             {[]string{"CREATE TRIGGER x AFTER INSERT ON cs_notes BEGIN DELETE FROM cs_consumed; END"}, ReasonExtra, ""},
		"an extra unique index": {[]string{"CREATE UNIQUE INDEX x ON contracts(target_identity_digest)"}, ReasonUnique, ""},
		"an extra column":       {[]string{"ALTER TABLE contracts ADD COLUMN x TEXT"}, ReasonColumns, ""},
		"an extra metadata row": {[]string{"INSERT INTO metadata VALUES ('x', 'y')"}, ReasonMetadata, ""},
		"an unknown anchor row": {[]string{"INSERT INTO anchor_state VALUES ('x', 'y', 'z')"}, ReasonAnchorValue, ""},
		"a forged mark":         {[]string{"INSERT INTO anchor_state VALUES ('high_water_mark', '7', 'z')"}, ReasonAnchorMAC, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			a := r.create("a", "t-a", "i-a")
			r.must(r.PinOperator(r.ctx, "jo", testDigest("key")))
			r.must(r.tamper("CREATE TABLE kept_contracts AS SELECT * FROM contracts WHERE contract_id = 'a'",
				"CREATE TABLE kept_members AS SELECT * FROM cs_members WHERE contract_id = 'a'"))
			// What the case removes is what was written last.
			if ofB := c.record == ReasonMissing || strings.HasPrefix(name, "a whole"); ofB {
				r.confirm(a)
				r.create("b", "t-b", "i-b")
			} else {
				r.create("b", "t-b", "i-b")
				r.confirm(a)
			}
			err := r.tamper(c.statements...)
			if c.store != "" {
				if ReasonOf(err) != c.store || !errors.Is(err, ErrRefused) {
					t.Fatalf("got %v, want the store refused as %s", err, c.store)
				}
				return
			}
			r.must(err)
			id := "a"
			if c.record == ReasonMissing {
				id = "b"
			}
			if got := r.quarantined(); len(got) != 1 || got[id] != string(c.record) {
				t.Fatalf("quarantined %v, want %s as %s", got, id, c.record)
			}
		})
	}
}

// Tables, views and plain indexes that others keep beside ours are no flaw:
// the reference does not notice ours either.
func TestForeignTablesAreNoFlaw(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", "t", "i")
	r.must(r.tamper("CREATE TABLE theirs (x)", "CREATE VIEW their_view AS SELECT * FROM contracts",
		"CREATE INDEX their_index ON audit_events(recorded_at)"))
	r.check()
}
