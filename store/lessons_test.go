package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"countersign/core"
)

// The lessons of the reference that concern the store, one test each; those
// about records, the scan and migration are with the conformance cases.

// Lesson 1: a limit is refused before anything about the anchor is written,
// and an advance whose answer was lost is attributed, not taken for an older
// database.
func TestLesson1LimitsBeforeTheAnchor(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.confirm(r.create("a", "t-a", "i-a")), r.confirm(r.create("b", "t-b", "i-b"))
	a = r.acquire(a)
	if _, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion); !errors.Is(err, core.ErrLimit) {
		t.Fatalf("got %v", err)
	}
	if n := r.count("SELECT count(*) FROM cs_advances WHERE contract_id = 'b'"); n != 0 {
		t.Fatalf("%d advances were planned for b", n)
	}
	r.seal(a)

	mark, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion)
	r.must(err)
	// The anchor moves, and the process ends before Acquire.
	r.reopen()
	r.must(r.SettleAnchor(r.ctx, mark+1))
	h, err := r.Health(r.ctx)
	r.must(err)
	if h.Mark != mark+1 || !h.AnchorOK {
		t.Fatalf("health %+v", h)
	}
	// The store goes on; only what the advance was for is not sent from it.
	if c := r.acquire(r.confirm(r.create("c", "t-c", "i-c"))); c.State != core.Executing {
		t.Fatalf("state %s", c.State)
	}
	if n := r.count("SELECT count(*) FROM cs_advances WHERE contract_id = 'b' AND step = 'attributed'"); n != 1 {
		t.Fatalf("%d attributions", n)
	}
	r.check()
}

// An anchor one ahead is what a console leaves that ended between its advance
// and its acquisition. It is also what is found over a copy of the database
// that was made there and put back after the send. So the contract is not
// acquired again, nothing is sent or made while that send may be writing, and
// a fresh attempt takes its place afterwards (decision 13).
func TestAttributedContractIsNotAcquired(t *testing.T) {
	const settle = 3 * time.Minute
	r := newRig(t, func(o *Options) { o.Settle = settle })
	a, b := r.confirm(r.create("a", "t-a", "i-a")), r.confirm(r.create("b", "t-b", "i-b"))
	_, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion)
	r.must(err)
	database, log := readBoth(t, r.opts.Path)
	_, err = r.Acquire(r.ctx, a.ID, a.StateVersion) // and a request leaves
	r.must(err)

	copied := *r
	copied.opts.Path = afterCut(t, database, log)
	copied.Store, err = Open(r.ctx, copied.opts)
	r.must(err)
	defer copied.Store.Close()
	copied.must(copied.SettleAnchor(r.ctx, 1))
	if at, id, err := copied.LastAmbiguous(r.ctx); err != nil || id != a.ID || !at.Equal(r.clock.Now()) {
		t.Fatalf("the ambiguous send is that of %q at %s (%v)", id, at, err)
	}
	refused := func(c core.Contract, want error) {
		t.Helper()
		if _, err := copied.PlanAcquisition(r.ctx, c.ID, c.StateVersion); !errors.Is(err, want) {
			t.Fatalf("planning %s: %v, want %v", c.ID, err, want)
		}
	}
	refused(a, core.ErrAttributed)
	refused(a, core.ErrConflict)
	refused(b, core.ErrSettling)
	again := copied.creation(testContract("again", "t-a", "i-a", r.clock.Now(), testValidity))
	if _, err := copied.AuthorizeAndCreate(r.ctx, again); !errors.Is(err, core.ErrBlocked) {
		t.Fatalf("a fresh attempt beside it: %v", err)
	}
	page, err := copied.List(r.ctx, core.ListQuery{List: core.ListActive, Limit: 10})
	r.must(err)
	for _, item := range page.Items {
		if item.Attributed != (item.Contract.ID == a.ID) {
			t.Fatalf("%s is attributed: %v", item.Contract.ID, item.Attributed)
		}
	}
	_, err = copied.Decline(r.ctx, a.ID, r.approval(core.ApproveDecline, a), acceptAll{})
	r.must(err)
	if _, err := copied.AuthorizeAndCreate(r.ctx, again); !errors.Is(err, core.ErrSettling) {
		t.Fatalf("a fresh attempt at once: %v", err)
	}
	r.clock.add(settle)
	copied.seal(copied.acquire(b)) // it was not the one, and its window is open (lesson 7)
	copied.acquire(copied.confirm(copied.create("again", "t-a", "i-a")))
	copied.check()
}

