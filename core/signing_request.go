package core

import (
	"context"
	"fmt"
	"time"

	"countersign/canon"
)

// SigningRequest is everything a person elsewhere needs to see before signing,
// and the evidence they are asked to sign (design section 7, Off-host
// signing). It holds target and values in plain text. Nothing in it has to be
// believed: every digest in the evidence is a function of the other members,
// and Open recomputes all of them on the signer's side.
type SigningRequest struct {
	Kind       ProofKind
	Operator   string // who asks
	ExportedAt time.Time
	Appliance  ApplianceIdentity
	Binding    Binding
	Fields     Object // the typed request
	Snapshot   Object // the target as it was prepared
	Locator    int64
	Pending    []string // unloaded changes of other people

	// The one of Kind is set. Authority, algorithm, issue time and proof are
	// still missing: the signer adds them.
	Authorization  *Authorization
	Confirmation   *ConfirmationEvidence
	Reconciliation *ReconciliationEvidence
	Doubt          *Doubt // with Reconciliation: what it is concluded from
}

// Doubt is where certainty was lost, and the fresh reading beside it.
type Doubt struct {
	Origin   State
	Boundary Boundary
	Failure  FailureClass
	ReadAt   time.Time
	Found    Object // the target as it is now; nil when it was not found
	Locator  int64
	Problem  string // why it was not found
}

// RequestWriter writes a request to a place the operator names, for them
// alone, and never over anything.
type RequestWriter interface {
	WriteRequest(ctx context.Context, path string, r SigningRequest) error
}

// FileName is a name for the request's file that says what it belongs to
// (lesson 18).
func (r SigningRequest) FileName() string {
	id := ""
	switch {
	case r.Authorization != nil:
		id = r.Authorization.AuthorizationID
	case r.Confirmation != nil:
		id = r.Confirmation.ContractID
	case r.Reconciliation != nil:
		id = r.Reconciliation.ContractID
	}
	return string(r.Kind) + "-" + id + ".request"
}

// SigningView is an opened request: what a signer is shown, all of it derived
// by the signer's own build.
type SigningView struct {
	SigningRequest
	Spec       Spec
	Target     string
	Changes    []Change
	Draft      Draft
	Comparison *Comparison // for a conclusion
}

