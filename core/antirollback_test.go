package core_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/core"
	"countersign/keys"
)

// Another alias, so that a second change does not wait for a cool-down.
const (
	rigOther      = "web_ports"
	rigOtherValue = "Web ports (CHG-1043)"
)

// keep copies the closed database; putBack returns to the copy, as restoring
// an old backup does.
func (r *rig) keep() (putBack func()) {
	r.t.Helper()
	r.close()
	old, err := os.ReadFile(r.path())
	r.must(err)
	r.open()
	return func() {
		r.t.Helper()
		r.close()
		r.must(os.WriteFile(r.path(), old, 0o600))
		r.open()
	}
}

// mustRefuse tries everything that sends. All of it is refused with want
// before anything leaves, and reading works as ever.
func (r *rig) mustRefuse(want error, toExecute, toRollBack string, rows int) {
	r.t.Helper()
	sent := r.sends()
	h := r.engine.Header()
	if h.AnchorOK || h.Closed == "" || h.AnchorNote == "" {
		r.t.Fatalf("the header does not say it: %+v", h)
	}
	refused := func(what string, err error) {
		r.t.Helper()
		if !errors.Is(err, want) {
			r.t.Fatalf("%s: %v, want %v", what, err, want)
		}
	}
	refused("execute", r.engine.Execute(ctx(), toExecute))
	refused("roll back", r.engine.Rollback(ctx(), toRollBack, rigOperator, pass()))
	refused("load", r.askToLoad(toRollBack))
	_, err := r.engine.Authorize(ctx(), r.draft(rigAlias, "yet another"), rigOperator, pass())
	refused("authorize", err)
	// The executor does not rely on the engine having asked.
	refused("the executor", r.sendDirectly(toExecute, core.Forward).Err)
	refused("the executor's rollback", r.sendDirectly(toRollBack, core.Backward).Err)
	r.mustBe(toExecute, core.Prepared)
	r.mustBe(toRollBack, core.Verified)

	page, err := r.engine.List(ctx(), core.ListHistory, "", 10)
	r.must(err)
	if len(page.Rows) != rows {
		r.t.Fatalf("%d rows are listed", len(page.Rows))
	}
	for _, id := range []string{toExecute, toRollBack} {
		if d, err := r.engine.Detail(ctx(), id); err != nil || d.Unreadable != "" || len(d.Changes) == 0 {
			r.t.Fatalf("detail: %+v, %v", d, err)
		}
		r.observe(id)
	}
	if r.sends() != sent {
		r.t.Fatalf("%d requests were sent", r.sends()-sent)
	}
}

// A restored old copy of the database can be read and can send nothing, also
// after a restart (design section 6). Putting the newer one back heals it.
func TestRestoredOldDatabaseCannotSend(t *testing.T) {
	r := newRig(t, rigOptions{})
	done := r.verified(rigAlias, rigValue)
	id := r.confirmed(rigOther, rigOtherValue)
	putBack := r.keep()
	r.execute(id)
	r.mustBe(id, core.Verified)
	putNewerBack := r.keep()

	putBack()
	r.mustRefuse(core.ErrRolledBackStore, id, done, 2)
	r.restart()
	r.mustRefuse(core.ErrRolledBackStore, id, done, 2)
	r.verifyClosed()

	putNewerBack()
	r.mustBeAnchored()
	r.mustBe(id, core.Verified)
	r.rollback(id)
	r.mustBe(id, core.RolledBack)
}

// A copy from between the plan of an advance and the acquisition looks like a
// console that ended there. What it would send may have been sent: not even a
// target that is as it was before makes that contract sendable again, and
// nothing else is sent while the other request may be writing (decision 13).
func TestCopyFromBeforeAnAcquisitionCannotSendAgain(t *testing.T) {
	for _, point := range []string{"plan/after commit", "acquire/before commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			copied := ""
			var r *rig
			r = newRig(t, rigOptions{faultPoint: func(name string) {
				if name == point && copied == "" {
					copied = copyOfOpen(t, r.path())
				}
			}})
			id := r.confirmed(rigAlias, rigValue)
			r.execute(id)
			r.mustBe(id, core.Verified)
			r.rollback(id)
			r.mustBe(id, core.RolledBack) // and the target as it was prepared
			sent := r.sends()

			r.close()
			for _, suffix := range []string{"", "-wal"} {
				r.must(os.Rename(copied+suffix, r.path()+suffix))
			}
			r.open()
			r.mustBe(id, core.Prepared)
			r.mustBeAnchored()
			if h := r.engine.Header(); h.SettleContract != id {
				t.Fatalf("settling until %s, because of %q", h.SettleUntil, h.SettleContract)
			}
			fresh := r.replaceAttributed(id)
			if r.sends() != sent {
				t.Fatalf("%d requests were sent from the copy", r.sends()-sent)
			}
			r.execute(fresh)
			r.mustBe(fresh, core.Verified)
			r.mustBeAnchored()
			r.verifyClosed()
		})
	}
}

