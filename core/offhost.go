package core

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// AuthorizationWindow is how long an exported authorization request may be
// signed, brought back and used. The contract it creates has its own, usually
// shorter, window.
const AuthorizationWindow = time.Hour

// ExportAuthorizationRequest writes a request to authorize a draft off-host.
// The target is read again and must still be as drafted. Nothing is created:
// the authorization's id is spent only when the signed artifact is used.
func (e *Engine) ExportAuthorizationRequest(ctx context.Context, d Draft, path string) error {
	if err := e.mayExport(); err != nil {
		return err
	}
	if err := e.checkPriorAttempts(ctx, d, ""); err != nil {
		return err
	}
	fresh, err := e.again(ctx, d)
	if err != nil {
		return err
	}
	id, err := NewIdentifier(e.p.Random, "authz")
	if err != nil {
		return err
	}
	r, err := e.signingRequest(ctx, ProofAuthorization, fresh)
	if err != nil {
		return err
	}
	r.Pending = fresh.Waiting.lines()
	r.Authorization = &Authorization{AuthorizationID: id, StepID: PlanStep, PlanDigest: fresh.PlanDigest,
		ExecutionIntentDigest: fresh.ExecutionIntentDigest, ApplianceDigest: fresh.ApplianceDigest,
		ExpiresAt: r.ExportedAt.Add(AuthorizationWindow)}
	return e.export(ctx, r, path)
}

// ExportConfirmationRequest writes a request to confirm a PREPARED contract
// off-host. The target is read again: what could not be sent now is not worth
// a signature.
func (e *Engine) ExportConfirmationRequest(ctx context.Context, contractID, path string) error {
	if err := e.mayExport(); err != nil {
		return err
	}
	review, err := e.Review(ctx, contractID)
	if err != nil {
		return err
	}
	c := review.Contract
	switch {
	case c.State != Prepared || c.Confirmed():
		return fmt.Errorf("%w: only a PREPARED contract can be confirmed, and only once", ErrConflict)
	case c.ExpiredAt(e.p.Clock.Now()):
		return ErrExpired
	case review.Drift != "":
		return fmt.Errorf("%w: %s", ErrDrift, review.Drift)
	}
	r, err := e.requestFor(ctx, ProofConfirmation, c)
	if err != nil {
		return err
	}
	nonce, err := NewIdentifier(e.p.Random, "nonce")
	if err != nil {
		return err
	}
	unsigned := NewConfirmationEvidence(c, "", "", nonce, time.Time{})
	r.Confirmation, r.Pending = &unsigned, review.Waiting.lines()
	return e.export(ctx, r, path)
}

