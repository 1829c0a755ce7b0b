package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/canon"
	"countersign/core"
)

var (
	_ core.Operators = (*Operators)(nil)
	_ core.Authority = (*Unlocked)(nil)
	_ core.Clock     = (*testClock)(nil)
)

// office is a store with one operator, jo.
type office struct {
	*Operators
	ring  *memRing
	pins  testPins
	clock *testClock
	log   *testAttempts
}

// testAttempts records what a store would audit.
type testAttempts struct {
	*MemoryAttempts
	mu   sync.Mutex
	seen []string
	err  error
}

func (a *testAttempts) Failures(ctx context.Context, operator string) (Failures, error) {
	f, _ := a.MemoryAttempts.Failures(ctx, operator)
	return f, a.err
}

func (a *testAttempts) Record(ctx context.Context, operator string, result AttemptResult, at time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, fmt.Sprintf("%s %s", operator, result))
	if a.err != nil {
		return a.err
	}
	return a.MemoryAttempts.Record(ctx, operator, result, at)
}

const joPassphrase = "correct horse battery"

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{ring: newMemRing(), pins: testPins{}, clock: newTestClock(),
		log: &testAttempts{MemoryAttempts: NewMemoryAttempts()}}
	o.Operators = NewOperators(OperatorConfig{Ring: o.ring, StoreID: "store-1", Pins: o.pins, Attempts: o.log,
		Clock: o.clock, Sleep: o.clock.Sleep, Random: newTestRandom(t.Name()), Cost: cheap})
	o.pins["jo"] = must[canon.Digest](t)(o.Enrol(context.Background(), "jo", []byte(joPassphrase)))
	return o
}

func (o *office) unlock(t *testing.T) core.Authority {
	t.Helper()
	a := must[core.Authority](t)(o.Unlock(context.Background(), "jo", []byte(joPassphrase)))
	t.Cleanup(a.Close)
	return a
}

