package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"countersign/canon/canontest"
)

func TestConformanceFiles(t *testing.T) { canontest.Check(t) }

// conformancePath names a file of the conformance cases. Without a directory
// it names none, and reading it fails.
func conformancePath(name ...string) string {
	dir, _ := canontest.Locate()
	return filepath.Join(append([]string{dir}, name...)...)
}

// manifest describes the store files that the reference wrote.
type manifest struct {
	StoreID string `json:"store_id"`
	Key     string `json:"integrity_key_hex"`
	Index   string `json:"v8_index_sql"`
	Valid   []validStore
	Corrupt []corruptStore `json:"corrupted"`
}

type validStore struct {
	File          string
	Schema        int `json:"schema_version"`
	Contracts     []validContract
	AuditEvents   int `json:"audit_event_count"`
	Reservations  int `json:"reservation_count"`
	Cooldowns     int `json:"cooldown_rows"`
	Interrupted   []string
	AnchorState   [][]string `json:"anchor_state"`
	InterruptedOn []string   `json:"interrupted_on_start"`
	Keys          []struct {
		Key      string `json:"idempotency_key"`
		Blocking *string
		History  []string
	}
	Migration *struct {
		Contracts []validContract
	} `json:"migration_to_v8"`
}

type validContract struct {
	ID        string `json:"contract_id"`
	Operation string `json:"operation_id"`
	Key       string `json:"idempotency_key"`
	Target    string `json:"target_identity_digest"`
	State     string
	Version   int64 `json:"state_version"`
	Confirmed bool
	Sum       string `json:"payload_sha256"`
	MAC       string
	Reserved  bool
	Events    []string
}

type corruptStore struct {
	File     string
	Flaw     string
	Expected struct{ Result, Reason string }
	Also     []string
	AlsoOK   []string `json:"also_acceptable"`
	OpenWith *struct {
		StoreID string `json:"store_id"`
		Key     string `json:"integrity_key_hex"`
	} `json:"open_with"`
}

func loadManifest(t *testing.T) manifest {
	var m manifest
	canontest.Load(t, "stores/manifest.json", &m)
	return m
}

// options copies a store file to where it may be opened.
func (m manifest) options(t *testing.T, file string) Options {
	t.Helper()
	key, err := hex.DecodeString(m.Key)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Path: copyStore(t, conformancePath("stores", file)), StoreID: m.StoreID, IntegrityKey: key,
		Clock: &testClock{now: testStart}, Settle: -1}
}

// copyStore copies a file into a fresh directory that is the owner's alone.
func copyStore(t testing.TB, from string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "contracts.sqlite3")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func fileSum(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// rawRows reads a file as it is, through a connection of its own.
func rawRows(t testing.TB, path, query string) [][]any {
	t.Helper()
	db := layer{}.connect(path, readerOptions(), 1)
	defer db.Close()
	return rowsOf(t, db, query)
}

func rowsOf(t testing.TB, q querier, query string) [][]any {
	t.Helper()
	rows, err := q.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	var all [][]any
	for rows.Next() {
		row := make([]any, len(names))
		into := make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}
