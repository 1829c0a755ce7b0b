package core

import (
	"fmt"
	"time"

	"countersign/canon"
)

// Outcome is an operator's recorded conclusion about a contract whose
// outcome could not be proven (seed 003, State machine and Execution algorithm).
type Outcome string

// The five conclusions: one for each manual edge.
const (
	ConfirmedApplied            Outcome = "confirmed_applied"
	ConfirmedNotApplied         Outcome = "confirmed_not_applied"
	ConfirmedRollbackApplied    Outcome = "confirmed_rollback_applied"
	ConfirmedRollbackNotApplied Outcome = "confirmed_rollback_not_applied"
	// ResumeRollback is the edge RECONCILIATION to ROLLING_BACK: concluded
	// by an Approval, and followed by exactly one rollback send.
	ResumeRollback Outcome = "resume_rollback"
)

// Target is the state an outcome leads to.
func (o Outcome) Target() (State, bool) {
	switch o {
	case ConfirmedApplied:
		return Verified, true
	case ConfirmedNotApplied:
		return Failed, true
	case ConfirmedRollbackApplied:
		return RolledBack, true
	case ConfirmedRollbackNotApplied:
		return RollbackFailed, true
	case ResumeRollback:
		return RollingBack, true
	}
	return "", false
}

// OutcomesFor lists the conclusions that the boundary at which certainty was
// lost allows. origin is the state the contract was in when it entered
// RECONCILIATION, taken from the last *state* event (design lesson 8).
// Resuming a rollback needs the verified fingerprint that rollback compares
// with, so it is only possible from a doubtful rollback.
func OutcomesFor(origin State) []Outcome {
	switch origin {
	case Executing:
		return []Outcome{ConfirmedApplied, ConfirmedNotApplied}
	case RollingBack:
		return []Outcome{ConfirmedRollbackApplied, ConfirmedRollbackNotApplied, ResumeRollback}
	}
	return nil
}

func (o Outcome) allowedFrom(origin State) bool {
	for _, x := range OutcomesFor(origin) {
		if x == o {
			return true
		}
	}
	return false
}

// ReconciliationEvidence is an authority's signed conclusion. An applied
// outcome signs the exact observed post-forward fingerprint and locator, a
// rolled-back outcome the exact locator; the others carry neither.
type ReconciliationEvidence struct {
	AuthorityID               string
	Algorithm                 string
	ContractID                string
	OperationID               string
	ObservedStateVersion      int64
	Outcome                   Outcome
	IssuedAt                  time.Time
	VerifiedTargetFingerprint *canon.Digest
	VerifiedLifecycleLocator  *int64
	Proof                     []byte
}

func (e ReconciliationEvidence) object() Object {
	var locator any
	if e.VerifiedLifecycleLocator != nil {
		locator = *e.VerifiedLifecycleLocator
	}
	return Object{
		"authority_id":                e.AuthorityID,
		"algorithm":                   e.Algorithm,
		"contract_id":                 e.ContractID,
		"operation_id":                e.OperationID,
		"observed_state_version":      e.ObservedStateVersion,
		"outcome":                     string(e.Outcome),
		"issued_at":                   FormatInstant(e.IssuedAt),
		"verified_target_fingerprint": digestOrNull(e.VerifiedTargetFingerprint),
		"verified_lifecycle_locator":  locator,
	}
}

// SigningPayload is what the authority proves: every field but the proof.
func (e ReconciliationEvidence) SigningPayload() ([]byte, error) { return canon.Encode(e.object()) }

// Digest identifies the evidence.
func (e ReconciliationEvidence) Digest() (canon.Digest, error) {
	o := e.object()
	delete(o, "algorithm")
	o["proof_digest"] = proofDigest(e.Proof)
	return canon.Sum(canon.Reconciliation, nil, o)
}

// Validate checks that the evidence carries exactly what its outcome demands.
func (e ReconciliationEvidence) Validate() error {
	for _, id := range []string{e.AuthorityID, e.Algorithm, e.ContractID, e.OperationID} {
		if !ValidIdentifier(id) {
			return recordError(ReasonEvidence, "identifier")
		}
	}
	if _, ok := e.Outcome.Target(); !ok || e.Outcome == ResumeRollback {
		return recordError(ReasonEvidence, "outcome")
	}
	if e.ObservedStateVersion < 0 {
		return recordError(ReasonEvidence, "observed_state_version")
	}
	needsFingerprint := e.Outcome == ConfirmedApplied
	needsLocator := needsFingerprint || e.Outcome == ConfirmedRollbackApplied
	if (e.VerifiedTargetFingerprint != nil) != needsFingerprint {
		return recordError(ReasonEvidence, "verified_target_fingerprint")
	}
	if (e.VerifiedLifecycleLocator != nil) != needsLocator {
		return recordError(ReasonEvidence, "verified_lifecycle_locator")
	}
	if l := e.VerifiedLifecycleLocator; l != nil && (*l < 0 || *l > MaxLocator) {
		return recordError(ReasonEvidence, "verified_lifecycle_locator")
	}
	return checkProofSize(e.Proof)
}

// CheckReconciliation decides whether evidence may resolve c, in the order
// state, outcome against origin, binding, verifier. It is called inside the
// transaction that writes.
func CheckReconciliation(c Contract, origin State, e ReconciliationEvidence, verify func() error) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if c.State != Reconciliation {
		return fmt.Errorf("%w: the contract is not in RECONCILIATION", ErrConflict)
	}
	if !e.Outcome.allowedFrom(origin) {
		return fmt.Errorf("%w: certainty was lost while %s", ErrOutcome, origin)
	}
	if e.ContractID != c.ID || e.OperationID != c.OperationID || e.ObservedStateVersion != c.StateVersion {
		return fmt.Errorf("%w: the evidence is stale or of another contract", ErrBinding)
	}
	if e.VerifiedLifecycleLocator != nil && *e.VerifiedLifecycleLocator != c.LifecycleLocator {
		return fmt.Errorf("%w: the position differs from the contract's", ErrBinding)
	}
	return verify()
}
