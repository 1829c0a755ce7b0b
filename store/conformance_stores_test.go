package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
	"countersign/core"
)

// Every valid store of the reference opens, migrated where it is older, with
// exactly the contracts, chains and keys of the manifest; and the file that
// is left is what the reference would read.
func TestConformanceStoresValid(t *testing.T) {
	m := loadManifest(t)
	if m.Index != createPartialIndex {
		t.Fatalf("the partial index has another text: %s", m.Index)
	}
	for _, v := range m.Valid {
		t.Run(v.File, func(t *testing.T) {
			o := m.options(t, v.File)
			before := rawRows(t, o.Path, "SELECT * FROM audit_events ORDER BY sequence")
			s, err := Open(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			checkValid(t, s, v)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if after := rawRows(t, o.Path, "SELECT * FROM audit_events ORDER BY sequence"); !reflect.DeepEqual(before, after) {
				t.Error("audit rows changed")
			}
			checkLeftFile(t, o, v)
			checkStore(t, o)
		})
	}
	canontest.Ran(t, "stores/manifest.json", map[string]int{"valid": len(m.Valid)})
}

func checkValid(t *testing.T, s *Store, v validStore) {
	ctx := context.Background()
	if bad, _ := s.Quarantined(ctx); len(bad) != 0 {
		t.Fatalf("quarantined: %v", bad)
	}
	for _, want := range v.Contracts {
		c, err := s.Load(ctx, want.ID)
		if err != nil {
			t.Fatalf("%s: %v", want.ID, err)
		}
		if c.OperationID != want.Operation || c.IdempotencyKey.String() != want.Key || string(c.State) != want.State ||
			c.TargetIdentityDigest.String() != want.Target || c.StateVersion != want.Version || c.Confirmed() != want.Confirmed {
			t.Errorf("%s differs: %+v", want.ID, c)
		}
		events, err := s.Timeline(ctx, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			got = append(got, string(e.Type)+">"+string(e.Current))
		}
		if !slices.Equal(got, want.Events) {
			t.Errorf("%s: events %v, want %v", want.ID, got, want.Events)
		}
	}
	for _, k := range v.Keys {
		checkKey(t, s, k.Key, k.Blocking, k.History)
	}
	counts, err := s.Counts(ctx)
	if err != nil || counts.History != len(v.Contracts) {
		t.Errorf("counts %+v, %v", counts, err)
	}
	health, err := s.Health(ctx)
	if err != nil || health.Events != v.AuditEvents {
		t.Errorf("health %+v, %v", health, err)
	}
}

func checkKey(t *testing.T, s *Store, key string, blocking *string, history []string) {
	t.Helper()
	digest, err := canon.ParseDigest(key)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.FindByIdempotencyKey(context.Background(), digest)
	if err != nil || (found == nil) != (blocking == nil) || (found != nil && found.ID != *blocking) {
		t.Errorf("blocking %v, %v; want %v", found, err, blocking)
	}
	attempts, err := s.FindHistoricalByIdempotencyKey(context.Background(), digest)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range attempts {
		ids = append(ids, c.ID)
	}
	if !slices.Equal(ids, history) {
		t.Errorf("history %v, want %v", ids, history)
	}
}

// checkLeftFile reads the closed file as the reference would.
func checkLeftFile(t *testing.T, o Options, v validStore) {
	want := v.Contracts
	if v.Migration != nil {
		want = v.Migration.Contracts
	}
	rows := rawRows(t, o.Path, "SELECT contract_id, payload, mac FROM contracts ORDER BY contract_id")
	if len(rows) != len(want) {
		t.Fatalf("%d contracts, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		sum := sha256.Sum256(row[1].([]byte))
		if row[0] != want[i].ID || hex.EncodeToString(sum[:]) != want[i].Sum || row[2] != want[i].MAC {
			t.Errorf("%v: payload or MAC differ", row[0])
		}
	}
	if got := rawRows(t, o.Path, "SELECT value FROM metadata WHERE key = 'schema_version'"); got[0][0] != "8" {
		t.Errorf("schema version %v", got)
	}
	if n := rawRows(t, o.Path, "SELECT (SELECT count(*) FROM target_reservations), (SELECT count(*) FROM rate_cooldowns)"); n[0][0] != int64(v.Reservations) || n[0][1] != int64(v.Cooldowns) {
		t.Errorf("reservations and cool-downs %v", n)
	}
	for _, row := range v.AnchorState {
		got := rawRows(t, o.Path, fmt.Sprintf("SELECT value, mac FROM anchor_state WHERE key = '%s'", row[0]))
		if len(got) != 1 || got[0][0] != row[1] || got[0][1] != row[2] {
			t.Errorf("anchor row %s: %v", row[0], got)
		}
	}
	if got := rawRows(t, o.Path, "PRAGMA journal_mode"); got[0][0] != "delete" {
		t.Errorf("left in journal mode %v", got[0][0])
	}
	for _, name := range sidecars(o.Path) {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("left %s", name)
		}
	}
}

// Interrupted contracts move to RECONCILIATION, exactly those of the manifest.
func TestConformanceStoresInterrupted(t *testing.T) {
	m := loadManifest(t)
	for _, v := range m.Valid {
		o := m.options(t, v.File)
		s, err := Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		moved, err := s.RecoverInterrupted(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range moved {
			ids = append(ids, c.ID)
		}
		if !slices.Equal(ids, v.InterruptedOn) {
			t.Errorf("%s: moved %v, want %v", v.File, ids, v.InterruptedOn)
		}
		if again, err := s.RecoverInterrupted(context.Background()); err != nil || len(again) != 0 {
			t.Errorf("%s: moved again: %v %v", v.File, again, err)
		}
		s.Close()
		checkStore(t, o)
	}
}

// Every corrupted store is refused by the strict verification with the
// manifest's class, and neither that nor opening it changes a byte. Opening
// refuses it too, except where only one record is flawed: then that record
// is quarantined with the class, and nothing acts on it.
func TestConformanceStoresCorrupted(t *testing.T) {
	m := loadManifest(t)
	quarantined := 0
	for _, c := range m.Corrupt {
		t.Run(c.File, func(t *testing.T) {
			o := m.options(t, c.File)
			if c.OpenWith != nil {
				o.StoreID = c.OpenWith.StoreID
				o.IntegrityKey, _ = hex.DecodeString(c.OpenWith.Key)
			}
			if c.Expected.Result == "accepted" {
				s, err := Open(context.Background(), o)
				if err != nil {
					t.Fatalf("%s: %v", c.Flaw, err)
				}
				s.Close()
				checkStore(t, o)
				return
			}
			wanted := append([]string{c.Expected.Reason}, c.AlsoOK...)
			before := fileSum(t, o.Path)
			_, err := Verify(context.Background(), o, nil)
			if !slices.Contains(wanted, string(ReasonOf(err))) {
				t.Errorf("%s: verified as %q (%v), want %v", c.Flaw, ReasonOf(err), err, wanted)
			}
			if checkRefusedOpen(t, o, wanted) {
				quarantined++
			}
			if fileSum(t, o.Path) != before {
				t.Errorf("%s: the file changed", c.Flaw)
			}
		})
	}
	canontest.Ran(t, "stores/manifest.json", map[string]int{"corrupted": len(m.Corrupt)})
	t.Logf("%d of them keep the store open with one record quarantined", quarantined)
}

// checkRefusedOpen opens a flawed store; it reports whether a record was
// quarantined instead of the store being refused.
func checkRefusedOpen(t *testing.T, o Options, wanted []string) bool {
	ctx := context.Background()
	s, err := Open(ctx, o)
	if err != nil {
		if !slices.Contains(wanted, string(ReasonOf(err))) || !errors.Is(err, ErrRefused) {
			t.Errorf("opened with %v, want %v", err, wanted)
		}
		return false
	}
	defer s.Close()
	bad, err := s.Quarantined(ctx)
	if err != nil || len(bad) == 0 || !slices.Contains(wanted, bad[0].Reason) || len(bad) > 2 {
		t.Fatalf("quarantined %v, want one of %v", bad, wanted)
	}
	if _, err := s.Load(ctx, bad[0].ContractID); !errors.Is(err, core.ErrQuarantined) {
		t.Errorf("loading it: %v", err)
	}
	if _, err := s.Transition(ctx, bad[0].ContractID, 0, core.Failed, core.Note{}); !errors.Is(err, core.ErrQuarantined) {
		t.Errorf("acting on it: %v", err)
	}
	counts, err := s.Counts(ctx)
	if err != nil || counts.Quarantined != len(bad) {
		t.Errorf("counts %+v, %v", counts, err)
	}
	page, err := s.List(ctx, core.ListQuery{List: core.ListHistory, Limit: 100})
	if err != nil || len(page.Items) == 0 {
		t.Errorf("the good contracts are not listed: %v %v", page, err)
	}
	return true
}
