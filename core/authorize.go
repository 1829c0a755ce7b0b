package core

import (
	"context"
	"errors"
	"fmt"

	"countersign/canon"
)

// Authorize is gate one on the spot: an enrolled operator issues the one-shot
// authorization with a passphrase, where the policy allows it. Everything
// that can be refused is refused before the passphrase is even tried, and
// nothing is spent by a refusal.
func (e *Engine) Authorize(ctx context.Context, d Draft, operator string, passphrase []byte) (string, error) {
	if !e.set.OnTheSpot {
		return "", fmt.Errorf("%w: this console takes authorizations from the inbox only", ErrPolicy)
	}
	return e.submit(ctx, d, operator, func(d Draft) (string, error) { return e.authorize(ctx, d, operator, passphrase) })
}

func (e *Engine) authorize(ctx context.Context, d Draft, operator string, passphrase []byte) (string, error) {
	fresh, err := e.admissible(ctx, d, "")
	if err != nil {
		return "", err
	}
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return "", err
	}
	defer authority.Close()
	a, err := e.issue(fresh, authority)
	if err != nil {
		return "", err
	}
	return e.create(ctx, fresh, a, authority, operator)
}

// AuthorizeFromInbox is gate one with an artifact that was signed off-host.
func (e *Engine) AuthorizeFromInbox(ctx context.Context, d Draft, a Authorization, operator string) (string, error) {
	if e.p.OffHost == nil {
		return "", ErrVerifierMissing
	}
	return e.submit(ctx, d, operator, func(d Draft) (string, error) {
		fresh, err := e.admissible(ctx, d, a.AuthorizationID)
		if err != nil {
			return "", err
		}
		return e.create(ctx, fresh, a, e.p.OffHost, operator)
	})
}

// draftPurpose separates digests of submitted requests from every other.
const draftPurpose = canon.Purpose("countersign-submitted-draft")

// submit puts a draft's request key on disk before anything is asked of the
// store (design section 5). An equal request whose answer was never heard, as
// after a crash, goes on under its old key, and is answered with what it
// created.
func (e *Engine) submit(ctx context.Context, d Draft, caller string, do func(Draft) (string, error)) (string, error) {
	if err := e.mayChange(); err != nil {
		return "", err
	}
	if err := e.mustBeEnrolled(ctx, caller); err != nil {
		return "", err
	}
	request, err := canon.Sum(draftPurpose, nil, requestOf(d))
	if err != nil {
		return "", err
	}
	work := context.WithoutCancel(ctx)
	if d.RequestKey, err = e.p.Store.SubmitDraft(work, caller, request, d.RequestKey, e.startedAt()); err != nil {
		return "", err
	}
	id, err := e.replay(ctx, d, caller)
	if id == "" && err == nil {
		id, err = do(d)
	}
	answered := e.p.Store.AnswerDraft(work, caller, request, d.RequestKey)
	if id != "" {
		// Unrecorded, an equal request would only be answered with the same
		// contract once more.
		return id, err
	}
	return "", errors.Join(err, answered)
}

// replay answers a retried request from its receipt: a lost answer or a
// crashed console creates nothing twice (seed 001). An attempt that was
// rolled back, declined or failed is a resolved one; repeating it takes a new
// request key, so its key still answers with what it created.
func (e *Engine) replay(ctx context.Context, d Draft, caller string) (string, error) {
	outcome, err := e.p.Store.FindReceipt(ctx, NewReceiptClaim(caller, d))
	if err != nil || outcome == nil {
		return "", err
	}
	return outcome.ContractID, nil
}

// admissible runs every non-mutating check of AuthorizeAndCreate.
func (e *Engine) admissible(ctx context.Context, d Draft, authorizationID string) (Draft, error) {
	if err := e.maySend(ctx); err != nil {
		return Draft{}, err
	}
	if err := e.checkPriorAttempts(ctx, d, authorizationID); err != nil {
		return Draft{}, err
	}
	holder, err := e.p.Store.ReservedBy(ctx, d.IdentityDigest)
	if err != nil {
		return Draft{}, err
	}
	if holder != "" {
		return Draft{}, fmt.Errorf("%w: %w: %s", ErrConflict, ErrReserved, holder)
	}
	return e.again(ctx, d)
}