// ExportReconciliationRequest writes a request to conclude off-host what the
// operator has seen. A fresh reading must show the same and support it.
func (e *Engine) ExportReconciliationRequest(ctx context.Context, contractID string, o Outcome, seen Comparison, path string) error {
	if err := e.mayExport(); err != nil {
		return err
	}
	if o == ResumeRollback {
		return fmt.Errorf("%w: resuming a rollback is approved by an operator at the console", ErrOutcome)
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
	c, err := e.p.Store.Load(ctx, contractID)
	if err != nil {
		return err
	}
	r, err := e.requestFor(ctx, ProofReconciliation, c)
	if err != nil {
		return err
	}
	unsigned, err := now.evidence(o)
	if err != nil {
		return err
	}
	unsigned.OperationID = c.OperationID
	r.Reconciliation = &unsigned
	r.Doubt = &Doubt{Origin: now.Origin, Boundary: now.Boundary, Failure: now.Failure, ReadAt: now.ReadAt,
		Found: now.found, Locator: now.Locator, Problem: now.Problem}
	return e.export(ctx, r, path)
}

// mayExport: exporting changes nothing, so an observer may; but a signature
// that nothing here would accept is not worth asking for.
func (e *Engine) mayExport() error {
	if e.p.OffHost == nil {
		return fmt.Errorf("%w: no off-host authority is pinned", ErrVerifierMissing)
	}
	if e.p.Requests == nil {
		return fmt.Errorf("%w: this console writes no requests", ErrPolicy)
	}
	return nil
}

// requestFor fills in what a contract binds, from its opened artifacts.
func (e *Engine) requestFor(ctx context.Context, kind ProofKind, c Contract) (SigningRequest, error) {
	opened, err := OpenContract(ctx, c, e.p.Capabilities, e.p.Sealer)
	if err != nil {
		return SigningRequest{}, err
	}
	d, err := Bind(opened.Capability, opened.Request, Observation{Identity: opened.Identity,
		Projection: opened.Snapshot, Locator: c.LifecycleLocator}, opened.Appliance)
	if err != nil {
		return SigningRequest{}, err
	}
	return e.signingRequest(ctx, kind, d)
}

// signingRequest adds who asks, when, and which firewall this is.
func (e *Engine) signingRequest(ctx context.Context, kind ProofKind, d Draft) (SigningRequest, error) {
	appliance, err := e.p.Reader.Identify(ctx)
	if err != nil {
		return SigningRequest{}, err
	}
	if digest, err := appliance.Digest(); err != nil || digest != d.ApplianceDigest {
		return SigningRequest{}, ErrApplianceMismatch
	}
	return SigningRequest{Kind: kind, Operator: e.set.Operator, ExportedAt: e.p.Clock.Now(), Appliance: appliance,
		Binding: d.Spec.Binding(), Fields: d.Request.Fields, Snapshot: d.Observation.Projection,
		Locator: d.Observation.Locator}, nil
}

// export opens the request as the signer will, so that nothing leaves here
// that would be refused there.
func (e *Engine) export(ctx context.Context, r SigningRequest, path string) error {
	if _, err := r.Open(e.p.Capabilities); err != nil {
		return err
	}
	return e.p.Requests.WriteRequest(ctx, path, r)
}

// ConfirmWith is gate two with a confirmation that was signed off-host: a
// pinned authority proves that it was agreed to, and the operator here still
// types the target's exact name (seed 003, Confirmation contract).
func (e *Engine) ConfirmWith(ctx context.Context, contractID, typedTarget string, ev ConfirmationEvidence) error {
	if err := e.mayAccept(ctx, contractID, ev.ContractID); err != nil {
		return err
	}
	opened, err := e.confirmable(ctx, contractID, typedTarget)
	if err != nil {
		return err
	}
	c := opened.Contract
	if err := e.checkIssued(ev.IssuedAt, c.CreatedAt, "the contract was made"); err != nil {
		return err
	}
	_, err = e.p.Store.Confirm(context.WithoutCancel(ctx), c.ID, c.StateVersion, ev, e.p.OffHost)
	return err
}

// ReconcileWith records a conclusion that was signed off-host. As in
// Reconcile, the target is read once more, it must be what the operator has
// seen, and the reading must support the conclusion; what was signed must be
// exactly this reading (seed 003, Execution algorithm).
func (e *Engine) ReconcileWith(ctx context.Context, contractID string, ev ReconciliationEvidence, seen Comparison) error {
	if err := e.mayAccept(ctx, contractID, ev.ContractID); err != nil {
		return err
	}
	if err := ev.Validate(); err != nil {
		return err
	}
	events, err := e.p.Store.Timeline(ctx, contractID)
	if err != nil {
		return err
	}
	if err := e.checkIssued(ev.IssuedAt, enteredReconciliation(events), "certainty was lost"); err != nil {
		return err
	}
	now, err := e.Observe(ctx, contractID)
	if err != nil {
		return err
	}
	if err := now.sameAs(seen); err != nil {
		return err
	}
	if err := now.bound(ev); err != nil {
		return err
	}
	if err := now.allows(ev.Outcome); err != nil {
		return err
	}
	_, err = e.p.Store.Resolve(context.WithoutCancel(ctx), contractID, ev, e.p.OffHost)
	e.updateHeader(ctx)
	return err
}

// mayAccept is what every artifact needs before it is looked at: this console
// may change things, a verifier is there, an enrolled operator is at the
// keyboard, and the artifact is about this contract.
func (e *Engine) mayAccept(ctx context.Context, contractID, signedFor string) error {
	if err := e.mayChange(); err != nil {
		return err
	}
	if e.p.OffHost == nil {
		return ErrVerifierMissing
	}
	if err := e.mustBeEnrolled(ctx, e.set.Operator); err != nil {
		return err
	}
	if signedFor != contractID {
		return fmt.Errorf("%w: it was signed for another one", ErrBinding)
	}
	return nil
}

// mustBeEnrolled: a name that goes into authenticated records is one of an
// enrolled operator.
func (e *Engine) mustBeEnrolled(ctx context.Context, operator string) error {
	enrolled, err := e.p.Operators.Enrolled(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(enrolled, operator) {
		return ErrUnknownOperator
	}
	return nil
}

// checkIssued refuses evidence from the future, and evidence that is older
// than what it is about. Neither can become false before the store writes, so
// it need not be decided there; the reference decides it here too
// (conformance, confirmation notes).
func (e *Engine) checkIssued(issued, notBefore time.Time, since string) error {
	switch {
	case issued.After(e.p.Clock.Now()):
		return fmt.Errorf("%w: it was signed in the future; compare the clocks of both machines", ErrBinding)
	case issued.Before(notBefore):
		return fmt.Errorf("%w: it was signed before %s", ErrBinding, since)
	}
	return nil
}

// enteredReconciliation is when the chain last entered RECONCILIATION.
func enteredReconciliation(events []AuditEvent) time.Time {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Current == Reconciliation && events[i].Previous != Reconciliation {
			return events[i].RecordedAt
		}
	}
	return time.Time{}
}
