package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countersign/core"
)

// The crash matrix: one process runs every operation that commits; it is
// killed at every fault point in turn, without a chance to clean up. The file
// must then be exactly as before or exactly as after the commit it died
// around, sound in every respect, and go on from there.

// crashStep is one operation of the script.
type crashStep struct {
	name string
	do   func(*rig) error
}

// crashScript goes through every operation that commits. Contracts are looked
// up by id, so each step works in a process of its own.
func crashScript() []crashStep {
	on := func(id string, f func(*rig, core.Contract) error) func(*rig) error {
		return func(r *rig) error {
			c, err := r.Load(r.ctx, id)
			if err != nil {
				return err
			}
			return f(r, c)
		}
	}
	create := func(id string) crashStep {
		return crashStep{"create " + id, func(r *rig) error {
			_, err := r.AuthorizeAndCreate(r.ctx, r.creation(testContract(id, "t-"+id, "i-"+id, r.clock.Now(), testValidity)))
			return err
		}}
	}
	confirm := func(id string) crashStep {
		return crashStep{"confirm " + id, on(id, func(r *rig, c core.Contract) error {
			e := core.NewConfirmationEvidence(c, "jo", "hmac-v1", "nonce-1", r.clock.Now())
			e.Proof = []byte("yes")
			_, err := r.Confirm(r.ctx, c.ID, c.StateVersion, e, acceptAll{})
			return err
		})}
	}
	plan := func(id string) crashStep {
		return crashStep{"plan " + id, on(id, func(r *rig, c core.Contract) error {
			_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
			return err
		})}
	}
	acquire := func(id string) crashStep {
		return crashStep{"acquire " + id, on(id, func(r *rig, c core.Contract) error {
			_, err := r.Acquire(r.ctx, c.ID, c.StateVersion)
			return err
		})}
	}
	move := func(id string, to core.State) crashStep {
		return crashStep{fmt.Sprintf("%s %s", id, to), on(id, func(r *rig, c core.Contract) error {
			_, err := r.Transition(r.ctx, c.ID, c.StateVersion, to, core.Note{})
			return err
		})}
	}
	return []crashStep{
		create("a"), confirm("a"), plan("a"), acquire("a"),
		{"seal a", on("a", func(r *rig, c core.Contract) error {
			_, err := r.SealVerified(r.ctx, c.ID, c.StateVersion, testDigest("after", c.ID), c.LifecycleLocator, core.Note{})
			return err
		})},
		{"look a", func(r *rig) error {
			return r.RecordLook(r.ctx, core.Look{ContractID: "a", StateVersion: 4, Found: core.LookedSame, At: testStart})
		}},
		{"load a", func(r *rig) error {
			return r.RecordLoad(r.ctx, core.LoadRecord{ContractID: "a", Direction: core.Forward, Claim: core.LoadAsked})
		}},
		{"acquire rollback a", on("a", func(r *rig, c core.Contract) error {
			_, err := r.AcquireRollback(r.ctx, c.ID, r.approval(core.ApproveRollback, c), acceptAll{})
			return err
		})},
		move("a", core.Reconciliation),
		{"resume a", on("a", func(r *rig, c core.Contract) error {
			_, err := r.ResumeRollback(r.ctx, c.ID, r.approval(core.ApproveResume, c), acceptAll{})
			return err
		})},
		{"seal rollback a", on("a", func(r *rig, c core.Contract) error {
			_, err := r.SealRolledBack(r.ctx, c.ID, c.StateVersion, c.LifecycleLocator, core.Note{})
			return err
		})},
		create("b"), confirm("b"), plan("b"), acquire("b"),
		{"recover b", func(r *rig) error { _, err := r.RecoverInterrupted(r.ctx); return err }},
		{"resolve b", on("b", func(r *rig, c core.Contract) error {
			_, err := r.Resolve(r.ctx, c.ID, r.evidence(c, core.ConfirmedNotApplied), acceptAll{})
			return err
		})},
		create("c"), confirm("c"), plan("c"),
		{"settle anchor", func(r *rig) error { return r.SettleAnchor(r.ctx, 3) }},
		create("d"),
		{"decline d", on("d", func(r *rig, c core.Contract) error {
			_, err := r.Decline(r.ctx, c.ID, r.approval(core.ApproveDecline, c), acceptAll{})
			return err
		})},
		{"pin operator", func(r *rig) error { return r.PinOperator(r.ctx, "jo", testDigest("key")) }},
		{"passphrase", func(r *rig) error { return r.RecordPassphrase(r.ctx, "jo", "refused", r.clock.Now()) }},
		{"submit draft", func(r *rig) error {
			_, err := r.SubmitDraft(r.ctx, "jo", testDigest("draft"), "key-1", testStart)
			return err
		}},
		{"answer draft", func(r *rig) error { return r.AnswerDraft(r.ctx, "jo", testDigest("draft"), "key-1") }},
		create("e"),
		{"expire e", on("e", func(r *rig, c core.Contract) error {
			r.clock.add(testValidity)
			_, err := r.ExpirePrepared(r.ctx, c.ID, c.StateVersion)
			return err
		})},
		{"provision", func(r *rig) error {
			if err := r.ProvisionAnchor(r.ctx, "handle", 9); err != nil && !strings.Contains(err.Error(), "already") {
				return err
			}
			return nil
		}},
	}
}