// The process that moved the anchor knows whether it acquired anything: it
// sends nobody away.
func TestPlannerKnowsThatNothingWasAcquired(t *testing.T) {
	r := newRig(t, nil)
	a := r.confirm(r.create("a", "t-a", "i-a"))
	for mark := range uint64(2) {
		planned, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion)
		r.must(err)
		if planned != mark {
			t.Fatalf("planned at %d, want %d", planned, mark)
		}
		r.must(r.WithdrawAdvance(r.ctx, mark+1)) // it moved, and the acquisition failed
	}
	if at, id, err := r.LastAmbiguous(r.ctx); err != nil || !at.IsZero() {
		t.Fatalf("an ambiguous send of %q at %s (%v)", id, at, err)
	}
	r.acquire(a)
	if n := r.count("SELECT count(*) FROM cs_advances WHERE step = 'withdrawn'"); n != 2 {
		t.Fatalf("%d advances were withdrawn", n)
	}
	r.check()
}

// Lesson 2 and design section 6: the mark and EXECUTING are one commit, an
// older database and an older anchor are both refused, and reading goes on.
func TestAnchorAndDatabaseMustAgree(t *testing.T) {
	for name, c := range map[string]struct {
		anchor uint64
		plan   bool
		want   error
	}{
		"equal":                     {1, false, nil},
		"equal, planned":            {1, true, nil},
		"one ahead, planned":        {2, true, nil},
		"one ahead, nobody planned": {2, false, core.ErrRolledBackStore},
		"two ahead":                 {3, true, core.ErrRolledBackStore},
		"behind":                    {0, false, core.ErrRolledBackStore},
		"behind, planned":           {0, true, core.ErrRolledBackStore},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.seal(r.acquire(r.confirm(r.create("a", "t-a", "i-a")))) // the mark is 1 now
			b := r.confirm(r.create("b", "t-b", "i-b"))
			if c.plan {
				_, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion)
				r.must(err)
			}
			if err := r.SettleAnchor(r.ctx, c.anchor); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			_, planErr := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion)
			if (c.want != nil) != errors.Is(planErr, core.ErrRolledBackStore) {
				t.Errorf("planning afterwards: %v", planErr)
			}
			if _, err := r.Load(r.ctx, b.ID); err != nil {
				t.Errorf("reading: %v", err)
			}
			if h, err := r.Health(r.ctx); err != nil || h.AnchorOK != (c.want == nil) {
				t.Errorf("health %+v, %v", h, err)
			}
			r.check()
		})
	}
}

// A number is one contract's: while its advance is open, another cannot plan
// one, or nobody could say whose it was. A reading that shows that the anchor
// has not moved changes nothing about that: only a step of the anchor does.
func TestOneNumberForOneContract(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.confirm(r.create("a", "t-a", "i-a")), r.confirm(r.create("b", "t-b", "i-b"))
	mark, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion)
	r.must(err)
	for range 2 {
		again, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion)
		r.must(err)
		if again != mark {
			t.Fatalf("planned at %d and again at %d", mark, again)
		}
		if _, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion); !errors.Is(err, core.ErrNumberTaken) || !errors.Is(err, core.ErrAnchor) {
			t.Fatalf("got %v", err)
		}
		if _, err := r.Acquire(r.ctx, b.ID, b.StateVersion); !errors.Is(err, core.ErrConflict) {
			t.Fatalf("acquired without a plan: %v", err)
		}
		r.must(r.SettleAnchor(r.ctx, mark))
		r.reopen()
		r.must(r.SettleAnchor(r.ctx, mark))
	}
	r.must(r.WithdrawAdvance(r.ctx, mark+1)) // it was used up
	if _, err := r.Acquire(r.ctx, a.ID, a.StateVersion); !errors.Is(err, core.ErrConflict) {
		t.Fatalf("acquired with a withdrawn plan: %v", err)
	}
	r.seal(r.acquire(b))
	r.acquire(a)
	if h, err := r.Health(r.ctx); err != nil || h.Mark != mark+3 {
		t.Fatalf("the mark is %d (%v)", h.Mark, err)
	}
	r.check()
}

