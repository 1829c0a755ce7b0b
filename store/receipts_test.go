package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"countersign/core"
)

// sameRequest is a creation whose request key and request are shared by every
// attempt; contract and authorization are its own.
func sameRequest(r *rig, id string, version core.RequestVersion, request core.Object) core.Creation {
	c := r.creation(testContract(id, "t", "i", testStart, testValidity))
	c.Claim = core.ReceiptClaim{Caller: "jo", Family: core.PrepareFamily, RequestKey: "request-shared", Version: version, Request: requestOf(version, request)}
	return c
}

func requestOf(v core.RequestVersion, request core.Object) core.Object {
	o := core.Object{"appliance_target_digest": "aa", "endpoint_symbol": "E", "request": request}
	if v == core.RequestV2 {
		o["load_after"] = false
	}
	return o
}

var plainRequest = core.Object{"alias_name": "a", "description": "x"}

// playReceiptChild is a console of its own process, one of two that race for
// one request key: path, contract, version, scheme.
func playReceiptChild(args []string) int {
	path, id := args[0], args[1]
	version, _ := strconv.Atoi(args[2])
	scheme, _ := strconv.Atoi(args[3])
	clock := &testClock{now: testStart}
	s, err := Open(context.Background(), Options{Path: path, StoreID: testID, IntegrityKey: testKey, Clock: clock,
		Limits: openLimits, Settle: -1, scheme: core.SchemeVersion(scheme)})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer s.Close()
	r := &rig{ctx: context.Background(), clock: clock, Store: s}
	made, err := s.AuthorizeAndCreate(r.ctx, sameRequest(r, id, core.RequestVersion(version), plainRequest))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(made.ID)
	return 0
}

// An old and a new console race on one request key, as processes: one
// contract, and both are answered with it (seed 001, step 4).
func TestReceiptRaceBetweenOldAndNewConsole(t *testing.T) {
	const rounds = 6
	wins := map[string]int{}
	for round := range rounds {
		r := newRig(t, nil)
		var wg sync.WaitGroup
		answers := make([]string, 2)
		for i, console := range []string{"old 1 1", "new 2 2"} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				out, err := child("receipt", append([]string{r.opts.Path}, strings.Fields(console)...)...).CombinedOutput()
				if err != nil {
					t.Errorf("round %d, %s: %v: %s", round, console, err, out)
				}
				answers[i] = string(out)
			}()
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		counts, err := r.Counts(r.ctx)
		r.must(err)
		if answers[0] != answers[1] || counts.History != 1 {
			t.Fatalf("round %d: answers %q, %d contracts", round, answers, counts.History)
		}
		wins[answers[0]]++
		// The loser's authorization was not spent.
		if n := r.count("SELECT count(*) FROM cs_consumed"); n != 1 {
			t.Fatalf("%d authorizations were consumed", n)
		}
		r.check()
	}
	t.Logf("receipt race: %d rounds, won by %v", rounds, wins)
}

func (r *rig) count(query string) (n int) {
	r.t.Helper()
	r.must(r.readers.QueryRow(query).Scan(&n))
	return n
}

// Only a confirmed rollback of the claimant frees a key: a transaction that
// fails after the claim leaves no receipt.
func TestReceiptKeyIsFreeAfterTheClaimantRolledBack(t *testing.T) {
	broken := errors.New("broken on purpose")
	fail := false
	r := newRig(t, func(o *Options) {
		o.FaultPoint = func(name string) {
			if fail && name == "create/before commit" {
				panic(broken)
			}
		}
	})
	fail = true
	func() {
		defer func() {
			if recover() == nil {
				t.Fatal("the fault point was not reached")
			}
		}()
		_, _ = r.AuthorizeAndCreate(r.ctx, sameRequest(r, "first", core.RequestV2, plainRequest))
	}()
	fail = false
	r.reopen()
	claim := sameRequest(r, "second", core.RequestV2, plainRequest)
	if outcome, err := r.FindReceipt(r.ctx, claim.Claim); err != nil || outcome != nil {
		t.Fatalf("a receipt of a transaction that never committed: %v, %v", outcome, err)
	}
	made, err := r.AuthorizeAndCreate(r.ctx, claim)
	if err != nil || made.ID != "second" {
		t.Fatalf("got %q, %v", made.ID, err)
	}
}

