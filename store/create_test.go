package store

import (
	"errors"
	"testing"
	"time"

	"countersign/core"
)

func (r *rig) spent() int {
	r.t.Helper()
	return r.count("SELECT count(*) FROM cs_consumed")
}

// Seed 000, case 1: a blocking contract refuses, and nothing is spent.
func TestCaseBlockingContract(t *testing.T) {
	r := newRig(t, nil)
	first := r.create("a", "t", "i")
	second := r.creation(testContract("b", "t", "i", r.clock.Now(), testValidity))
	if _, err := r.AuthorizeAndCreate(r.ctx, second); !errors.Is(err, core.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	if r.spent() != 1 {
		t.Fatalf("%d authorizations are spent", r.spent())
	}
	// The same authorization is good once the way is free.
	_, err := r.Decline(r.ctx, first.ID, r.approval(core.ApproveDecline, first), acceptAll{})
	r.must(err)
	if c, err := r.AuthorizeAndCreate(r.ctx, second); err != nil || c.ID != "b" {
		t.Fatalf("%v %v", c.ID, err)
	}
	r.check()
}

// Seed 000, case 2: with only terminal history, an authorization that one of
// the attempts recorded is refused before it is consumed; a fresh one is not.
func TestCaseTerminalHistory(t *testing.T) {
	r := newRig(t, nil)
	made := r.creation(testContract("a", "t", "i", r.clock.Now(), testValidity))
	c, err := r.AuthorizeAndCreate(r.ctx, made)
	r.must(err)
	r.move(c, core.Failed)
	r.clock.add(time.Minute)
	reused := r.creationWith(testContract("b", "t", "i", r.clock.Now(), time.Minute), made.Authorization)
	reused.Claim.RequestKey = "another request"
	if _, err := r.AuthorizeAndCreate(r.ctx, reused); !errors.Is(err, core.ErrSpent) {
		t.Fatalf("got %v", err)
	}
	r.create("c", "t", "i")
	history, err := r.FindHistoricalByIdempotencyKey(r.ctx, c.IdempotencyKey)
	r.must(err)
	if len(history) != 2 || history[0].ID != "a" || history[1].ID != "c" {
		t.Fatalf("history %v", history)
	}
	r.check()
}

// Seed 000, case 3: without history the way is free. The authorization is
// still one-shot: for another operation it is consumed already, and says so.
func TestCaseNoHistory(t *testing.T) {
	r := newRig(t, nil)
	made := r.creation(testContract("a", "t", "i", r.clock.Now(), testValidity))
	_, err := r.AuthorizeAndCreate(r.ctx, made)
	r.must(err)
	other := r.creationWith(testContract("b", "t2", "i2", r.clock.Now(), testValidity), made.Authorization)
	other.Claim.RequestKey = "another request"
	if _, err := r.AuthorizeAndCreate(r.ctx, other); !errors.Is(err, core.ErrSpent) {
		t.Fatalf("got %v", err)
	}
	if _, err := r.Load(r.ctx, "b"); !errors.Is(err, core.ErrNotFound) {
		t.Fatalf("b: %v", err)
	}
	r.check()
}

// At the insert the partial unique index is the only guard: whoever comes
// second there is told so, and all of its transaction is undone.
func TestPartialIndexIsTheGuard(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", "t", "i")
	late := r.creation(testContract("b", "t", "i", r.clock.Now(), testValidity))
	err := r.write(r.ctx, "race", func(t *tx) error { // what is left after a preflight that saw nothing
		if err := t.consume(late.Authorization, late.Contract.ID); err != nil {
			return err
		}
		_, err := t.insertPrepared(late)
		return err
	})
	if !errors.Is(err, core.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	if r.spent() != 1 {
		t.Fatalf("%d authorizations are spent", r.spent())
	}
	r.check()
}

// Everything that can be wrong with a creation refuses it with its class and
// spends nothing.
func TestCreationIsRefusedWhole(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*core.Creation)
		want  error
	}{
		"no verifier":        {func(c *core.Creation) { c.Verifier = nil }, core.ErrVerifierMissing},
		"refused proof":      {func(c *core.Creation) { c.Authorization.Proof = []byte("no") }, core.ErrProof},
		"another appliance":  {func(c *core.Creation) { c.Draft.ApplianceDigest = testDigest("x") }, core.ErrBinding},
		"another plan":       {func(c *core.Creation) { c.Draft.PlanDigest = testDigest("x") }, core.ErrBinding},
		"another intent":     {func(c *core.Creation) { c.Draft.ExecutionIntentDigest = testDigest("x") }, core.ErrBinding},
		"another draft":      {func(c *core.Creation) { c.Draft.IntentDigest = testDigest("x") }, core.ErrBinding},
		"another provenance": {func(c *core.Creation) { c.Contract.Provenance.StepID = "x" }, core.ErrBinding},
		"no provenance":      {func(c *core.Creation) { c.Contract.Provenance = nil }, core.ErrBinding},
		"not PREPARING":      {func(c *core.Creation) { c.Contract.State = core.Prepared }, core.ErrInvalid},
		"expired":            {func(c *core.Creation) { c.Contract.ExpiresAt = testStart }, core.ErrInvalid},
		"from the future":    {func(c *core.Creation) { c.Contract.CreatedAt = testStart.Add(time.Second) }, core.ErrInvalid},
		"bad identifier":     {func(c *core.Creation) { c.Contract.ID = "a b" }, core.ErrInvalid},
		"no request key":     {func(c *core.Creation) { c.Claim.RequestKey = "" }, core.ErrInvalid},
		"authorization is too old": {func(c *core.Creation) {
			c.Authorization.ExpiresAt = testStart
			c.Authorization.IssuedAt = testStart.Add(-time.Minute)
			p := c.Authorization.Provenance()
			c.Contract.Provenance = &p
		}, core.ErrInvalid}, // the contract would outlive it
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			creation := r.creation(testContract("a", "t", "i", r.clock.Now(), testValidity))
			c.spoil(&creation)
			if _, err := r.AuthorizeAndCreate(r.ctx, creation); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if r.spent() != 0 || r.count("SELECT count(*) FROM contracts") != 0 || r.count("SELECT count(*) FROM cs_receipts") != 0 {
				t.Fatal("something was written")
			}
		})
	}
}
