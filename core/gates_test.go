package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

func ctx() context.Context { return context.Background() }

func (r *rig) draft(alias, text string) core.Draft {
	r.t.Helper()
	d, err := r.engine.Prepare(ctx(), "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": alias, "description": text}, "")
	r.must(err)
	return d
}

// Every refusal at gate two leaves the contract PREPARED and unconfirmed, and
// its class is told.
func TestConfirmationRefusals(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.prepared(rigAlias, rigValue)
	for _, c := range []struct {
		name             string
		target, operator string
		pass             string
		want             error
	}{
		{"wrong passphrase", rigAlias, rigOperator, "not the passphrase", core.ErrWrongPassphrase},
		{"another target's name", "web_ports", rigOperator, rigPass, core.ErrTypedTarget},
		{"no name", "", rigOperator, rigPass, core.ErrTypedTarget},
		{"the name with a blank", rigAlias + " ", rigOperator, rigPass, core.ErrTypedTarget},
		{"nobody enrolled", rigAlias, "mika", rigPass, core.ErrUnknownOperator},
	} {
		if err := r.engine.Confirm(ctx(), id, c.target, c.operator, []byte(c.pass)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if got := r.load(id); got.State != core.Prepared || got.Confirmed() {
			t.Fatalf("%s: the contract changed", c.name)
		}
	}
	if err := r.engine.Execute(ctx(), id); err == nil {
		if p := r.wait(id); !errors.Is(p.Err, core.ErrUnconfirmed) {
			t.Fatalf("an unconfirmed contract was executed: %v", p.Err)
		}
	}
	r.must(r.engine.Confirm(ctx(), id, rigAlias, rigOperator, pass()))
	if err := r.engine.Confirm(ctx(), id, rigAlias, rigOperator, pass()); !errors.Is(err, core.ErrConflict) {
		t.Fatalf("a second confirmation: %v", err)
	}
	if r.sends() != 0 {
		t.Fatal("something was sent")
	}
}

// wait returns the last progress of a run that was started.
func (r *rig) wait(id string) core.Progress {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if p, ok := r.engine.Progress(id); ok && p.Done {
			return p
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the run did not end")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// An expired window is closed at both gates, and expiry is the owner's to release.
func TestExpiredContractStillBlocks(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.prepared(rigAlias, rigValue)
	r.clock.move(11 * time.Minute)
	if err := r.engine.Confirm(ctx(), id, rigAlias, rigOperator, pass()); !errors.Is(err, core.ErrExpired) {
		t.Fatalf("confirming after expiry: %v", err)
	}
	if err := r.engine.Decline(ctx(), id, rigOperator, pass()); err == nil {
		t.Fatal("declining after expiry was accepted: only the owner releases an expired contract")
	}
	_, err := r.engine.Authorize(ctx(), r.draft(rigAlias, rigValue), rigOperator, pass())
	if !errors.Is(err, core.ErrBlocked) {
		t.Fatalf("a fresh attempt beside an expired PREPARED: %v", err)
	}
	r.mustBe(id, core.Prepared)
}

// Declining is authenticated, ends in FAILED, and lets a fresh attempt through.
func TestDecline(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.prepared(rigAlias, rigValue)
	if err := r.engine.Decline(ctx(), id, rigOperator, []byte("not the passphrase")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Fatalf("a wrong passphrase: %v", err)
	}
	r.mustBe(id, core.Prepared)
	r.must(r.engine.Decline(ctx(), id, rigOperator, pass()))
	r.mustBe(id, core.Failed)
	if n := lastNote(t, r, id); n.Failure != core.FailureDeclined || n.Actor != rigOperator {
		t.Fatalf("the note says %+v", n)
	}
	r.clock.move(2 * time.Minute)
	r.prepared(rigAlias, rigValue)
}

// The target must be at authorization exactly what it was in the draft.
func TestAuthorizationNeedsTheDraftedTarget(t *testing.T) {
	for name, edit := range map[string]func(*sim.Admin){
		"edited":      func(a *sim.Admin) { a.SetAliasDescription(rigAlias, "other") },
		"renumbered":  func(a *sim.Admin) { a.InsertAlias(0, "first_hosts", "192.0.2.7") },
		"deleted":     func(a *sim.Admin) { a.DeleteAlias(rigAlias) },
		"doubled":     func(a *sim.Admin) { a.DuplicateAlias(rigAlias) },
		"renamed":     func(a *sim.Admin) { a.RenameAlias(rigAlias, "renamed_hosts") },
		"re-pointed":  func(a *sim.Admin) { a.SetAliasAddresses(rigAlias, []string{"192.0.2.9"}, []string{""}) },
		"set already": func(a *sim.Admin) { a.SetAliasDescription(rigAlias, rigValue) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			d := r.draft(rigAlias, rigValue)
			edit(r.sim.Admin())
			if _, err := r.engine.Authorize(ctx(), d, rigOperator, pass()); err == nil {
				t.Fatal("authorized")
			}
			counts, err := r.store.Counts(ctx())
			r.must(err)
			if counts.History != 0 {
				t.Fatal("a refusal created something")
			}
		})
	}
}

// A lost answer is answered again: the same draft, submitted twice, is one
// contract (seed 001).
func TestRepeatedRequestIsReplayed(t *testing.T) {
	r := newRig(t, rigOptions{})
	d := r.draft(rigAlias, rigValue)
	first, err := r.engine.Authorize(ctx(), d, rigOperator, pass())
	r.must(err)
	r.restart()
	second, err := r.engine.Authorize(ctx(), d, rigOperator, pass())
	if err != nil || second != first {
		t.Fatalf("the repeated request gave %q, %v; the first gave %q", second, err, first)
	}
	other := r.draft(rigAlias, "another text")
	other.RequestKey = d.RequestKey
	if _, err := r.engine.Authorize(ctx(), other, rigOperator, pass()); !errors.Is(err, core.ErrRetryChanged) {
		t.Fatalf("another request under the same key: %v", err)
	}
}

// Prepare reads and writes nothing.
func TestPrepareIsReadOnly(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.draft(rigAlias, rigValue)
	counts, err := r.store.Counts(ctx())
	r.must(err)
	if r.sends() != 0 || counts.History != 0 {
		t.Fatal("preparing changed something")
	}
}

// Read-only mode refuses before anything is acquired (lesson 19), forward and back.
func TestReadOnlyModeRefusesBeforeAcquisition(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.confirmed(rigAlias, rigValue)
	r.sim.Admin().SetReadOnly(true)
	if err := r.engine.Execute(ctx(), id); err == nil {
		if p := r.wait(id); !errors.Is(p.Err, core.ErrReadOnlyAppliance) {
			t.Fatalf("executing in read-only mode: %v", p.Err)
		}
	}
	r.mustBe(id, core.Prepared)
	if _, err := r.engine.Prepare(ctx(), "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": "web_ports", "description": "x"}, ""); !errors.Is(err, core.ErrReadOnlyAppliance) {
		t.Fatalf("preparing in read-only mode: %v", err)
	}
	r.sim.Admin().SetReadOnly(false)
	r.execute(id)
	r.mustBe(id, core.Verified)
	r.sim.Admin().SetReadOnly(true)
	if p := r.rollback(id); !errors.Is(p.Err, core.ErrReadOnlyAppliance) {
		t.Fatalf("rolling back in read-only mode: %v", p.Err)
	}
	r.mustBe(id, core.Verified)
}

// A changed neighbour does not undo VERIFIED; it is told at once, and once
// more some seconds later (design section 4, rule 5).
func TestChangedNeighboursAreTold(t *testing.T) {
	r := newRig(t, rigOptions{})
	id := r.confirmed(rigAlias, rigValue)
	r.sim.Inject(writes(sim.Fault{Kind: sim.Call, At: sim.AfterAnswer, Func: func(a *sim.Admin) {
		a.SetAliasDescription("web_ports", "changed meanwhile")
	}}))
	p := r.execute(id)
	r.mustBe(id, core.Verified)
	if p.Warning == "" || lastNote(t, r, id).Neighbours != 1 {
		t.Fatalf("warning %q, recorded %d", p.Warning, lastNote(t, r, id).Neighbours)
	}
}
