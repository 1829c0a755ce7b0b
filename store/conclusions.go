package store

import (
	"errors"
	"fmt"
	"time"

	"countersign/core"
)

// insertConclusion records who decided what with which evidence, beside the
// event it led to (design lesson 20).
func (t *tx) insertConclusion(e core.AuditEvent, kind, authority, algorithm, evidence string, o core.Outcome, issued time.Time) error {
	return t.insertRow(tableConclusions, []any{e.Sequence, e.ContractID, e.Version, kind, authority, algorithm,
		evidence, string(o), core.FormatInstant(issued)})
}

// verifier is the last step of a decision: the proof. Absence, refusal and
// failure are closed (seed 003, Confirmation contract).
func (t *tx) verifier(v core.Verifier, kind core.ProofKind, authority, algorithm string,
	payload func() ([]byte, error), proof []byte) func() error {
	return func() error {
		if v == nil {
			return core.ErrVerifierMissing
		}
		signed, err := payload()
		if err != nil {
			return fmt.Errorf("%w: %w", core.ErrInvalid, err)
		}
		err = v.Verify(t.ctx, kind, authority, algorithm, signed, proof)
		if err == nil || errors.Is(err, core.ErrProof) || errors.Is(err, core.ErrVerifierFailed) ||
			errors.Is(err, core.ErrVerifierMissing) {
			return err
		}
		return core.ErrVerifierFailed
	}
}

// approve checks an operator's approval of one decision about l.
func (t *tx) approve(l loaded, kind core.ApprovalKind, a core.Approval, v core.Verifier) error {
	return core.CheckApproval(l.Contract, kind, a, t.now,
		t.verifier(v, core.ProofApproval, a.AuthorityID, a.Algorithm, a.SigningPayload, a.Proof))
}

// stepApproved writes a change together with the approval behind it.
func (t *tx) stepApproved(l loaded, ch change, a core.Approval) (loaded, error) {
	ch.note.Actor, ch.note.Evidence = a.AuthorityID, a.ProofDigest()
	after, err := t.step(l, ch)
	if err != nil {
		return loaded{}, err
	}
	return after, t.insertConclusion(after.last(), string(a.Kind), a.AuthorityID, a.Algorithm,
		ch.note.Evidence, ch.note.Outcome, a.IssuedAt)
}