func TestUnlockSignsAndVerifies(t *testing.T) {
	o, ctx := newOffice(t), context.Background()
	a, again := o.unlock(t), o.unlock(t)
	kinds := []core.ProofKind{core.ProofAuthorization, core.ProofConfirmation, core.ProofReconciliation, core.ProofApproval}
	payload, proofs := []byte("payload"), map[string]bool{}
	for _, kind := range kinds {
		proof := must[[]byte](t)(a.Sign(kind, payload))
		proofs[string(proof)] = true
		if err := again.Verify(ctx, kind, "jo", a.Algorithm(kind), payload, proof); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, other := range kinds {
			if other == kind {
				continue
			}
			for _, algorithm := range []string{a.Algorithm(kind), a.Algorithm(other)} {
				if err := a.Verify(ctx, other, "jo", algorithm, payload, proof); !errors.Is(err, core.ErrProof) {
					t.Errorf("a proof for %s served as %s under %s: %v", kind, other, algorithm, err)
				}
			}
		}
		for what, err := range map[string]error{
			"another name":      a.Verify(ctx, kind, "mika", a.Algorithm(kind), payload, proof),
			"another algorithm": a.Verify(ctx, kind, "jo", Ed25519Algorithm(kind), payload, proof),
			"upper case":        a.Verify(ctx, kind, "jo", strings.ToUpper(a.Algorithm(kind)), payload, proof),
			"no algorithm":      a.Verify(ctx, kind, "jo", "", payload, proof),
			"another payload":   a.Verify(ctx, kind, "jo", a.Algorithm(kind), []byte("payloae"), proof),
			"cut":               a.Verify(ctx, kind, "jo", a.Algorithm(kind), payload, proof[:31]),
			"longer":            a.Verify(ctx, kind, "jo", a.Algorithm(kind), payload, append(bytes.Clone(proof), 0)),
			"empty":             a.Verify(ctx, kind, "jo", a.Algorithm(kind), payload, nil),
			"unknown kind":      a.Verify(ctx, "decline", "jo", "", payload, proof),
		} {
			if !errors.Is(err, core.ErrProof) {
				t.Errorf("%s, %s: %v", kind, what, err)
			}
		}
	}
	if len(proofs) != len(kinds) {
		t.Error("two kinds give one proof")
	}
	if _, err := a.Sign("decline", payload); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestAlgorithmNames(t *testing.T) {
	for kind, names := range map[core.ProofKind][2]string{
		core.ProofAuthorization:  {"hmac-sha256-authorization-v1", "ed25519-authorization-v1"},
		core.ProofConfirmation:   {"hmac-sha256-confirmation-v1", "ed25519-v1"},
		core.ProofReconciliation: {"hmac-sha256-reconciliation-v2", "ed25519-reconciliation-v2"},
		core.ProofApproval:       {"hmac-sha256-approval-v1", "ed25519-approval-v1"},
		"something":              {"", ""},
	} {
		if got := [2]string{HMACAlgorithm(kind), Ed25519Algorithm(kind)}; got != names {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

func TestCloseErasesTheKey(t *testing.T) {
	a := newOffice(t).unlock(t).(*Unlocked)
	inside := a.key.Bytes()
	proof := must[[]byte](t)(a.Sign(core.ProofConfirmation, []byte("p")))
	a.Close()
	a.Close()
	if !bytes.Equal(inside, make([]byte, keySize)) {
		t.Error("the key is still in memory")
	}
	if _, err := a.Sign(core.ProofConfirmation, []byte("p")); !errors.Is(err, ErrClosed) {
		t.Errorf("signed after Close: %v", err)
	}
	err := a.Verify(context.Background(), core.ProofConfirmation, "jo", a.Algorithm(core.ProofConfirmation), []byte("p"), proof)
	if !errors.Is(err, core.ErrVerifierFailed) {
		t.Errorf("verified after Close: %v", err)
	}
}

func TestUnlockRefuses(t *testing.T) {
	ctx := context.Background()
	o := newOffice(t)
	if _, err := o.Unlock(ctx, "mika", []byte(joPassphrase)); !errors.Is(err, core.ErrUnknownOperator) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := o.Unlock(ctx, "jo", []byte("correct horse batterz")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Errorf("wrong: %v", err)
	}
	for _, class := range []error{ErrLocked, ErrNoService, ErrTimeout, ErrDenied, ErrNotFound} {
		o := newOffice(t)
		o.ring.fail = func(string, string) error { return class }
		if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, class) || errors.Is(err, core.ErrWrongPassphrase) {
			t.Errorf("%v: got %v", class, err)
		}
		if len(o.log.seen) != 0 {
			t.Errorf("%v counted as a failed passphrase", class)
		}
	}
	o.ring.items[ItemOperator("jo")] = []byte("{}")
	if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
}

// A keyring item alone confirms nothing, and neither does one that somebody
// put there: the store's pin decides.
func TestSwappedKeysAreRefused(t *testing.T) {
	ctx := context.Background()
	o := newOffice(t)
	mine := o.ring.items[ItemOperator("jo")]

	attacker := newOffice(t) // enrols a jo of their own, elsewhere, with a passphrase they know
	must[canon.Digest](t)(attacker.Enrol(ctx, "mika", []byte("attackers choice")))
	attacker.Operators.OperatorConfig.Random = newTestRandom("other")
	delete(attacker.ring.items, ItemOperator("jo"))
	must[canon.Digest](t)(attacker.Enrol(ctx, "jo", []byte("attackers choice")))
	o.ring.items[ItemOperator("jo")] = attacker.ring.items[ItemOperator("jo")]
	if _, err := o.Unlock(ctx, "jo", []byte("attackers choice")); !errors.Is(err, ErrCommitment) {
		t.Errorf("swapped item: %v", err)
	}
	if got := o.log.seen[len(o.log.seen)-1]; got != "jo wrong_key" {
		t.Errorf("audited as %q", got)
	}
	// Another operator's item under jo's name does not even open.
	o.ring.items[ItemOperator("jo")] = attacker.ring.items[ItemOperator("mika")]
	if _, err := o.Unlock(ctx, "jo", []byte("attackers choice")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Errorf("another operator's item: %v", err)
	}
	o.ring.items[ItemOperator("jo")] = mine
	o.unlock(t)
	pin := o.pins["jo"]
	pin[31] ^= 1
	o.pins["jo"] = pin
	if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, ErrCommitment) {
		t.Errorf("changed pin: %v", err)
	}
}

func TestCommitmentBindsStoreOperatorAndKey(t *testing.T) {
	o := newOffice(t)
	other := *o.Operators
	other.StoreID = "store-2"
	key := bytes.Repeat([]byte{1}, keySize)
	seen := map[canon.Digest]bool{}
	for _, d := range []canon.Digest{o.commitment("jo", key), o.commitment("mika", key), other.commitment("jo", key),
		o.commitment("jo", bytes.Repeat([]byte{2}, keySize))} {
		seen[d] = true
	}
	if len(seen) != 4 || !seen[o.commitment("jo", key)] {
		t.Error("commitments collide or are not stable")
	}
}

func TestEnrol(t *testing.T) {
	ctx, o := context.Background(), newOffice(t)
	before := bytes.Clone(o.ring.items[ItemOperator("jo")])
	if _, err := o.Enrol(ctx, "jo", []byte("another passphrase")); !errors.Is(err, ErrExists) {
		t.Errorf("enrolled twice: %v", err)
	}
	if !bytes.Equal(before, o.ring.items[ItemOperator("jo")]) {
		t.Error("the key was replaced")
	}
	if _, err := o.Enrol(ctx, "mika", []byte("short")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("short passphrase: %v", err)
	}
	for _, name := range []string{"", "a b", "a/b", "-a", "jo\n", "jö"} {
		if _, err := o.Enrol(ctx, name, []byte(joPassphrase)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(o.ring.items) != 1 {
		t.Errorf("%d items", len(o.ring.items))
	}
	must[canon.Digest](t)(o.Enrol(ctx, "mika", []byte(joPassphrase)))
	if bytes.Equal(o.ring.items[ItemOperator("mika")], o.ring.items[ItemOperator("jo")]) {
		t.Error("two operators share a key")
	}
	if names := must[[]string](t)(o.Enrolled(ctx)); !slices.Equal(names, []string{"jo"}) { // mika was not pinned
		t.Errorf("enrolled: %v", names)
	}
	// The enrolment that broke off before the store pinned it can be finished.
	o.pins["mika"] = must[canon.Digest](t)(o.Commitment(ctx, "mika", []byte(joPassphrase)))
	must[core.Authority](t)(o.Unlock(ctx, "mika", []byte(joPassphrase))).Close()
	if _, err := o.Commitment(ctx, "mika", []byte("wrong passphrase")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Errorf("got %v", err)
	}
}

func TestChangePassphrase(t *testing.T) {
	ctx, o := context.Background(), newOffice(t)
	proof := must[[]byte](t)(o.unlock(t).Sign(core.ProofConfirmation, []byte("p")))
	if err := o.ChangePassphrase(ctx, "jo", []byte("wrong passphrase"), []byte("another passphrase")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Fatalf("got %v", err)
	}
	if err := o.ChangePassphrase(ctx, "jo", []byte(joPassphrase), []byte("short")); !errors.Is(err, ErrPassphrase) {
		t.Fatalf("got %v", err)
	}
	o.unlock(t) // still the old one
	if err := o.ChangePassphrase(ctx, "jo", []byte(joPassphrase), []byte("another passphrase")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Fatalf("the old passphrase: %v", err)
	}
	a := must[core.Authority](t)(o.Unlock(ctx, "jo", []byte("another passphrase")))
	defer a.Close()
	if err := a.Verify(ctx, core.ProofConfirmation, "jo", a.Algorithm(core.ProofConfirmation), []byte("p"), proof); err != nil {
		t.Errorf("it is another key: %v", err)
	}
	if err := o.ChangePassphrase(ctx, "mika", []byte(joPassphrase), []byte("another passphrase")); !errors.Is(err, core.ErrUnknownOperator) {
		t.Errorf("got %v", err)
	}
}

func TestFailedPassphrasesAreCountedDelayedAndAudited(t *testing.T) {
	ctx, o := context.Background(), newOffice(t)
	guess := func() error { _, err := o.Unlock(ctx, "jo", []byte("wrong passphrase")); return err }
	for range 8 {
		if err := guess(); !errors.Is(err, core.ErrWrongPassphrase) {
			t.Fatal(err)
		}
	}
	s := time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}; !slices.Equal(o.clock.slept, want) {
		t.Errorf("waited %v", o.clock.slept)
	}
	if f, _ := o.log.Failures(ctx, "jo"); f.Count != 8 || !f.Last.Equal(o.clock.Now()) {
		t.Errorf("counted %+v", f)
	}
	if f, _ := o.log.Failures(ctx, "mika"); f.Count != 0 {
		t.Error("counted against another operator")
	}
	o.clock.add(20 * s)
	if wait := must[time.Duration](t)(o.RetryAfter(ctx, "jo")); wait != 10*s {
		t.Errorf("20 s later it still waits %v", wait)
	}
	o.clock.add(-time.Hour)
	if wait := must[time.Duration](t)(o.RetryAfter(ctx, "jo")); wait != 30*s {
		t.Errorf("after the clock went backwards it waits %v", wait)
	}
	o.clock.add(2 * time.Hour)
	o.clock.slept = nil
	o.unlock(t)
	if len(o.clock.slept) != 0 {
		t.Errorf("waited %v after an hour", o.clock.slept)
	}
	if err := guess(); !errors.Is(err, core.ErrWrongPassphrase) || len(o.clock.slept) != 0 {
		t.Errorf("a good attempt did not end the count: %v", o.clock.slept)
	}
	want := slices.Repeat([]string{"jo wrong_passphrase"}, 8)
	want = append(want, "jo opened", "jo wrong_passphrase")
	if !slices.Equal(o.log.seen, want) {
		t.Errorf("audited %v", o.log.seen)
	}
}

func TestDelayAfter(t *testing.T) {
	last := time.Duration(0)
	for n := -1; n < 100; n++ {
		d := delayAfter(n)
		if d < last || d > longDelay || (n > 0) != (d > 0) {
			t.Fatalf("after %d failures: %v", n, d)
		}
		last = d
	}
}

// What cannot be counted is not tried, and what cannot be recorded is not opened.
func TestAttemptsFailClosed(t *testing.T) {
	ctx, o := context.Background(), newOffice(t)
	broken := errors.New("the store failed")
	o.log.err = broken
	calls := o.ring.calls
	if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, broken) || o.ring.calls != calls {
		t.Errorf("got %v", err)
	}
	o = newOffice(t)
	o.Attempts = recordFails{o.log, broken}
	if a, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, broken) || a != nil {
		t.Errorf("got %v", err)
	}
	if _, err := o.Unlock(ctx, "jo", []byte("wrong passphrase")); !errors.Is(err, broken) || !errors.Is(err, core.ErrWrongPassphrase) {
		t.Errorf("got %v", err)
	}
}

type recordFails struct {
	Attempts
	err error
}

func (r recordFails) Record(context.Context, string, AttemptResult, time.Time) error { return r.err }

func TestUnlockStopsWhenTheCallerDoes(t *testing.T) {
	o := newOffice(t)
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := o.Unlock(ctx, "jo", []byte("wrong passphrase")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Fatal(err)
	}
	cancel()
	if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, context.Canceled) {
		t.Errorf("while waiting: %v", err)
	}
	o.slot <- struct{}{} // another attempt is running
	if _, err := o.Unlock(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, context.Canceled) {
		t.Errorf("while queued: %v", err)
	}
	<-o.slot
	if err := Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep: %v", err)
	}
	if err := Sleep(context.Background(), 0); err != nil {
		t.Errorf("Sleep: %v", err)
	}
}