// A reader whose snapshot is older than the claim does not see it; that is no
// proof that there is none. The store asks in a fresh snapshot.
func TestReceiptIsLookedUpInAFreshSnapshot(t *testing.T) {
	r := newRig(t, nil)
	old, err := r.readers.BeginTx(r.ctx, &sql.TxOptions{ReadOnly: true})
	r.must(err)
	defer old.Rollback()
	seen := func() (n int) {
		r.must(old.QueryRow("SELECT count(*) FROM cs_receipts").Scan(&n))
		return n
	}
	seen() // fixes the snapshot
	c := sameRequest(r, "first", core.RequestV2, plainRequest)
	_, err = r.AuthorizeAndCreate(r.ctx, c)
	r.must(err)
	if seen() != 0 {
		t.Fatal("the old snapshot sees the claim: this test proves nothing")
	}
	outcome, err := r.FindReceipt(r.ctx, c.Claim)
	if err != nil || outcome == nil || outcome.ContractID != "first" {
		t.Fatalf("got %v, %v", outcome, err)
	}
	again, err := r.AuthorizeAndCreate(r.ctx, sameRequest(r, "second", core.RequestV1, plainRequest))
	if err != nil || again.ID != "first" {
		t.Fatalf("the retry gave %q, %v", again.ID, err)
	}
}

// Every refusal of a retry leaves the authorization unspent and the store as
// it was.
func TestReceiptRefusalsSpendNothing(t *testing.T) {
	for name, c := range map[string]struct {
		scheme core.SchemeVersion
		edit   string // of the stored row, under its own MAC again
		retry  func(r *rig) core.Creation
		want   error
	}{
		"changed": {0, "", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, core.Object{"alias_name": "a", "description": "y"})
		}, core.ErrRetryChanged},
		"unknown version": {0, "", func(r *rig) core.Creation { return sameRequest(r, "b", 7, plainRequest) }, core.ErrRetryUnknownVersion},
		"from the future": {0, "request_version = 9", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, plainRequest)
		}, core.ErrRetryNewer},
		"legacy, unknown version": {0, "request_version = 0", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, plainRequest)
		}, core.ErrRetryWeakDigest},
		"legacy, known version, weak digest": {core.SchemeV1, "lossless = 0", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV1, plainRequest)
		}, core.ErrRetryWeakDigest},
		"not representable": {core.SchemeV1, "", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV1, core.Object{"alias_name": "a", "description": " x"})
		}, core.ErrRetryUnrepresentable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.scheme = c.scheme })
			version := core.RequestV2
			if c.scheme == core.SchemeV1 {
				version = core.RequestV1
			}
			_, err := r.AuthorizeAndCreate(r.ctx, sameRequest(r, "a", version, plainRequest))
			r.must(err)
			if c.edit != "" {
				r.rewriteReceipt(c.edit)
			}
			if _, err := r.AuthorizeAndCreate(r.ctx, c.retry(r)); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if n := r.count("SELECT count(*) FROM cs_consumed"); n != 1 {
				t.Fatalf("%d authorizations were consumed", n)
			}
		})
	}
}

// rewriteReceipt changes the one receipt as another version would have
// written it, with a valid MAC.
func (r *rig) rewriteReceipt(set string) {
	r.t.Helper()
	_, err := r.writer.Exec("UPDATE cs_receipts SET " + set)
	r.must(err)
	columns := strings.Join(tableReceipts.columns, ", ")
	rows, err := r.writer.Query("SELECT " + columns + ", mac FROM cs_receipts")
	r.must(err)
	defer rows.Close()
	if !rows.Next() {
		r.t.Fatal("no receipt")
	}
	var scanned ownScan
	r.must(rows.Scan(scanned.targets(tableReceipts)...))
	row := scanned.take()
	r.must(rows.Close())
	_, err = r.writer.Exec("UPDATE cs_receipts SET mac = ?", string(r.newMACs().row(tableReceipts.label(), row.values).finish()))
	r.must(err)
}
