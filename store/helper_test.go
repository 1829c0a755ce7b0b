package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"countersign/canon"
	"countersign/core"
)

// testClock is a clock that only tests move.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

var testStart = time.Date(2026, 9, 5, 12, 0, 0, 0, time.UTC)

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *testClock) at(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = testStart.Add(d)
}

// acceptAll accepts every proof but the empty one and "no".
type acceptAll struct{}

func (acceptAll) Verify(_ context.Context, _ core.ProofKind, _, _ string, _, proof []byte) error {
	if bytes.Equal(proof, []byte("no")) {
		return core.ErrProof
	}
	return nil
}

var testKey = []byte("0123456789abcdef0123456789abcdef")

const testID = "test-store"

// openLimits limit nothing but the sends at once.
var openLimits = core.Limits{MaxInFlight: 1, MaxPreparedPerTarget: -1, ReconciliationThreshold: -1}

// rig is an open store with a clock.
type rig struct {
	t     testing.TB
	ctx   context.Context
	opts  Options
	clock *testClock
	*Store
	serial int
}

func newRig(t testing.TB, edit func(*Options)) *rig {
	t.Helper()
	clock := &testClock{now: testStart}
	r := &rig{t: t, ctx: context.Background(), clock: clock, opts: Options{
		Path: filepath.Join(t.TempDir(), "store", "contracts.sqlite3"), StoreID: testID, IntegrityKey: testKey,
		Clock: clock, Limits: openLimits, Settle: -1}}
	if edit != nil {
		edit(&r.opts)
	}
	s, err := Create(r.ctx, r.opts)
	r.must(err)
	r.Store = s
	t.Cleanup(func() { r.Store.Close() })
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// reopen closes and opens the store again.
func (r *rig) reopen() {
	r.t.Helper()
	r.must(r.Store.Close())
	s, err := Open(r.ctx, r.opts)
	r.must(err)
	r.Store = s
}

func testDigest(parts ...any) canon.Digest { return sha256.Sum256([]byte(fmt.Sprint(parts...))) }

// testContract builds a valid contract; equal target and intent share the
// idempotency key, equal target the reservation.
func testContract(id, target, intent string, created time.Time, validity time.Duration) core.Contract {
	artifact := core.Artifact{Algorithm: "aes-256-gcm-v1", KeyID: "enc-a", Ciphertext: []byte("sealed " + id)}
	c := core.Contract{
		ID: id, OperationID: "op-" + id, Capability: "ALIAS_WRITE", EndpointSymbol: "FIREWALL_ALIAS_DESCRIPTION",
		Method: "PATCH", RollbackPlanVersion: "firewall-alias-description-rollback-v1", LifecycleLocator: 3,
		TargetIdentityDigest: testDigest("target", target), TargetFingerprint: testDigest("fingerprint", target),
		IntentDigest: testDigest("intent", intent), SnapshotDigest: testDigest("snapshot", target),
		ProtectedTarget: artifact, ProtectedIntent: artifact, ProtectedSnapshot: artifact,
		CreatedAt: core.Instant(created), ExpiresAt: core.Instant(created.Add(validity)), State: core.Preparing,
	}
	key, err := core.DeriveIdempotencyKey(c)
	if err != nil {
		panic(err)
	}
	c.IdempotencyKey = key
	return c
}

// creation wraps a contract in everything AuthorizeAndCreate takes.
func (r *rig) creation(c core.Contract) core.Creation {
	r.serial++
	a := core.Authorization{AuthorizationID: fmt.Sprintf("authz-%s-%d", c.ID, r.serial), AuthorityID: "owner",
		Algorithm: "hmac-v1", StepID: core.PlanStep, PlanDigest: testDigest("plan"),
		ExecutionIntentDigest: testDigest("execution"), ApplianceDigest: testDigest("appliance"),
		IssuedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt, Proof: []byte("yes")}
	return r.creationWith(c, a)
}

func (r *rig) creationWith(c core.Contract, a core.Authorization) core.Creation {
	p := a.Provenance()
	c.Provenance = &p
	d := core.Draft{RequestKey: "request-" + a.AuthorizationID, Spec: core.Spec{EndpointSymbol: c.EndpointSymbol},
		Request:        core.Request{Fields: core.Object{"value": c.IntentDigest.String()}},
		IdentityDigest: c.TargetIdentityDigest, Fingerprint: c.TargetFingerprint, IntentDigest: c.IntentDigest,
		SnapshotDigest: c.SnapshotDigest, ApplianceDigest: a.ApplianceDigest,
		ExecutionIntentDigest: a.ExecutionIntentDigest, PlanDigest: a.PlanDigest, IdempotencyKey: c.IdempotencyKey}
	return core.Creation{Contract: c, Authorization: a, Verifier: acceptAll{}, Draft: d, Actor: "jo",
		Claim: core.NewReceiptClaim("jo", d)}
}

const testValidity = 10 * time.Minute

// create makes a PREPARED contract.
func (r *rig) create(id, target, intent string) core.Contract {
	r.t.Helper()
	c, err := r.AuthorizeAndCreate(r.ctx, r.creation(testContract(id, target, intent, r.clock.Now(), testValidity)))
	r.must(err)
	return c
}

func (r *rig) confirm(c core.Contract) core.Contract {
	r.t.Helper()
	e := core.NewConfirmationEvidence(c, "jo", "hmac-v1", "nonce-1", r.clock.Now())
	e.Proof = []byte("yes")
	c, err := r.Confirm(r.ctx, c.ID, c.StateVersion, e, acceptAll{})
	r.must(err)
	return c
}

func (r *rig) acquire(c core.Contract) core.Contract {
	r.t.Helper()
	_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
	r.must(err)
	c, err = r.Acquire(r.ctx, c.ID, c.StateVersion)
	r.must(err)
	return c
}

func (r *rig) seal(c core.Contract) core.Contract {
	r.t.Helper()
	c, err := r.SealVerified(r.ctx, c.ID, c.StateVersion, testDigest("after", c.ID), c.LifecycleLocator, core.Note{})
	r.must(err)
	return c
}

func (r *rig) approval(kind core.ApprovalKind, c core.Contract) core.Approval {
	return core.Approval{Kind: kind, AuthorityID: "jo", Algorithm: "hmac-v1", Nonce: "nonce-2", ContractID: c.ID,
		OperationID: c.OperationID, StateVersion: c.StateVersion, IntentDigest: c.IntentDigest,
		IssuedAt: r.clock.Now(), Proof: []byte("yes")}
}

func (r *rig) rollBack(c core.Contract) core.Contract {
	r.t.Helper()
	c, err := r.AcquireRollback(r.ctx, c.ID, r.approval(core.ApproveRollback, c), acceptAll{})
	r.must(err)
	return c
}

func (r *rig) move(c core.Contract, to core.State) core.Contract {
	r.t.Helper()
	c, err := r.Transition(r.ctx, c.ID, c.StateVersion, to, core.Note{})
	r.must(err)
	return c
}

// evidence concludes about a contract in RECONCILIATION.
func (r *rig) evidence(c core.Contract, o core.Outcome) core.ReconciliationEvidence {
	e := core.ReconciliationEvidence{AuthorityID: "jo", Algorithm: "hmac-v1", ContractID: c.ID,
		OperationID: c.OperationID, ObservedStateVersion: c.StateVersion, Outcome: o, IssuedAt: r.clock.Now(),
		Proof: []byte("yes")}
	locator, after := c.LifecycleLocator, testDigest("after", c.ID)
	if o == core.ConfirmedApplied {
		e.VerifiedTargetFingerprint = &after
	}
	if o == core.ConfirmedApplied || o == core.ConfirmedRollbackApplied {
		e.VerifiedLifecycleLocator = &locator
	}
	return e
}

func (r *rig) resolve(c core.Contract, o core.Outcome) core.Contract {
	r.t.Helper()
	c, err := r.Resolve(r.ctx, c.ID, r.evidence(c, o), acceptAll{})
	r.must(err)
	return c
}

// checkStore is the one verifier: at the end of a test, the whole store must
// pass the strict verification, open or closed.
func checkStore(t testing.TB, o Options) Report {
	t.Helper()
	report, err := Verify(context.Background(), o, nil)
	if err != nil {
		t.Fatalf("the store does not verify: %v (%+v)", err, report)
	}
	return report
}

func (r *rig) check() Report { r.t.Helper(); return checkStore(r.t, r.opts) }