// crashRig opens the store at path, or makes it where there is none yet.
func crashRig(path string, fault func(string)) (*rig, error) {
	clock := &testClock{now: testStart}
	r := &rig{ctx: context.Background(), clock: clock, opts: Options{Path: path, StoreID: testID, IntegrityKey: testKey,
		Clock: clock, Limits: openLimits, Settle: -1, FaultPoint: fault}}
	var err error
	if _, statErr := os.Stat(path); statErr != nil {
		r.Store, err = Create(r.ctx, r.opts)
	} else {
		r.Store, err = Open(r.ctx, r.opts)
	}
	return r, err
}

// playCrash runs the whole script; every fault point is counted.
func playCrash(path string, fault func(string)) error {
	r, err := crashRig(path, fault)
	if err != nil {
		return err
	}
	for _, step := range crashScript() {
		if err := step.do(r); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return r.Close()
}

// playCrashChild runs the script in a process of its own and kills itself at
// the n-th fault point.
func playCrashChild(args []string) int {
	path := args[0]
	n, _ := strconv.Atoi(args[1])
	err := playCrash(path, killAt(n))
	fmt.Println("survived:", err)
	return 3
}

// killAt kills this process at the n-th fault point that it comes to.
func killAt(n int) func(string) {
	seen := 0
	return func(string) {
		if seen++; seen == n {
			die()
		}
	}
}

// die is kill -9 of this process.
func die() {
	self, _ := os.FindProcess(os.Getpid())
	self.Kill()
	select {}
}

// dump is the whole state that a store stands for, as text.
func dump(t testing.TB, path string) string {
	t.Helper()
	db := layer{}.connect(path, readerOptions(), 1)
	defer db.Close()
	if n := rowsOf(t, db, "SELECT count(*) FROM sqlite_schema WHERE name = 'cs_head'"); n[0][0] == int64(0) {
		return "no tables"
	}
	var lines []string
	for _, query := range []string{
		"SELECT contract_id, state, state_version, mac FROM contracts ORDER BY contract_id",
		"SELECT * FROM target_reservations ORDER BY 1",
		"SELECT * FROM anchor_state ORDER BY 1",
		"SELECT sequence, contract_id, event_type, current_state, mac FROM audit_events ORDER BY 1",
		"SELECT mac FROM cs_head",
	} {
		text, err := json.Marshal(rowsOf(t, db, query))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	return strings.Join(lines, "\n")
}

func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	// A first run without a crash says which points there are and what the
	// file holds before and after each.
	path := filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	var points, states []string
	last := "no tables"
	if err := playCrash(path, func(name string) {
		points = append(points, name)
		if strings.HasSuffix(name, "/after commit") {
			last = dump(t, path)
		}
		states = append(states, last)
	}); err != nil {
		t.Fatal(err)
	}
	before, after := 0, 0
	for i, name := range points {
		switch got := crashAt(t, i+1, name); {
		case strings.HasSuffix(name, "/before commit") && got == states[i]:
			before++
		case strings.HasSuffix(name, "/after commit") && got == states[i]:
			after++
		default:
			t.Errorf("%d %s: neither before nor after:\n%s", i, name, got)
		}
	}
	t.Logf("crash matrix: %d points; %d died before their commit and left the state before it, %d after and left the state after it",
		len(points), before, after)
}

// crashAt kills a process at its n-th fault point and returns what it left.
func crashAt(t *testing.T, n int, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	out, err := child("crash", path, strconv.Itoa(n)).CombinedOutput()
	if err == nil || strings.Contains(string(out), "survived") {
		t.Fatalf("%s: the process was not killed: %v %s", name, err, out)
	}
	left := dump(t, path)
	r, err := crashRig(path, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer r.Close()
	if after := dump(t, path); left != "no tables" && after != left {
		t.Errorf("%s: opening changed what was there", name)
	}
	checkStore(t, r.opts)
	if _, err := r.RecoverInterrupted(r.ctx); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	checkStore(t, r.opts)
	return left
}