// A restored older copy of the whole file is sound in itself; only the anchor
// tells, and then nothing is sent.
func TestRestoredCopyCanBeReadNotSent(t *testing.T) {
	r := newRig(t, nil)
	b := r.confirm(r.create("b", "t-b", "i-b"))
	r.must(r.Store.Close())
	kept := copyStore(t, r.opts.Path)
	var err error
	r.Store, err = Open(r.ctx, r.opts)
	r.must(err)
	r.seal(r.acquire(b)) // the anchor outside would be at 1 now

	o := r.opts
	o.Path = kept
	old, err := Open(r.ctx, o)
	r.must(err)
	defer old.Close()
	checkStore(t, o)
	if err := old.SettleAnchor(r.ctx, 1); !errors.Is(err, core.ErrRolledBackStore) {
		t.Fatalf("got %v", err)
	}
	if _, err := old.PlanAcquisition(r.ctx, b.ID, b.StateVersion); !errors.Is(err, core.ErrRolledBackStore) {
		t.Fatalf("got %v", err)
	}
	if c, err := old.Load(r.ctx, b.ID); err != nil || c.State != core.Prepared {
		t.Fatalf("reading: %v %v", c.State, err)
	}
}

// Lesson 3: opening, listing and verifying from elsewhere disturb nothing
// that is under way.
func TestLesson3OpeningDisturbsNothing(t *testing.T) {
	r := newRig(t, nil)
	c := r.acquire(r.confirm(r.create("a", "t", "i")))
	other, err := Open(r.ctx, r.opts)
	r.must(err)
	r.check()
	seen, err := other.Load(r.ctx, c.ID)
	r.must(err)
	r.must(other.Close())
	if seen.State != core.Executing {
		t.Fatalf("another console sees %s", seen.State)
	}
	r.seal(c)
	if mode := rawRows(t, r.opts.Path, "PRAGMA journal_mode"); mode[0][0] != "wal" {
		t.Errorf("the other's end took the log away: %v", mode)
	}
}

// Lesson 6: what was true when a person decided must still be true in the
// transaction: the clock is read there.
func TestLesson6DecidedInTheTransaction(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("a", "t", "i")
	e := core.NewConfirmationEvidence(c, "jo", "hmac-v1", "nonce-1", r.clock.Now())
	e.Proof = []byte("yes")
	r.clock.add(testValidity)
	if _, err := r.Confirm(r.ctx, c.ID, c.StateVersion, e, acceptAll{}); !errors.Is(err, core.ErrExpired) {
		t.Errorf("confirm: %v", err)
	}
	r.clock.add(-testValidity)
	c = r.confirm(c)
	_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
	r.must(err)
	r.clock.add(testValidity)
	if _, err := r.Acquire(r.ctx, c.ID, c.StateVersion); !errors.Is(err, core.ErrExpired) {
		t.Errorf("acquire: %v", err)
	}
	r.check()
}

// Lesson 7: creation leaves no contract that nothing can finish, and both
// events are in its chain.
func TestLesson7CreationIsOneCommit(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("a", "t", "i")
	events, err := r.Timeline(r.ctx, c.ID)
	r.must(err)
	if c.State != core.Prepared || c.StateVersion != 1 || len(events) != 2 || events[0].Current != core.Preparing {
		t.Fatalf("%s version %d, %d events", c.State, c.StateVersion, len(events))
	}
	r.reopen()
	r.acquire(r.confirm(c)) // a restart in between changes nothing
}

// Lesson 8: the boundary is that of the last state event, also when an event
// of another kind came after it.
func TestLesson8BoundaryAfterRotation(t *testing.T) {
	r := newRig(t, nil)
	c := r.move(r.acquire(r.confirm(r.create("a", "t", "i"))), core.Reconciliation)
	r.must(r.write(r.ctx, "rotate", func(t *tx) error {
		l, err := t.load(c.ID)
		if err != nil {
			return err
		}
		l, err = t.step(l, change{kind: core.EventRotated, to: core.Reconciliation})
		c = l.Contract
		return err
	}))
	if c = r.resolve(c, core.ConfirmedApplied); c.State != core.Verified {
		t.Fatalf("state %s", c.State)
	}
	r.check()
}

// Lesson 20: who concluded what, with which evidence, is in the timeline.
func TestLesson20ConclusionsAreKept(t *testing.T) {
	r := newRig(t, nil)
	c := r.move(r.acquire(r.confirm(r.create("a", "t", "i"))), core.Reconciliation)
	e := r.evidence(c, core.ConfirmedNotApplied)
	c, err := r.Resolve(r.ctx, c.ID, e, acceptAll{})
	r.must(err)
	events, err := r.Timeline(r.ctx, c.ID)
	r.must(err)
	digest, err := e.Digest()
	r.must(err)
	n := events[len(events)-1].Note
	if n == nil || n.Actor != "jo" || n.Outcome != core.ConfirmedNotApplied || n.Evidence != digest.String() {
		t.Fatalf("note %+v", n)
	}
	if rows := r.count("SELECT count(*) FROM cs_conclusions WHERE kind = 'reconciliation' AND authority_id = 'jo'"); rows != 1 {
		t.Fatalf("%d conclusions", rows)
	}
}

