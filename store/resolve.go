package store

import (
	"context"
	"fmt"

	"countersign/core"
)

// Resolve records an operator's conclusion about a contract whose outcome
// could not be proven, with its authenticated evidence (seed 003, State
// machine). Which conclusions are possible follows from the state in which
// certainty was lost; "not applied" needs the settle window to be over.
func (s *Store) Resolve(ctx context.Context, contractID string, e core.ReconciliationEvidence, v core.Verifier) (core.Contract, error) {
	return s.change(ctx, "resolve", contractID, func(t *tx, l loaded) (loaded, error) {
		err := core.CheckReconciliation(l.Contract, core.Origin(l.events), e,
			t.verifier(v, core.ProofReconciliation, e.AuthorityID, e.Algorithm, e.SigningPayload, e.Proof))
		if err != nil {
			return loaded{}, err
		}
		if err := t.checkNotApplied(l, e.Outcome); err != nil {
			return loaded{}, err
		}
		digest, err := e.Digest()
		if err != nil {
			return loaded{}, fmt.Errorf("%w: %w", core.ErrInvalid, err)
		}
		to, _ := e.Outcome.Target()
		note := core.Note{Actor: e.AuthorityID, Evidence: digest.String(), Outcome: e.Outcome}
		after, err := t.step(l, change{kind: core.EventResolved, to: to, note: note,
			edit: func(c *core.Contract) {
				if e.VerifiedTargetFingerprint != nil {
					c.VerifiedTargetFingerprint = e.VerifiedTargetFingerprint
				}
			}})
		if err != nil {
			return loaded{}, err
		}
		return after, t.insertConclusion(after.last(), "reconciliation", e.AuthorityID, e.Algorithm,
			note.Evidence, e.Outcome, e.IssuedAt)
	})
}
