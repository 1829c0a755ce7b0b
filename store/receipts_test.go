package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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

// judgeOfOld is JudgeRetry as a console had it that knew nothing after request
// version 1 and scheme 1: what came after those is moved as far after those
// of today, and today's rule decides.
func judgeOfOld(r core.Receipt, claim core.ReceiptClaim) (core.ReceiptOutcome, error) {
	if r.Version > core.RequestV1 {
		r.Version += core.CurrentRequestVersion - core.RequestV1
	}
	if r.Scheme > core.SchemeV1 {
		r.Scheme += core.CurrentScheme - core.SchemeV1
	}
	return core.JudgeRetry(r, claim)
}

// The consoles that race for one request key.
const (
	oldConsole = "old" // knows and writes version 1 and scheme 1
	newConsole = "new"
)

// playReceiptChild is a console of its own process: path, which console it
// is, which is its contract's id as well. It prints the contract it was
// answered with, or that the receipt is newer than it knows.
func playReceiptChild(args []string) int {
	path, console := args[0], args[1]
	clock := &testClock{now: testStart}
	o := Options{Path: path, StoreID: testID, IntegrityKey: testKey, Clock: clock, Limits: openLimits, Settle: -1}
	version := core.RequestV2
	if console == oldConsole {
		version, o.scheme, o.judgeRetry = core.RequestV1, core.SchemeV1, judgeOfOld
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer s.Close()
	r := &rig{ctx: context.Background(), clock: clock, Store: s}
	made, err := s.AuthorizeAndCreate(r.ctx, sameRequest(r, console, version, plainRequest))
	switch {
	case errors.Is(err, core.ErrRetryNewer):
		fmt.Print(tooNew)
	case err != nil:
		fmt.Println(err)
		return 1
	default:
		fmt.Print(made.ID)
	}
	return 0
}

const tooNew = "newer"

// runConsole runs a console's process to its end.
func runConsole(t *testing.T, path, console string) string {
	out, err := child("receipt", path, console).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", console, err, out)
	}
	return string(out)
}

// mustHaveRaced: one contract, one authorization spent, and each console told
// what it can know. The new one replays the old one's receipt; the old one
// never guesses at the new one's (seed 001, steps 4 and 5).
func (r *rig) mustHaveRaced(answers map[string]string) (winner string) {
	r.t.Helper()
	if r.t.Failed() {
		r.t.FailNow()
	}
	counts, err := r.Counts(r.ctx)
	r.must(err)
	if counts.History != 1 {
		r.t.Fatalf("answers %v, %d contracts", answers, counts.History)
	}
	winner = answers[newConsole]
	want := map[string]string{oldConsole: oldConsole, newConsole: tooNew}[winner]
	if want == "" || answers[oldConsole] != want {
		r.t.Fatalf("the new console was answered %q, the old one %q, want %q", winner, answers[oldConsole], want)
	}
	if n := r.count("SELECT count(*) FROM cs_consumed"); n != 1 {
		r.t.Fatalf("%d authorizations were consumed", n)
	}
	r.check()
	return winner
}

// Whichever console comes second, as processes.
func TestReceiptMeetsOldAndNewConsole(t *testing.T) {
	for first, second := range map[string]string{oldConsole: newConsole, newConsole: oldConsole} {
		t.Run(first+" first", func(t *testing.T) {
			r := newRig(t, nil)
			answers := map[string]string{first: runConsole(t, r.opts.Path, first)}
			answers[second] = runConsole(t, r.opts.Path, second)
			if winner := r.mustHaveRaced(answers); winner != first {
				t.Errorf("won by %s", winner)
			}
		})
	}
}

// An old and a new console race on one request key, as processes: one
// contract, and each is answered with it or told that it cannot know.
func TestReceiptRaceBetweenOldAndNewConsole(t *testing.T) {
	const rounds = 6
	wins := map[string]int{}
	for range rounds {
		r := newRig(t, nil)
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[string]string{}
		for _, console := range []string{oldConsole, newConsole} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				answer := runConsole(t, r.opts.Path, console)
				mu.Lock()
				defer mu.Unlock()
				answers[console] = answer
			}()
		}
		wg.Wait()
		wins[r.mustHaveRaced(answers)]++
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
		says   bool // that the generating version is not known
	}{
		"changed": {0, "", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, core.Object{"alias_name": "a", "description": "y"})
		}, core.ErrRetryChanged, false},
		"unknown version": {0, "", func(r *rig) core.Creation { return sameRequest(r, "b", 7, plainRequest) }, core.ErrRetryUnknownVersion, false},
		"from the future": {0, "request_version = 9", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, plainRequest)
		}, core.ErrRetryNewer, false},
		"legacy, unknown version": {0, "request_version = 0", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, plainRequest)
		}, core.ErrRetryWeakDigest, true},
		"legacy, unknown scheme": {0, "scheme_version = 0", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV2, plainRequest)
		}, core.ErrRetryWeakDigest, true},
		"legacy, known version, weak digest": {core.SchemeV1, "lossless = 0", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV1, plainRequest)
		}, core.ErrRetryWeakDigest, false},
		"not representable": {core.SchemeV1, "", func(r *rig) core.Creation {
			return sameRequest(r, "b", core.RequestV1, core.Object{"alias_name": "a", "description": " x"})
		}, core.ErrRetryUnrepresentable, false},
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
			before := everything(t, r.readers)
			_, err = r.AuthorizeAndCreate(r.ctx, c.retry(r))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if strings.Contains(err.Error(), "generating version is not known") != c.says {
				t.Fatalf("a known and an unknown generating version are not told apart: %v", err)
			}
			if everything(t, r.readers) != before {
				t.Fatal("the refusal left something behind")
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