// Parallel guesses wait for each other, so the delays add up as if they came
// one after the other.
func TestParallelGuessesDoNotEscapeTheDelay(t *testing.T) {
	o := newOffice(t)
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() { _, _ = o.Unlock(context.Background(), "jo", []byte("wrong passphrase")) })
	}
	wait.Wait()
	s := time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s}; !slices.Equal(o.clock.slept, want) {
		t.Errorf("waited %v", o.clock.slept)
	}
}

func TestPassphrasesAreZeroedOnEveryPath(t *testing.T) {
	ctx := context.Background()
	for name, use := range map[string]func(o *office, p []byte){
		"enrol":            func(o *office, p []byte) { _, _ = o.Enrol(ctx, "mika", p) },
		"enrol, bad name":  func(o *office, p []byte) { _, _ = o.Enrol(ctx, "a b", p) },
		"enrol, present":   func(o *office, p []byte) { _, _ = o.Enrol(ctx, "jo", p) },
		"unlock":           func(o *office, p []byte) { _, _ = o.Unlock(ctx, "jo", p) },
		"unlock, unknown":  func(o *office, p []byte) { _, _ = o.Unlock(ctx, "nobody", p) },
		"unlock, no ring":  func(o *office, p []byte) { clear(o.ring.items); _, _ = o.Unlock(ctx, "jo", p) },
		"commitment":       func(o *office, p []byte) { _, _ = o.Commitment(ctx, "nobody", p) },
		"change, old":      func(o *office, p []byte) { _ = o.ChangePassphrase(ctx, "nobody", p, nil) },
		"change, new":      func(o *office, p []byte) { _ = o.ChangePassphrase(ctx, "jo", nil, p) },
		"new signing key":  func(o *office, p []byte) { _, _ = CreateSigningKey(ctx, o.ring, bytes.NewReader(nil), cheap, "x", p) },
		"open signing key": func(o *office, p []byte) { _, _ = OpenSigningKey(ctx, o.ring, "nobody", p) },
		"open file ring":   func(_ *office, p []byte) { _, _ = OpenFileRing(ctx, FileRingConfig{}, p) },
		"init file ring":   func(_ *office, p []byte) { _, _ = InitFileRing(ctx, FileRingConfig{}, p) },
	} {
		p := []byte("some passphrase")
		use(newOffice(t), p)
		if !bytes.Equal(p, make([]byte, len(p))) {
			t.Errorf("%s: still there", name)
		}
	}
}
