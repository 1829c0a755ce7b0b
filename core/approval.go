package core

import (
	"fmt"
	"time"

	"countersign/canon"
)

// ApprovalKind is a decision of an authenticated person other than
// authorization, confirmation and a reconciliation outcome.
type ApprovalKind string

// What an Approval can approve.
const (
	// ApproveDecline: PREPARED to FAILED, a proven refusal before acquisition
	// (design section 4, rule 9).
	ApproveDecline ApprovalKind = "decline"
	// ApproveRollback: VERIFIED to ROLLING_BACK.
	ApproveRollback ApprovalKind = "rollback"
	// ApproveResume: RECONCILIATION to ROLLING_BACK, one further send.
	ApproveResume ApprovalKind = "resume_rollback"
	// ApproveLoad: ask the appliance to load what is stored (design rule 7).
	ApproveLoad ApprovalKind = "load"
)

// Approval binds one decision to one version of one contract.
type Approval struct {
	Kind         ApprovalKind
	AuthorityID  string
	Algorithm    string
	Nonce        string
	ContractID   string
	OperationID  string
	StateVersion int64
	IntentDigest canon.Digest
	IssuedAt     time.Time
	Proof        []byte
}

// SigningPayload is what the authority proves: every field but the proof.
func (a Approval) SigningPayload() ([]byte, error) {
	return canon.Encode(Object{
		"kind":          string(a.Kind),
		"authority_id":  a.AuthorityID,
		"algorithm":     a.Algorithm,
		"nonce":         a.Nonce,
		"contract_id":   a.ContractID,
		"operation_id":  a.OperationID,
		"state_version": a.StateVersion,
		"intent_digest": a.IntentDigest.String(),
		"issued_at":     FormatInstant(a.IssuedAt),
	})
}

// ProofDigest is what is kept of the proof.
func (a Approval) ProofDigest() string { return proofDigest(a.Proof) }

// CheckApproval decides whether a approves kind for c as it is now. It is
// called inside the transaction that writes.
func CheckApproval(c Contract, kind ApprovalKind, a Approval, now time.Time, verify func() error) error {
	for _, id := range []string{a.AuthorityID, a.Algorithm, a.Nonce} {
		if !ValidIdentifier(id) {
			return recordError(ReasonEvidence, "identifier")
		}
	}
	if a.Kind != kind || a.ContractID != c.ID || a.OperationID != c.OperationID ||
		a.StateVersion != c.StateVersion || a.IntentDigest != c.IntentDigest || a.IssuedAt.After(now) {
		return fmt.Errorf("%w: the approval is stale or of another contract", ErrBinding)
	}
	if err := checkProofSize(a.Proof); err != nil {
		return err
	}
	return verify()
}