// checkPriorAttempts tells apart the three cases of seed 000, Composition-layer
// wiring. It is a preflight, not a race guard: the partial unique index at
// the insert is.
func (e *Engine) checkPriorAttempts(ctx context.Context, d Draft, authorizationID string) error {
	blocking, err := e.p.Store.FindByIdempotencyKey(ctx, d.IdempotencyKey)
	if err != nil {
		return err
	}
	if blocking != nil {
		return blockedBy(*blocking)
	}
	history, err := e.p.Store.FindHistoricalByIdempotencyKey(ctx, d.IdempotencyKey)
	if err != nil {
		return err
	}
	if len(history) == 0 {
		return nil // the normal first attempt
	}
	return notSpentIn(history, authorizationID)
}

// blockedBy: case 1, a currently-blocking contract exists.
func blockedBy(c Contract) error {
	return fmt.Errorf("%w: %s is %s", ErrBlocked, c.ID, c.State)
}

// notSpentIn: case 2, only terminal history. An artifact that one of them
// was made with is refused before any consumption is tried.
func notSpentIn(history []Contract, authorizationID string) error {
	for _, c := range history {
		if c.Provenance != nil && authorizationID != "" && c.Provenance.AuthorizationID == authorizationID {
			return fmt.Errorf("%w: for %s", ErrSpent, c.ID)
		}
	}
	return nil
}

// issue makes a one-shot authorization for exactly this draft.
func (e *Engine) issue(d Draft, authority Authority) (Authorization, error) {
	id, err := NewIdentifier(e.p.Random, "authz")
	if err != nil {
		return Authorization{}, err
	}
	now := e.p.Clock.Now()
	a := Authorization{
		AuthorizationID: id, AuthorityID: authority.ID(), Algorithm: authority.Algorithm(ProofAuthorization),
		StepID: PlanStep, PlanDigest: d.PlanDigest, ExecutionIntentDigest: d.ExecutionIntentDigest,
		ApplianceDigest: d.ApplianceDigest, IssuedAt: now, ExpiresAt: now.Add(e.set.Windows.Contract),
	}
	payload, err := a.SigningPayload()
	if err != nil {
		return Authorization{}, err
	}
	a.Proof, err = authority.Sign(ProofAuthorization, payload)
	return a, err
}

// create seals the artifacts and hands everything to the store's one transaction.
func (e *Engine) create(ctx context.Context, d Draft, a Authorization, v Verifier, actor string) (string, error) {
	c := d.bindings()
	var err error
	if c.ID, err = NewIdentifier(e.p.Random, d.Spec.ContractPrefix); err != nil {
		return "", err
	}
	if c.OperationID, err = NewIdentifier(e.p.Random, "op"); err != nil {
		return "", err
	}
	c.ProtectedTarget, c.ProtectedIntent, c.ProtectedSnapshot, err = SealDraft(ctx, d, c.ID, e.p.Sealer)
	if err != nil {
		return "", err
	}
	provenance := a.Provenance()
	c.Provenance, c.State = &provenance, Preparing
	c.CreatedAt = e.p.Clock.Now()
	c.ExpiresAt = c.CreatedAt.Add(e.set.Windows.Contract)
	if a.ExpiresAt.Before(c.ExpiresAt) {
		c.ExpiresAt = a.ExpiresAt
	}
	created, err := e.p.Store.AuthorizeAndCreate(context.WithoutCancel(ctx), Creation{
		Contract: c, Authorization: a, Verifier: v, Draft: d, Actor: actor, Settle: e.set.Windows.Settle,
		Claim: NewReceiptClaim(actor, d),
	})
	if err != nil {
		return "", err
	}
	e.updateHeader(ctx)
	return created.ID, nil
}
