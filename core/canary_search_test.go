package core_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
	"countersign/store"
)

// searchLogged spells out everything that a log could be given: records,
// events, notes, evidence and configuration.
func (l *leakTest) searchLogged() {
	ctx := context.Background()
	page, err := l.store.List(ctx, core.ListQuery{List: core.ListHistory, Limit: 200})
	l.must(err)
	for _, item := range page.Items {
		l.written("a list item", item)
		events, err := l.store.Timeline(ctx, item.Contract.ID)
		l.must(err)
		l.written("a timeline", events)
		for _, e := range events {
			if e.Note != nil {
				l.written("a note", *e.Note)
			}
		}
		loads, err := l.store.Loads(ctx, item.Contract.ID)
		l.must(err)
		l.written("loads", loads)
		l.written("confirmation evidence", core.NewConfirmationEvidence(item.Contract, canaryOperator, "x", "n", l.clock.Now()))
	}
	health, err := l.store.Health(ctx)
	l.must(err)
	l.written("the store's health", health)
	a, authority := l.approvalOf(page.Items[0].Contract)
	l.written("an approval", a)
	l.shown("an authority", authority)
	authority.Close()

	key, err := pfsense.NewAPIKey(l.site.Key)
	l.must(err)
	trust, err := pfsense.PinnedKey(l.site.Pin)
	l.must(err)
	cfg := pfsense.Config{BaseURL: l.site.URL, TLS: trust, Key: key}
	l.written("the appliance's configuration", cfg)
	l.written("the appliance's configuration, by pointer", &cfg)
	l.written("the reader", l.reader)
	l.written("the sender", l.sender)
	k, err := keys.LoadStoreKeys(ctx, l.ring)
	l.must(err)
	l.written("the store's keys", k)
}

func (l *leakTest) approvalOf(c core.Contract) (core.Approval, core.Authority) {
	authority, err := l.operators(l.store).Unlock(context.Background(), canaryOperator, canaryPass())
	l.must(err)
	return core.Approval{Kind: core.ApproveRollback, AuthorityID: authority.ID(), ContractID: c.ID, OperationID: c.OperationID,
		IntentDigest: c.IntentDigest, IssuedAt: l.clock.Now()}, authority
}

// permitted are the fields of an exported event, and no others (seed 003,
// Audit contract).
var permitted = []string{"capability", "contract_id", "current_state", "endpoint_symbol", "event_id", "exception_class",
	"failure_class", "http_method", "intent_digest", "operation_id", "outcome", "previous_state", "target_identity_digest", "timestamp"}

// searchExport searches the export and compares its fields with the seed's.
func (l *leakTest) searchExport() {
	var out bytes.Buffer
	// What is quarantined is left out, and the export says so at its end.
	if err := core.ExportAudit(context.Background(), l.store, &out); err != nil && !errors.Is(err, core.ErrQuarantined) {
		l.must(err)
	}
	l.search(l.all, "export", "the export", out.Bytes())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		var event map[string]any
		l.must(json.Unmarshal([]byte(line), &event))
		var fields []string
		for name := range event {
			fields = append(fields, name)
		}
		sort.Strings(fields)
		if !slices.Equal(fields, permitted) {
			l.t.Fatalf("an exported event has the fields %v", fields)
		}
	}
	if len(lines) < 50 {
		l.t.Errorf("the export has only %d events", len(lines))
	}
}

// searchTables reads every column of every table: a value that SQLite spread
// over several pages is in one piece there.
func (l *leakTest) searchTables() {
	db, err := sql.Open("sqlite", "file:"+l.path()+"?mode=ro")
	l.must(err)
	defer db.Close()
	for _, table := range textColumn(l, db, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		rows, err := db.Query("SELECT * FROM " + table)
		l.must(err)
		names, err := rows.Columns()
		l.must(err)
		for rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			l.must(rows.Scan(into...))
			for i, v := range values {
				text, isBytes := v.([]byte)
				if !isBytes {
					text = []byte(fmt.Sprint(v))
				}
				l.search(l.all, "column", table+"."+names[i], text)
			}
		}
		l.must(rows.Err())
		l.must(rows.Close())
	}
}

func textColumn(l *leakTest, db *sql.DB, query string) []string {
	rows, err := db.Query(query)
	l.must(err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		l.must(rows.Scan(&s))
		out = append(out, s)
	}
	l.must(rows.Err())
	return out
}

// searchVerification searches what `countersign verify` reports, also about
// stores that are refused.
func (l *leakTest) searchVerification() {
	ctx := context.Background()
	k, err := keys.LoadStoreKeys(ctx, l.ring)
	l.must(err)
	o := store.Options{Path: l.path(), StoreID: rigStoreID, IntegrityKey: k.Integrity.Bytes()}
	for name, change := range map[string]func(*store.Options){
		"as it is":       func(*store.Options) {},
		"another store":  func(o *store.Options) { o.StoreID = "another" },
		"another key":    func(o *store.Options) { o.IntegrityKey = bytes.Repeat([]byte{7}, 32) },
		"another folder": func(o *store.Options) { o.Path = filepath.Join(filepath.Dir(o.Path), "none.sqlite3") },
	} {
		other := o
		change(&other)
		report, err := store.Verify(ctx, other, nil)
		if err == nil {
			l.t.Errorf("%s: a store with a damaged record passes", name)
		}
		l.written("a verification, "+name, report)
		l.written("a verification's error, "+name, err)
	}
}
