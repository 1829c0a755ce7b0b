package store

import (
	"context"
	"fmt"

	"countersign/core"
)

// Confirm accepts an authenticated person's confirmation once, while the
// contract is PREPARED and unexpired (seed 003, Confirmation contract).
func (s *Store) Confirm(ctx context.Context, contractID string, version int64, e core.ConfirmationEvidence, v core.Verifier) (core.Contract, error) {
	return s.change(ctx, "confirm", contractID, func(t *tx, l loaded) (loaded, error) {
		if err := t.checkClock(); err != nil {
			return loaded{}, err
		}
		err := core.CheckConfirmation(l.Contract, version, e, t.now,
			t.verifier(v, core.ProofConfirmation, e.AuthorityID, e.Algorithm, e.SigningPayload, e.Proof))
		if err != nil {
			return loaded{}, err
		}
		digest, err := e.ConfirmationDigest()
		if err != nil {
			return loaded{}, fmt.Errorf("%w: %w", core.ErrInvalid, err)
		}
		now := t.now
		note := core.Note{Actor: e.AuthorityID, Evidence: digest.String()}
		after, err := t.step(l, change{kind: core.EventConfirmed, to: core.Prepared, note: note,
			edit: func(c *core.Contract) { c.ConfirmationDigest, c.ConfirmedAt = &digest, &now }})
		if err != nil {
			return loaded{}, err
		}
		return after, t.insertConclusion(after.last(), "confirmation", e.AuthorityID, e.Algorithm,
			note.Evidence, "", e.IssuedAt)
	})
}

// Decline moves PREPARED to FAILED, before it expires, with an operator's
// approval: a proven refusal before acquisition (design section 4, rule 9), or
// the end of a contract that is never sent because a request of it may have left.
func (s *Store) Decline(ctx context.Context, contractID string, a core.Approval, v core.Verifier) (core.Contract, error) {
	return s.change(ctx, "decline", contractID, func(t *tx, l loaded) (loaded, error) {
		if err := t.checkClock(); err != nil {
			return loaded{}, err
		}
		if l.State != core.Prepared {
			return loaded{}, fmt.Errorf("%w: only a PREPARED contract can be declined", core.ErrConflict)
		}
		if l.ExpiredAt(t.now) {
			return loaded{}, fmt.Errorf("%w: %w", core.ErrConflict, core.ErrExpired)
		}
		if err := t.approve(l, core.ApproveDecline, a, v); err != nil {
			return loaded{}, err
		}
		note, err := t.declined(l)
		if err != nil {
			return loaded{}, err
		}
		return t.stepApproved(l, change{kind: core.EventTransition, to: core.Failed, note: note}, a)
	})
}

// declined is what is known of a contract that is declined: nothing was sent
// for it, unless an advance of the anchor was attributed to it. Then the worst
// is assumed, as after a restart (decision 13).
func (t *tx) declined(l loaded) (core.Note, error) {
	note := core.Note{Boundary: core.BeforeSend, Knowledge: core.ProvenNone, Failure: core.FailureDeclined,
		Direction: core.Forward}
	attributed, err := t.isAttributed(l.ID)
	if attributed {
		note.Boundary, note.Knowledge, note.Failure = core.AfterSend, core.Ambiguous, core.FailureGivenUp
	}
	return note, err
}
