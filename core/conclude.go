package core

import (
	"context"
	"fmt"
)

// Reconcile records an operator's conclusion about a contract in
// RECONCILIATION. The target is read once more; it must still be what the
// operator saw, the reading must support the conclusion, and an applied
// outcome signs its exact fingerprint and locator (seed 003, Execution
// algorithm). ResumeRollback is followed by exactly one rollback send.
func (e *Engine) Reconcile(ctx context.Context, contractID string, o Outcome, seen Comparison, operator string, passphrase []byte) error {
	if err := e.mayChange(); err != nil {
		return err
	}
	now, err := e.Observe(ctx, contractID)
	if err != nil {
		return err
	}
	if err := now.sameAs(seen); err != nil {
		return err
	}
	if err := now.allows(o); err != nil {
		return err
	}
	if o == ResumeRollback {
		if err := e.maySend(ctx); err != nil {
			return err
		}
		return e.startBackward(ctx, contractID, backward{ApproveResume, nil, e.exec.ResumeRollback}, operator, passphrase)
	}
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	defer authority.Close()
	evidence, err := e.evidence(ctx, contractID, o, now, authority)
	if err != nil {
		return err
	}
	_, err = e.p.Store.Resolve(context.WithoutCancel(ctx), contractID, evidence, authority)
	e.updateHeader(ctx)
	return err
}

// sameAs refuses a conclusion about something else than what the operator saw.
func (cmp Comparison) sameAs(seen Comparison) error {
	if cmp.StateVersion != seen.StateVersion || cmp.Fingerprint != seen.Fingerprint || cmp.Problem != seen.Problem {
		return fmt.Errorf("%w since you looked: read again", ErrDrift)
	}
	return nil
}

func (cmp Comparison) allows(o Outcome) error {
	for _, offer := range cmp.Offers {
		if offer.Outcome != o {
			continue
		}
		if !offer.At.IsZero() {
			return fmt.Errorf("%w: %s", ErrSettling, offer.Reason)
		}
		if offer.Reason != "" {
			return fmt.Errorf("%w: %s", ErrOutcome, offer.Reason)
		}
		return nil
	}
	return fmt.Errorf("%w: certainty was lost while %s", ErrOutcome, cmp.Origin)
}

// evidence signs what was observed.
func (e *Engine) evidence(ctx context.Context, contractID string, o Outcome, now Comparison, authority Authority) (ReconciliationEvidence, error) {
	c, err := e.p.Store.Load(ctx, contractID)
	if err != nil {
		return ReconciliationEvidence{}, err
	}
	ev, err := now.evidence(o)
	if err != nil {
		return ReconciliationEvidence{}, err
	}
	ev.AuthorityID, ev.Algorithm = authority.ID(), authority.Algorithm(ProofReconciliation)
	ev.OperationID, ev.IssuedAt = c.OperationID, e.p.Clock.Now()
	payload, err := ev.SigningPayload()
	if err != nil {
		return ReconciliationEvidence{}, err
	}
	ev.Proof, err = authority.Sign(ProofReconciliation, payload)
	return ev, err
}
