package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"countersign/canon"
)

// Executor carries one contract through one direction, in the order of seed
// 003's execution algorithm. It sends at most one request a run and never
// repeats anything.
type Executor struct {
	Store        Store
	Reader       Reader
	Sender       Sender
	Anchor       Anchor
	Sealer       Sealer
	Capabilities SpecSet
	Clock        Clock

	// anchoring makes plan, advance and acquisition one step in this process:
	// whoever compares anchor and mark in between would take an advance that
	// is being made for one that was given up.
	anchoring sync.Mutex
	// tried is the number from which this process last moved the anchor, or may
	// have, without an acquisition since; nil: none. Under anchoring.
	tried *uint64
}

// run is one execution or rollback under way.
type run struct {
	*Executor
	opened Opened
	before Observation // the target as re-read after the acquisition
	dir    Direction
	// changed is how many neighbours the read-back found changed.
	changed int
	// resumed: an earlier send of this direction is still in doubt, so that
	// this run's not sending anything proves nothing about it.
	resumed bool
	steps   *stepTracker
}

// Result is where a run left its contract.
type Result struct {
	Contract  Contract
	StartedAt time.Time
	// Neighbours are the other objects of the list as they were right before
	// the send; nil when nothing was sent.
	Neighbours []Neighbour
	// Changed is how many of them the read-back found changed.
	Changed int
}

// Execute sends the change of a confirmed contract. The caller supplies the
// contract's id and the matching typed request. Before the durable
// acquisition every refusal leaves the contract PREPARED and the wire
// silent; after it, the contract ends in VERIFIED, FAILED or RECONCILIATION.
// The returned contract is as it stands now; an error wrapping
// ErrStoreUncertain means the send is out and its result is not on disk.
func (x *Executor) Execute(ctx context.Context, contractID string, req Request, watch func(Progress)) (Result, error) {
	r := &run{Executor: x, dir: Forward, steps: newStepTracker(contractID, Forward, x.Clock, watch)}
	c, err := r.execute(ctx, contractID, req)
	return r.result(c, err)
}

func (r *run) result(c Contract, err error) (Result, error) {
	r.steps.finish(c, err)
	return Result{Contract: c, StartedAt: r.steps.progress.StartedAt, Neighbours: r.before.Neighbours, Changed: r.changed}, err
}

func (r *run) execute(ctx context.Context, contractID string, req Request) (Contract, error) {
	c, err := r.load(ctx, contractID)
	if err != nil {
		return c, err
	}
	r.steps.begin(StepBindings)
	if err := r.checkExecutable(ctx, c, req); err != nil {
		return c, err
	}
	r.steps.begin(StepAnchor)
	acquired, err := r.acquire(ctx, c)
	if err != nil {
		return c, err
	}
	r.opened.Contract = acquired
	return r.afterAcquisition(ctx)
}

func (r *run) load(ctx context.Context, contractID string) (Contract, error) {
	r.steps.begin(StepLoad)
	c, err := r.Store.Load(ctx, contractID)
	if err != nil {
		return Contract{}, err
	}
	r.opened, err = OpenContract(ctx, c, r.Capabilities, r.Sealer)
	return c, err
}

// checkExecutable is a first look, so that a refusal is cheap and clear; the
// store decides again inside its transaction.
func (r *run) checkExecutable(ctx context.Context, c Contract, req Request) error {
	switch {
	case c.State != Prepared:
		return fmt.Errorf("%w: only a PREPARED contract can be sent", ErrConflict)
	case !c.Confirmed():
		return ErrUnconfirmed
	case c.ExpiredAt(r.Clock.Now()):
		return ErrExpired
	}
	if err := r.opened.CheckRequest(req); err != nil {
		return err
	}
	return checkAppliance(ctx, r.Reader, r.opened)
}

// Rollback sends the request that restores a VERIFIED contract's snapshot,
// with an operator's approval. A target that is not exactly as it was sealed
// is never forced: the contract ends in ROLLBACK_FAILED.
func (x *Executor) Rollback(ctx context.Context, contractID string, a Approval, v Verifier, watch func(Progress)) (Result, error) {
	return x.rollback(ctx, contractID, Verified, watch, func(c Contract) (Contract, error) {
		return x.Store.AcquireRollback(ctx, contractID, a, v)
	})
}