// Lesson 21: nobody outside can expire anything through the generic call,
// not even what has expired.
func TestLesson21TransitionNeverExpires(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("a", "t", "i")
	r.clock.add(testValidity)
	if _, err := r.Transition(r.ctx, c.ID, c.StateVersion, core.Expired, core.Note{}); !errors.Is(err, core.ErrIllegalTransition) {
		t.Fatalf("got %v", err)
	}
	if found, err := r.FindByIdempotencyKey(r.ctx, c.IdempotencyKey); err != nil || found == nil {
		t.Fatalf("the key is free: %v %v", found, err)
	}
}

// The settle window: after a send whose outcome is not known, nothing new is
// made or sent from any console on this store, and nobody may conclude that
// it was not applied, until it has passed; also after a restart.
func TestSettleWindow(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Settle = 0 }) // the default
	waiting := r.confirm(r.create("w", "t-w", "i-w"))
	rolled := r.seal(r.acquire(r.confirm(r.create("v", "t-v", "i-v"))))
	c := r.acquire(r.confirm(r.create("a", "t-a", "i-a")))
	lastByte := r.clock.Now().Add(time.Second)
	r.clock.add(5 * time.Second)
	c, err := r.Transition(r.ctx, c.ID, c.StateVersion, core.Reconciliation, core.Note{LastByteAt: &lastByte, Direction: core.Forward})
	r.must(err)
	r.reopen()
	at, id, err := r.LastAmbiguous(r.ctx)
	r.must(err)
	if !at.Equal(lastByte) || id != c.ID {
		t.Fatalf("last ambiguous %v of %s", at, id)
	}
	blocked := func() (errs []error) {
		_, create := r.AuthorizeAndCreate(r.ctx, r.creation(testContract("n", "t-n", "i-n", r.clock.Now(), testValidity)))
		_, plan := r.PlanAcquisition(r.ctx, waiting.ID, waiting.StateVersion)
		_, rollback := r.AcquireRollback(r.ctx, rolled.ID, r.approval(core.ApproveRollback, rolled), acceptAll{})
		_, conclude := r.Resolve(r.ctx, c.ID, r.evidence(c, core.ConfirmedNotApplied), acceptAll{})
		return []error{create, plan, rollback, conclude}
	}
	r.clock.at(time.Second + core.MinimumSettle - time.Microsecond)
	for i, err := range blocked() {
		if !errors.Is(err, core.ErrSettling) {
			t.Errorf("%d, a microsecond before the end: %v", i, err)
		}
	}
	applied := r.evidence(c, core.ConfirmedApplied)
	c, err = r.Resolve(r.ctx, c.ID, applied, acceptAll{})
	r.must(err) // a reading that shows the intended state supports "applied" at once
	if _, err := r.PlanAcquisition(r.ctx, waiting.ID, waiting.StateVersion); !errors.Is(err, core.ErrSettling) {
		t.Errorf("resolved, but a late write does not know: %v", err)
	}
	r.clock.at(time.Second + core.MinimumSettle)
	r.acquire(waiting)
	r.check()
}

// Errors name classes and never values: no id, target, digest or path.
func TestErrorsCarryNoValues(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("secret-contract", "secret-target", "secret-intent")
	dup := testContract("secret-contract-2", "secret-target", "secret-intent", r.clock.Now(), testValidity)
	_, blocked := r.AuthorizeAndCreate(r.ctx, r.creation(dup))
	same := testContract("secret-contract", "other", "other", r.clock.Now(), testValidity)
	_, conflict := r.AuthorizeAndCreate(r.ctx, r.creation(same))
	_, missing := r.Load(r.ctx, "secret-nothing")
	_, stale := r.Transition(r.ctx, c.ID, 7, core.Failed, core.Note{})
	_, illegal := r.SealVerified(r.ctx, c.ID, c.StateVersion, testDigest("x"), 3, core.Note{})
	for _, err := range []error{blocked, conflict, missing, stale, illegal} {
		if err == nil {
			t.Fatal("an error was expected")
		}
		for _, value := range []string{"secret", c.IdempotencyKey.String(), c.TargetIdentityDigest.String(), r.opts.Path, "UNIQUE", "constraint"} {
			if strings.Contains(err.Error(), value) {
				t.Errorf("%q is in %q", value, err)
			}
		}
	}
}