// A copy from before the anchor came to a planned number knows whose number it
// is. If that contract is not sent after all, its number is used up and the
// next one is another: the copy does not take the one for the other, and what
// was sent is not sent from it again (decision 13).
func TestCopyWithAnUnusedNumberCannotSend(t *testing.T) {
	r, a := ruled(t, nil)
	other := r.confirmed(rigOther, rigOtherValue)
	id := r.confirmed(rigAlias, rigValue)
	a.advance = func(core.Anchor, uint64) (uint64, error) { return 0, errLost }
	if p := r.execute(other); !errors.Is(p.Err, core.ErrAnchor) {
		t.Fatalf("got %v", p.Err)
	}
	putBack := r.keep()

	r.execute(id)
	r.mustBe(id, core.Verified)
	r.rollback(id) // and the target is as it was prepared
	r.mustBe(id, core.RolledBack)
	r.execute(other)
	r.mustBe(other, core.Verified)
	r.mustBeAnchored()
	r.close()
	number := func(c string) string {
		return "SELECT mark FROM cs_advances WHERE contract_id = '" + c + "' AND step = 'acquired'"
	}
	if first, second := r.column(number(id)), r.column(number(other)); !slices.Equal(first, []string{"1"}) || !slices.Equal(second, []string{"2"}) {
		t.Fatalf("sent under the numbers %v and %v", first, second)
	}
	r.open()

	sent := r.sends()
	putBack()
	r.clock.move(past)
	for _, c := range []string{id, other} {
		if err := r.engine.Execute(ctx(), c); !errors.Is(err, core.ErrRolledBackStore) {
			t.Fatalf("from the copy: %v", err)
		}
	}
	if r.sends() != sent {
		t.Fatalf("%d requests were sent from the copy", r.sends()-sent)
	}
}

// Two copies of one database that are both at work have one anchor. Where it
// moves between the reading and the step of one of them, the other has it, and
// a request may have left from there: nothing is sent here, and the contract
// that was about to be is attributed.
func TestAnchorThatAnotherCopyMovesIsNotTaken(t *testing.T) {
	r, a := ruled(t, nil)
	id := r.confirmed(rigAlias, rigValue)
	a.advance = func(real core.Anchor, expected uint64) (uint64, error) {
		if _, err := real.Advance(ctx(), expected); err != nil {
			t.Error(err)
		}
		return real.Advance(ctx(), expected)
	}
	if p := r.execute(id); !errors.Is(p.Err, core.ErrRolledBackStore) {
		t.Fatalf("got %v", p.Err)
	}
	r.mustBe(id, core.Prepared)
	_, err := r.engine.Refresh(ctx())
	r.must(err)
	r.mustBeAnchored()
	fresh := r.replaceAttributed(id)
	if r.sends() != 0 {
		t.Fatalf("%d requests were sent", r.sends())
	}
	r.execute(fresh)
	r.mustBe(fresh, core.Verified)
}