// ResumeRollback is the recorded conclusion RECONCILIATION to ROLLING_BACK,
// followed by exactly one rollback send (design section 8).
func (x *Executor) ResumeRollback(ctx context.Context, contractID string, a Approval, v Verifier, watch func(Progress)) (Result, error) {
	return x.rollback(ctx, contractID, Reconciliation, watch, func(c Contract) (Contract, error) {
		return x.Store.ResumeRollback(ctx, contractID, a, v)
	})
}

func (x *Executor) rollback(ctx context.Context, contractID string, from State, watch func(Progress),
	acquire func(Contract) (Contract, error)) (Result, error) {
	r := &run{Executor: x, dir: Backward, resumed: from == Reconciliation, steps: newStepTracker(contractID, Backward, x.Clock, watch)}
	c, err := r.rollBack(ctx, contractID, from, acquire)
	return r.result(c, err)
}

func (r *run) rollBack(ctx context.Context, contractID string, from State, acquire func(Contract) (Contract, error)) (Contract, error) {
	c, err := r.load(ctx, contractID)
	if err != nil {
		return c, err
	}
	r.steps.begin(StepBindings)
	if c.State != from || c.VerifiedTargetFingerprint == nil {
		return c, fmt.Errorf("%w: a rollback starts from %s", ErrConflict, from)
	}
	if err := checkAppliance(ctx, r.Reader, r.opened); err != nil {
		return c, err
	}
	r.steps.begin(StepAnchor)
	if err := r.checkAnchor(ctx); err != nil {
		return c, err
	}
	r.steps.begin(StepAcquire)
	acquired, err := acquire(c)
	if err != nil {
		return c, err
	}
	r.opened.Contract = acquired
	return r.afterAcquisition(ctx)
}

// afterAcquisition runs from the durable acquisition to the final state. From
// here on nothing can be refused, only concluded.
func (r *run) afterAcquisition(ctx context.Context) (Contract, error) {
	r.steps.begin(StepReread)
	reading, failure := r.reread(ctx)
	if failure != FailureNone {
		return r.conclude(ctx, Verdict{boundaryOf(r.dir, NotSent), ProvenNone, failure}, Note{})
	}
	mutation, failure := r.mutation(reading)
	if failure != FailureNone {
		return r.conclude(ctx, Verdict{boundaryOf(r.dir, NotSent), ProvenNone, failure}, Note{})
	}
	r.steps.begin(StepSend)
	exchange := r.Sender.Send(ctx, mutation)
	note := exchangeNote(exchange)
	verdict := JudgeSend(r.dir, exchange, r.opened.Capability.Spec().Refusals)
	if verdict.Knowledge != VerifiedSuccess {
		return r.conclude(ctx, verdict, note)
	}
	if err := r.opened.Capability.CheckAnswer(exchange.Data, r.before); err != nil {
		return r.conclude(ctx, Verdict{verdict.Boundary, Ambiguous, FailureResponseShape}, note)
	}
	return r.readBack(ctx, verdict, note)
}

// reread is the authoritative read by natural identity right after the
// acquisition: exactly one target, the same locator, the expected fingerprint.
func (r *run) reread(ctx context.Context) (Reading, FailureClass) {
	c := r.opened.Contract
	reading, o, err := observeNow(ctx, r.Reader, r.opened.Capability, r.opened.Identity, r.Clock)
	switch {
	case errors.Is(err, ErrTargetMissing):
		return reading, FailureMissing
	case errors.Is(err, ErrTargetDuplicate):
		return reading, FailureDuplicate
	case errors.Is(err, ErrTargetUnsupported):
		return reading, FailureUnsupported
	case err != nil:
		return reading, FailureUnreadable
	}
	expected := c.TargetFingerprint
	if r.dir == Backward {
		expected = *c.VerifiedTargetFingerprint
	}
	found, err := c.Binding().FingerprintDigest(o.Projection)
	switch {
	case err != nil:
		return reading, FailureUnsupported
	case found != expected:
		return reading, FailureDrift
	case o.Locator != c.LifecycleLocator:
		return reading, FailureRenumbered
	}
	r.before = o
	return reading, FailureNone
}

