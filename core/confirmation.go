package core

import (
	"crypto/sha256"
	"fmt"
	"time"

	"countersign/canon"
)

// MaxProofBytes bounds a proof of any authority.
const MaxProofBytes = 64 << 10

// ConfirmationEvidence is an authenticated person's agreement to exactly one
// contract (seed 003, Confirmation contract). The proof itself is never stored.
type ConfirmationEvidence struct {
	AuthorityID          string
	Algorithm            string
	Nonce                string
	ContractID           string
	OperationID          string
	TargetIdentityDigest canon.Digest
	TargetFingerprint    canon.Digest
	IntentDigest         canon.Digest
	IssuedAt, ExpiresAt  time.Time
	Proof                []byte
}

// NewConfirmationEvidence fills every bound field from a contract; only the
// proof is still missing.
func NewConfirmationEvidence(c Contract, authorityID, algorithm, nonce string, now time.Time) ConfirmationEvidence {
	return ConfirmationEvidence{
		AuthorityID: authorityID, Algorithm: algorithm, Nonce: nonce,
		ContractID: c.ID, OperationID: c.OperationID,
		TargetIdentityDigest: c.TargetIdentityDigest, TargetFingerprint: c.TargetFingerprint,
		IntentDigest: c.IntentDigest, IssuedAt: Instant(now), ExpiresAt: c.ExpiresAt,
	}
}

func (e ConfirmationEvidence) object() Object {
	return Object{
		"authority_id":           e.AuthorityID,
		"algorithm":              e.Algorithm,
		"nonce":                  e.Nonce,
		"contract_id":            e.ContractID,
		"operation_id":           e.OperationID,
		"target_identity_digest": e.TargetIdentityDigest.String(),
		"target_fingerprint":     e.TargetFingerprint.String(),
		"intent_digest":          e.IntentDigest.String(),
		"issued_at":              FormatInstant(e.IssuedAt),
		"expires_at":             FormatInstant(e.ExpiresAt),
	}
}

// SigningPayload is what the authority proves: every field but the proof.
func (e ConfirmationEvidence) SigningPayload() ([]byte, error) { return canon.Encode(e.object()) }

// Digest identifies the evidence without its proof bytes and issue time.
func (e ConfirmationEvidence) Digest() (canon.Digest, error) {
	o := e.object()
	delete(o, "issued_at")
	o["proof_digest"] = proofDigest(e.Proof)
	return canon.Sum(canon.Confirmation, nil, o)
}

// ConfirmationDigest is what the contract keeps of its confirmation.
func (e ConfirmationEvidence) ConfirmationDigest() (canon.Digest, error) {
	evidence, err := e.Digest()
	if err != nil {
		return canon.Digest{}, err
	}
	return canon.Sum(canon.Confirmation, nil, Object{
		"authority_id":           e.AuthorityID,
		"contract_id":            e.ContractID,
		"evidence_digest":        evidence.String(),
		"expires_at":             FormatInstant(e.ExpiresAt),
		"intent_digest":          e.IntentDigest.String(),
		"operation_id":           e.OperationID,
		"target_fingerprint":     e.TargetFingerprint.String(),
		"target_identity_digest": e.TargetIdentityDigest.String(),
	})
}

// Validate checks the evidence's own form.
func (e ConfirmationEvidence) Validate() error {
	for _, id := range []string{e.AuthorityID, e.Algorithm, e.Nonce, e.ContractID, e.OperationID} {
		if !ValidIdentifier(id) {
			return recordError(ReasonEvidence, "identifier")
		}
	}
	if !e.IssuedAt.Before(e.ExpiresAt) {
		return recordError(ReasonEvidence, "issued_at")
	}
	return checkProofSize(e.Proof)
}

// CheckConfirmation decides whether evidence may confirm c at now, in the
// order of seed 003: expected version, state, expiry, binding, verifier. It is
// called inside the transaction that writes, with the clock read there.
func CheckConfirmation(c Contract, expectedVersion int64, e ConfirmationEvidence, now time.Time, verify func() error) error {
	switch {
	case c.StateVersion != expectedVersion:
		return fmt.Errorf("%w: the contract changed meanwhile", ErrConflict)
	case c.State != Prepared || c.Confirmed():
		return fmt.Errorf("%w: a confirmation is accepted once, while PREPARED", ErrConflict)
	case c.ExpiredAt(now):
		return fmt.Errorf("%w: %w", ErrConflict, ErrExpired)
	}
	if err := e.Validate(); err != nil {
		return err
	}
	bound := NewConfirmationEvidence(c, e.AuthorityID, e.Algorithm, e.Nonce, e.IssuedAt)
	bound.Proof = e.Proof
	if !sameConfirmation(bound, e) {
		return fmt.Errorf("%w: the confirmation binds other facts", ErrBinding)
	}
	return verify()
}

func sameConfirmation(a, b ConfirmationEvidence) bool {
	return a.ContractID == b.ContractID && a.OperationID == b.OperationID &&
		a.TargetIdentityDigest == b.TargetIdentityDigest && a.TargetFingerprint == b.TargetFingerprint &&
		a.IntentDigest == b.IntentDigest && a.ExpiresAt.Equal(b.ExpiresAt)
}

func proofDigest(proof []byte) string {
	return canon.Digest(sha256.Sum256(proof)).String()
}

func checkProofSize(proof []byte) error {
	if len(proof) == 0 || len(proof) > MaxProofBytes {
		return recordError(ReasonEvidence, "proof")
	}
	return nil
}
