package core

import (
	"context"
	"errors"
	"fmt"
)

// Review reads everything gate two shows, the target afresh.
func (e *Engine) Review(ctx context.Context, contractID string) (Review, error) {
	detail, err := e.Detail(ctx, contractID)
	if err != nil {
		return Review{}, err
	}
	opened, err := OpenContract(ctx, detail.Contract, e.p.Capabilities, e.p.Sealer)
	if err != nil {
		return Review{}, err
	}
	r := Review{Detail: detail, Target: detail.Row.Target}
	if err := e.sameAppliance(ctx, opened); errors.Is(err, ErrApplianceMismatch) {
		r.Drift, r.ReadAt = err.Error(), e.p.Clock.Now()
		return r, nil
	} else if err != nil {
		return Review{}, err
	}
	status, err := e.p.Reader.Status(ctx)
	if err != nil {
		return Review{}, err
	}
	r.Pin = status.Pin
	if r.Waiting, err = e.waitingIn(ctx, status, opened.Capability.Spec().Loads, contractID); err != nil {
		return Review{}, err
	}
	reading, o, err := observeNow(ctx, e.p.Reader, opened.Capability, opened.Identity, e.p.Clock)
	r.ReadAt = e.p.Clock.Now()
	if err != nil {
		if !errors.Is(err, ErrAppliance) {
			r.Drift = err.Error()
			return r, nil
		}
		return Review{}, err
	}
	r.ReadAt, r.Related, r.Summary = reading.At, o.Related, o.Summary
	r.Drift = e.drift(opened, o)
	return r, nil
}

// drift says why a target is not as it was prepared, or "".
func (e *Engine) drift(opened Opened, o Observation) string {
	c := opened.Contract
	now, err := c.Binding().FingerprintDigest(o.Projection)
	expected := c.TargetFingerprint
	if c.VerifiedTargetFingerprint != nil {
		expected = *c.VerifiedTargetFingerprint
	}
	switch {
	case err != nil:
		return err.Error()
	case now != expected:
		return ErrDrift.Error()
	case o.Locator != c.LifecycleLocator:
		return "the target's position has changed on the firewall"
	}
	return ""
}

// Confirm is gate two: the operator has reviewed the change, types the
// target's exact name, and proves who they are (seed 003, Confirmation contract).
func (e *Engine) Confirm(ctx context.Context, contractID, typedTarget, operator string, passphrase []byte) error {
	return e.confirm(ctx, contractID, typedTarget, operator, passphrase, nil)
}

// ConfirmAndLoad confirms, and agrees in the same confirmation that the
// appliance is asked to load the change right after it is verified (design
// section 4, rule 7). shown is what the review showed as waiting already; it
// wraps ErrWaitingChanged, with nothing changed, where something else waits
// now, and ErrWaitingUnread where that cannot be known. ErrLoadingLeftOut says
// that it is confirmed all the same.
func (e *Engine) ConfirmAndLoad(ctx context.Context, contractID, typedTarget, operator string, passphrase []byte, shown Waiting) error {
	return e.confirm(ctx, contractID, typedTarget, operator, passphrase, &shown)
}

func (e *Engine) confirm(ctx context.Context, contractID, typedTarget, operator string, passphrase []byte, load *Waiting) error {
	if err := e.mayChange(); err != nil {
		return err
	}
	opened, err := e.confirmable(ctx, contractID, typedTarget)
	if err != nil {
		return err
	}
	if err := e.checkAgreement(ctx, opened, load); err != nil {
		return err
	}
	c := opened.Contract
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	defer authority.Close()
	nonce, err := NewIdentifier(e.p.Random, "nonce")
	if err != nil {
		return err
	}
	evidence := NewConfirmationEvidence(c, authority.ID(), authority.Algorithm(ProofConfirmation), nonce, e.p.Clock.Now())
	payload, err := evidence.SigningPayload()
	if err != nil {
		return err
	}
	if evidence.Proof, err = authority.Sign(ProofConfirmation, payload); err != nil {
		return err
	}
	work := context.WithoutCancel(ctx)
	if opened.Contract, err = e.p.Store.Confirm(work, c.ID, c.StateVersion, evidence, authority); err != nil || load == nil {
		return err
	}
	if err := e.agreeToLoad(work, opened, *load, authority); err != nil {
		return fmt.Errorf("%w: %w", ErrLoadingLeftOut, err)
	}
	return nil
}

// confirmable loads a contract whose window is open and whose target's exact
// name was typed.
func (e *Engine) confirmable(ctx context.Context, contractID, typedTarget string) (Opened, error) {
	opened, err := e.open(ctx, contractID)
	if err != nil {
		return Opened{}, err
	}
	if typedTarget != opened.Capability.Label(opened.Identity) {
		return Opened{}, ErrTypedTarget
	}
	if opened.Contract.ExpiredAt(e.p.Clock.Now()) {
		return Opened{}, ErrExpired
	}
	return opened, nil
}

// open loads a contract and decrypts and checks its artifacts.
func (e *Engine) open(ctx context.Context, contractID string) (Opened, error) {
	c, err := e.p.Store.Load(ctx, contractID)
	if err != nil {
		return Opened{}, err
	}
	return OpenContract(ctx, c, e.p.Capabilities, e.p.Sealer)
}

// Decline ends a PREPARED contract before it expires: a proven refusal before
// acquisition, authenticated like a confirmation (design rule 9).
func (e *Engine) Decline(ctx context.Context, contractID, operator string, passphrase []byte) error {
	if err := e.mayChange(); err != nil {
		return err
	}
	return e.approved(ctx, contractID, ApproveDecline, operator, passphrase, func(c Contract, a Approval, v Authority) error {
		_, err := e.p.Store.Decline(context.WithoutCancel(ctx), c.ID, a, v)
		e.updateHeader(ctx)
		return err
	})
}

// approved lets an operator approve one decision about a contract as it is now.
func (e *Engine) approved(ctx context.Context, contractID string, kind ApprovalKind, operator string, passphrase []byte,
	act func(Contract, Approval, Authority) error) error {
	c, err := e.p.Store.Load(ctx, contractID)
	if err != nil {
		return err
	}
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	defer authority.Close()
	a, err := e.approve(c, kind, authority)
	if err != nil {
		return err
	}
	return act(c, a, authority)
}

func (e *Engine) approve(c Contract, kind ApprovalKind, authority Authority) (Approval, error) {
	nonce, err := NewIdentifier(e.p.Random, "nonce")
	if err != nil {
		return Approval{}, err
	}
	a := Approval{
		Kind: kind, AuthorityID: authority.ID(), Algorithm: authority.Algorithm(ProofApproval), Nonce: nonce,
		ContractID: c.ID, OperationID: c.OperationID, StateVersion: c.StateVersion,
		IntentDigest: c.IntentDigest, IssuedAt: e.p.Clock.Now(),
	}
	payload, err := a.SigningPayload()
	if err != nil {
		return Approval{}, err
	}
	if a.Proof, err = authority.Sign(ProofApproval, payload); err != nil {
		return Approval{}, fmt.Errorf("signing the approval: %w", err)
	}
	return a, nil
}
