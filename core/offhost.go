package core

import (
	"context"
	"fmt"
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
	r := e.signingRequest(ProofAuthorization, fresh)
	r.Pending = fresh.Pending
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
	r.Confirmation, r.Pending = &unsigned, review.Pending
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
	return e.signingRequest(kind, d), nil
}

func (e *Engine) signingRequest(kind ProofKind, d Draft) SigningRequest {
	return SigningRequest{Kind: kind, Operator: e.set.Operator, ExportedAt: e.p.Clock.Now(), Binding: d.Spec.Binding(),
		Fields: d.Request.Fields, Snapshot: d.Observation.Projection, Locator: d.Observation.Locator}
}

// export adds which firewall this is, and opens the request as the signer
// will, so that nothing leaves here that would be refused there.
func (e *Engine) export(ctx context.Context, r SigningRequest, path string) error {
	var err error
	if r.Appliance, err = e.p.Reader.Identify(ctx); err != nil {
		return err
	}
	v, err := r.Open(e.p.Capabilities)
	if err != nil {
		return err
	}
	if r.Authorization == nil && v.Draft.ApplianceDigest != r.Appliance.mustMatch(v) {
		return ErrApplianceMismatch
	}
	return e.p.Requests.WriteRequest(ctx, path, r)
}