// Where a request really left, a contract that an advance was attributed to
// never says that nothing was changed: not before it is declined, not
// afterwards, and not in the exported trail (decision 13).
func TestAttributedContractClaimsNothing(t *testing.T) {
	copied := ""
	var r *rig
	r = newRig(t, rigOptions{faultPoint: func(name string) {
		if name == "plan/after commit" && copied == "" {
			copied = copyOfOpen(t, r.path())
		}
	}})
	id := r.confirmed(rigAlias, rigValue)
	if d := r.detail(id); d.Row.Sentence != "confirmed, not sent yet" || d.Actions[0] != (core.Action{Name: core.ActExecute}) {
		t.Fatalf("before: %q, %+v", d.Row.Sentence, d.Actions)
	}
	r.execute(id)
	r.mustBe(id, core.Verified)
	r.close()
	for _, suffix := range []string{"", "-wal"} {
		r.must(os.Rename(copied+suffix, r.path()+suffix))
	}
	r.open()

	const why = "the anchor moved for this contract and its console ended there; decline it and prepare it afresh"
	d := r.detail(id)
	if want := []core.Action{{Name: core.ActExecute, Reason: why}, {Name: core.ActDecline}}; !slices.Equal(d.Actions, want) {
		t.Fatalf("actions %+v", d.Actions)
	}
	r.mustSay(id, why)
	r.clock.move(past)
	if p := r.execute(id); !errors.Is(p.Err, core.ErrAttributed) || p.Sentence != "nothing was sent now; whether an earlier request left is not known" {
		t.Fatalf("%v: %q", p.Err, p.Sentence)
	}
	r.must(r.engine.Decline(ctx(), id, rigOperator, pass()))
	r.mustSay(id, "given up; whether an earlier request left is not known: read the target")
	note := lastNote(t, r, id)
	if note.Knowledge != core.Ambiguous || note.Failure != core.FailureGivenUp || note.Actor != rigOperator {
		t.Fatalf("recorded %+v", note)
	}
	if next, _ := core.Resolve(note.Boundary, note.Knowledge); next != core.Reconciliation {
		t.Fatalf("the fault table takes %+v for proven", note)
	}
	var trail bytes.Buffer
	r.must(core.ExportAudit(ctx(), r.store, &trail))
	lines := strings.Split(strings.TrimSpace(trail.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"failure_class":"given_up_not_proven"`) || strings.Contains(last, "refused") {
		t.Fatal(last)
	}
	r.verifyClosed()
}

// mustSay: list and detail explain a contract with the same sentence.
func (r *rig) mustSay(id, want string) {
	r.t.Helper()
	page, err := r.engine.List(ctx(), core.ListHistory, "", 10)
	r.must(err)
	for _, row := range append(page.Rows, r.detail(id).Row) {
		if row.ContractID == id && row.Sentence != want {
			r.t.Fatalf("%s says %q", row.State, row.Sentence)
		}
	}
}

func (r *rig) detail(id string) core.Detail {
	r.t.Helper()
	d, err := r.engine.Detail(ctx(), id)
	r.must(err)
	return d
}

// copyOfOpen copies a database that is open, with its log, by another process:
// opening and closing it here would drop SQLite's locks.
func copyOfOpen(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	for _, suffix := range []string{"", "-wal"} {
		if out, err := exec.Command("cp", "-p", path+suffix, to+suffix).CombinedOutput(); err != nil {
			t.Errorf("copying: %v %s", err, out)
		}
	}
	return to
}

// verifyClosed verifies the store between two consoles.
func (r *rig) verifyClosed() {
	r.t.Helper()
	r.close()
	r.verifyStore()
	r.open()
}

// Only a forward execution moves the anchor. A copy from before a rollback is
// not told apart by it; there the target itself refuses: it is no longer what
// the copy believes.
func TestCopyFromBeforeARollbackCannotRollBackAgain(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.verified(rigAlias, rigValue)
	putBack := r.keep()
	r.rollback(id)
	r.mustBe(id, core.RolledBack)
	sent := r.sends()

	putBack()
	r.mustBe(id, core.Verified)
	if err := r.engine.Rollback(ctx(), id, rigOperator, pass()); !errors.Is(err, core.ErrDrift) {
		t.Fatalf("a rollback from an old copy: %v", err)
	}
	r.sendDirectly(id, core.Backward)
	r.mustBe(id, core.RollbackFailed)
	if r.sends() != sent {
		t.Fatal("something was sent")
	}
}

// An anchor that was set back, is missing or is not exactly what was written
// closes whatever sends; with the right one back, everything goes on.
func TestAnchorThatIsNotAsItWas(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace string // "": the item is deleted
		want    error
	}{
		{"set back", "1", core.ErrRolledBackStore},
		{"set forward", "3", core.ErrRolledBackStore},
		{"missing", "", core.ErrAnchor},
		{"another spelling", "02", core.ErrAnchor},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			done := r.verified(rigAlias, rigValue)
			other := r.verified(rigOther, rigOtherValue)
			r.rollback(other)
			r.clock.move(2 * time.Minute) // its target's cool-down
			id := r.confirmed(rigOther, rigOtherValue)
			if c.replace == "" {
				r.must(r.ring.Delete(ctx(), keys.ItemAnchor))
			} else {
				r.must(r.ring.Replace(ctx(), keys.ItemAnchor, []byte("2"), []byte(c.replace)))
			}
			r.restart()
			r.mustRefuse(c.want, id, done, 3)
			if c.replace == "" {
				r.must(r.ring.Create(ctx(), keys.ItemAnchor, []byte("2")))
			} else {
				r.must(r.ring.Replace(ctx(), keys.ItemAnchor, []byte(c.replace), []byte("2")))
			}
			r.execute(id)
			r.mustBe(id, core.Verified)
			r.mustBeAnchored()
		})
	}
}

// A limit refuses before the anchor moves and before anything is planned
// (design lesson 1).
func TestLimitsRefuseBeforeTheAnchorMoves(t *testing.T) {
	limits := core.DefaultLimits()
	limits.MaxInFlight = 0
	r, a := ruled(t, &limits)
	a.advance = func(core.Anchor, uint64) (uint64, error) {
		t.Error("the anchor was asked to move")
		return 0, errLost
	}
	id := r.confirmed(rigAlias, rigValue)
	if p := r.execute(id); !errors.Is(p.Err, core.ErrLimit) {
		t.Fatalf("got %v", p.Err)
	}
	r.mustBe(id, core.Prepared)
	r.mustBeAnchored()
	if r.sends() != 0 {
		t.Fatal("something was sent")
	}
	r.close()
	if planned := r.column("SELECT step FROM cs_advances"); planned != nil {
		t.Fatalf("planned: %v", planned)
	}
	r.open()
}

// Listing, reading, preparing, both gates and declining never touch the
// anchor (design section 6).
func TestNothingButASendTouchesTheAnchor(t *testing.T) {
	r, a := ruled(t, nil)
	reads := a.reads
	a.advance = func(core.Anchor, uint64) (uint64, error) {
		t.Error("the anchor was asked to move")
		return 0, errLost
	}
	id := r.confirmed(rigAlias, rigValue)
	_, err := r.engine.List(ctx(), core.ListActive, "", 10)
	r.must(err)
	_, err = r.engine.Review(ctx(), id)
	r.must(err)
	_, err = r.engine.Refresh(ctx())
	r.must(err)
	r.observe(id)
	r.must(r.engine.Decline(ctx(), id, rigOperator, pass()))
	if a.reads != reads {
		t.Fatalf("the anchor was read %d times", a.reads-reads)
	}
}

// Provisioning is insert-only on both sides: neither the counter nor the
// baseline in the database is ever set a second time.
func TestAnchorIsProvisionedOnce(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.must(r.store.ProvisionAnchor(ctx(), "keyring", 0))
	id := r.confirmed(rigAlias, rigValue)
	for range 2 {
		if err := r.store.ProvisionAnchor(ctx(), "keyring", 0); !errors.Is(err, core.ErrConflict) {
			t.Fatalf("the baseline a second time: %v", err)
		}
		if err := keys.NewRingAnchor(r.ring).Provision(ctx(), 0); !errors.Is(err, core.ErrAnchor) || !errors.Is(err, keys.ErrExists) {
			t.Fatalf("the counter a second time: %v", err)
		}
		if r.load(id).State == core.Prepared {
			r.execute(id) // and once more when it has moved
		}
	}
	r.mustBe(id, core.Verified)
	r.mustBeAnchored()
	r.restart()
	r.mustBeAnchored()
}

// A store that was used before it was provisioned is never given a baseline.
func TestBaselineIsNotGivenAfterwards(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.verified(rigAlias, rigValue)
	if err := r.store.ProvisionAnchor(ctx(), "keyring", 1); !errors.Is(err, core.ErrConflict) {
		t.Fatalf("got %v", err)
	}
	r.mustBeAnchored()
}