// mutation builds the one request of this run.
func (r *run) mutation(reading Reading) (Mutation, FailureClass) {
	capability := r.opened.Capability
	spec := capability.Spec()
	var body []byte
	var err error
	if r.dir == Forward {
		if capability.Admit(reading, r.before, r.opened.Request) != nil {
			return Mutation{}, FailureUnsupported
		}
		body, err = capability.Forward(r.opened.Request, r.before)
	} else {
		body, err = capability.Rollback(r.opened.Snapshot, r.before)
	}
	if err != nil {
		return Mutation{}, FailurePolicy
	}
	return Mutation{Method: spec.Method, Path: spec.WritePath, Body: body}, FailureNone
}

// readBack reads the whole list after an accepted answer and decides from
// the target's semantic state (design section 4, rules 3 and 5).
func (r *run) readBack(ctx context.Context, v Verdict, note Note) (Contract, error) {
	r.steps.begin(StepReadBack)
	c := r.opened.Contract
	_, now, err := observeNow(ctx, r.Reader, r.opened.Capability, r.opened.Identity, r.Clock)
	if err != nil {
		failure := FailureReadBack
		if errors.Is(err, ErrTargetMissing) || errors.Is(err, ErrTargetDuplicate) {
			failure = FailureIdentity
		}
		return r.conclude(ctx, Verdict{v.Boundary, Ambiguous, failure}, note)
	}
	fingerprint, err := c.Binding().FingerprintDigest(now.Projection)
	if err != nil || now.Locator != c.LifecycleLocator {
		return r.conclude(ctx, Verdict{v.Boundary, Ambiguous, FailureIdentity}, note)
	}
	changed := changedNeighbours(r.before.Neighbours, now.Neighbours)
	r.changed, note.Neighbours = len(changed), len(changed)
	r.steps.warn(changed)
	switch {
	case r.achieved(now, fingerprint):
		return r.seal(ctx, fingerprint, note)
	case fingerprint == r.startingFingerprint():
		return r.conclude(ctx, Verdict{v.Boundary, VerifiedFailure, FailureNoEffect}, note)
	}
	return r.conclude(ctx, Verdict{v.Boundary, Ambiguous, FailurePartial}, note)
}

// achieved: forward, the capability's own predicate; backward, the complete
// original fingerprint.
func (r *run) achieved(now Observation, fingerprint canon.Digest) bool {
	if r.dir == Backward {
		return fingerprint == r.opened.Contract.TargetFingerprint
	}
	return r.opened.Capability.Applied(r.opened.Request, r.opened.Snapshot, now)
}

func (r *run) startingFingerprint() canon.Digest {
	if r.dir == Backward {
		return *r.opened.Contract.VerifiedTargetFingerprint
	}
	return r.opened.Contract.TargetFingerprint
}

// seal records a proven success together with what was read back.
func (r *run) seal(ctx context.Context, fingerprint canon.Digest, note Note) (Contract, error) {
	r.steps.begin(StepSeal)
	c := r.opened.Contract
	note.Direction, note.Boundary, note.Knowledge = r.dir, boundaryOf(r.dir, FullySent), VerifiedSuccess
	var sealed Contract
	var err error
	if r.dir == Forward {
		sealed, err = r.Store.SealVerified(ctx, c.ID, c.StateVersion, fingerprint, c.LifecycleLocator, note)
	} else {
		sealed, err = r.Store.SealRolledBack(ctx, c.ID, c.StateVersion, c.LifecycleLocator, note)
	}
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrStoreUncertain, err)
	}
	return sealed, nil
}

// conclude moves the contract where the fault table says.
func (r *run) conclude(ctx context.Context, v Verdict, note Note) (Contract, error) {
	r.steps.stop()
	if r.resumed && v.Knowledge == ProvenNone {
		v.Knowledge = Ambiguous
	}
	c := r.opened.Contract
	note.Direction, note.Boundary, note.Knowledge, note.Failure = r.dir, v.Boundary, v.Knowledge, v.Failure
	next, _ := Resolve(v.Boundary, v.Knowledge)
	moved, err := r.Store.Transition(ctx, c.ID, c.StateVersion, next, note)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrStoreUncertain, err)
	}
	return moved, nil
}

func exchangeNote(e Exchange) Note {
	n := Note{Status: e.Status, Response: e.ResponseID}
	if !e.LastByteAt.IsZero() {
		at := Instant(e.LastByteAt)
		n.LastByteAt = &at
	}
	return n
}