// Open recomputes everything that the evidence binds from the request's plain
// members, with the signer's own capabilities, and derives what to show. A
// request whose evidence says anything else than its members is refused with
// ErrBinding; one that this build cannot show, with ErrPolicy.
func (r SigningRequest) Open(caps SpecSet) (SigningView, error) {
	c, ok := caps.Find(r.Binding)
	if !ok {
		return SigningView{}, fmt.Errorf("%w: this build cannot show what it would sign", ErrPolicy)
	}
	req, err := c.ParseRequest(r.Fields)
	if err != nil {
		return SigningView{}, err
	}
	if r.Locator < 0 || r.Locator > MaxLocator {
		return SigningView{}, fmt.Errorf("%w: position", ErrInvalid)
	}
	appliance, err := r.Appliance.Digest()
	if err != nil {
		return SigningView{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	identity := c.Identity(req)
	d, err := Bind(c, req, Observation{Identity: identity, Projection: r.Snapshot, Locator: r.Locator}, appliance)
	if err != nil {
		return SigningView{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	v := SigningView{SigningRequest: r, Spec: c.Spec(), Target: c.Label(identity), Changes: c.Changes(req, r.Snapshot), Draft: d}
	switch {
	case r.Kind == ProofAuthorization && r.Authorization != nil:
		err = checkAuthorizes(*r.Authorization, d)
	case r.Kind == ProofConfirmation && r.Confirmation != nil:
		err = checkConfirms(*r.Confirmation, d)
	case r.Kind == ProofReconciliation && r.Reconciliation != nil && r.Doubt != nil:
		v.Comparison, err = concludes(*r.Reconciliation, *r.Doubt, c, d)
	default:
		err = fmt.Errorf("%w: the request asks for nothing", ErrInvalid)
	}
	return v, err
}

func checkAuthorizes(a Authorization, d Draft) error {
	if err := checkNames(a.AuthorizationID); err != nil {
		return err
	}
	if a.StepID != PlanStep || a.ExecutionIntentDigest != d.ExecutionIntentDigest ||
		a.PlanDigest != d.PlanDigest || a.ApplianceDigest != d.ApplianceDigest {
		return fmt.Errorf("%w: the authorization is for something else than the request shows", ErrBinding)
	}
	return nil
}

func checkConfirms(e ConfirmationEvidence, d Draft) error {
	if err := checkNames(e.Nonce, e.ContractID, e.OperationID); err != nil {
		return err
	}
	if e.TargetIdentityDigest != d.IdentityDigest || e.TargetFingerprint != d.Fingerprint || e.IntentDigest != d.IntentDigest {
		return fmt.Errorf("%w: the confirmation is for something else than the request shows", ErrBinding)
	}
	return nil
}

// concludes compares snapshot, intended and now once more, and requires that
// the reading supports the conclusion and that the evidence binds it exactly.
func concludes(e ReconciliationEvidence, doubt Doubt, c Capability, d Draft) (*Comparison, error) {
	if err := checkNames(e.ContractID, e.OperationID); err != nil {
		return nil, err
	}
	opened := Opened{Contract: d.bindings(), Capability: c, Request: d.Request, Snapshot: d.Observation.Projection}
	cmp := Comparison{ContractID: e.ContractID, StateVersion: e.ObservedStateVersion, Origin: doubt.Origin,
		Boundary: doubt.Boundary, Failure: doubt.Failure, ReadAt: doubt.ReadAt, Problem: doubt.Problem}
	if doubt.Found == nil {
		if cmp.Problem == "" {
			return nil, fmt.Errorf("%w: the request shows no reading", ErrInvalid)
		}
		cmp.fillWithout(opened)
	} else if err := cmp.fill(opened, Observation{Projection: doubt.Found, Locator: doubt.Locator}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if !e.Outcome.allowedFrom(doubt.Origin) || e.Outcome == ResumeRollback {
		return nil, fmt.Errorf("%w: certainty was lost while %s", ErrOutcome, doubt.Origin)
	}
	if reason := cmp.against(e.Outcome, opened.Contract); reason != "" {
		return nil, fmt.Errorf("%w: %s", ErrOutcome, reason)
	}
	return &cmp, cmp.bound(e)
}

// bound requires that evidence signs exactly this reading.
func (cmp Comparison) bound(e ReconciliationEvidence) error {
	want, err := cmp.evidence(e.Outcome)
	if err != nil {
		return err
	}
	if e.ContractID != cmp.ContractID || e.ObservedStateVersion != cmp.StateVersion ||
		!equalPointers(e.VerifiedTargetFingerprint, want.VerifiedTargetFingerprint) ||
		!equalPointers(e.VerifiedLifecycleLocator, want.VerifiedLifecycleLocator) {
		return fmt.Errorf("%w: the conclusion is about another reading", ErrBinding)
	}
	return nil
}

// evidence is what a conclusion from this reading binds.
func (cmp Comparison) evidence(o Outcome) (ReconciliationEvidence, error) {
	ev := ReconciliationEvidence{ContractID: cmp.ContractID, ObservedStateVersion: cmp.StateVersion, Outcome: o}
	if o == ConfirmedApplied {
		fingerprint, err := canon.ParseDigest(cmp.Fingerprint)
		if err != nil {
			return ev, fmt.Errorf("%w: the reading has no fingerprint", ErrInvalid)
		}
		ev.VerifiedTargetFingerprint = &fingerprint
	}
	if o == ConfirmedApplied || o == ConfirmedRollbackApplied {
		locator := cmp.Locator
		ev.VerifiedLifecycleLocator = &locator
	}
	return ev, nil
}

// checkNames: what is not an identifier would be refused once it is signed.
func checkNames(names ...string) error {
	for _, name := range names {
		if !ValidIdentifier(name) {
			return fmt.Errorf("%w: a name in the evidence", ErrInvalid)
		}
	}
	return nil
}

func equalPointers[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
