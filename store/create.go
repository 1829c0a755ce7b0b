package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"countersign/core"
)

// AuthorizeAndCreate makes a PREPARED contract from an authorization in one
// transaction (design section 2, D). In this order: a request that was made
// before is replayed; every check that changes nothing (form, authorization,
// blocking contract, historical use of the authorization, limits, settle
// window); then the authorization is consumed, the contract is inserted as
// PREPARING and made PREPARED, and the receipt is written. The partial unique
// index at the insert is the only guard against a race. Whatever refuses,
// nothing was spent.
func (s *Store) AuthorizeAndCreate(ctx context.Context, c core.Creation) (core.Contract, error) {
	var made loaded
	err := s.write(ctx, "create", func(t *tx) error {
		var replayed bool
		var err error
		if made, replayed, err = t.replay(c.Claim); err != nil || replayed {
			return err
		}
		if err := t.checkMayCreate(c); err != nil {
			return err
		}
		if err := t.consume(c.Authorization, c.Contract.ID); err != nil {
			return err
		}
		if made, err = t.insertPrepared(c); err != nil {
			return err
		}
		return t.insertReceipt(c.Claim, made.Contract)
	})
	return made.Contract, err
}

// checkMayCreate runs every check that changes nothing.
func (t *tx) checkMayCreate(c core.Creation) error {
	if err := t.checkClock(); err != nil {
		return err
	}
	if err := t.checkForm(c); err != nil {
		return err
	}
	if err := t.checkUnused(c); err != nil {
		return err
	}
	if err := t.checkCreation(c.Contract.TargetIdentityDigest.String()); err != nil {
		return err
	}
	if err := t.checkSettled(c.Settle); err != nil {
		return err
	}
	a := c.Authorization
	return core.CheckAuthorization(a, c.Draft, t.now,
		t.verifier(c.Verifier, core.ProofAuthorization, a.AuthorityID, a.Algorithm, a.SigningPayload, a.Proof))
}

// checkForm: the contract is the draft's, begins at the beginning, and its
// window is open now.
func (t *tx) checkForm(c core.Creation) error {
	n, d := c.Contract, c.Draft
	switch {
	case n.State != core.Preparing || n.StateVersion != 0 || n.Confirmed():
		return fmt.Errorf("%w: a contract begins as PREPARING", core.ErrInvalid)
	case n.CreatedAt.After(t.now) || n.ExpiredAt(t.now):
		return fmt.Errorf("%w: the contract's window is not open now", core.ErrInvalid)
	case n.Provenance == nil || !sameProvenance(*n.Provenance, c.Authorization.Provenance()):
		return fmt.Errorf("%w: the contract names another authorization", core.ErrBinding)
	case n.IdempotencyKey != d.IdempotencyKey || n.IntentDigest != d.IntentDigest ||
		n.SnapshotDigest != d.SnapshotDigest || n.TargetFingerprint != d.Fingerprint ||
		n.TargetIdentityDigest != d.IdentityDigest:
		return fmt.Errorf("%w: the contract is not the draft's", core.ErrBinding)
	}
	if err := n.Validate(); err != nil {
		return fmt.Errorf("%w: %w", core.ErrInvalid, err)
	}
	return nil
}

func sameProvenance(a, b core.Provenance) bool {
	sameTimes := a.IssuedAt.Equal(b.IssuedAt) && a.ExpiresAt.Equal(b.ExpiresAt)
	a.IssuedAt, a.ExpiresAt = b.IssuedAt, b.ExpiresAt
	return sameTimes && a == b
}

// checkUnused decides the three cases of seed 000 (Composition-layer wiring):
// a blocking contract refuses; with only terminal history, an authorization
// that any attempt recorded is refused before it is consumed again; without
// history the way is free.
func (t *tx) checkUnused(c core.Creation) error {
	if f := t.s.flaws.claiming(c.Contract.IdempotencyKey.String(), c.Contract.TargetIdentityDigest.String()); f != nil {
		return f
	}
	history, err := t.history(c.Contract.IdempotencyKey)
	if err != nil {
		return err
	}
	for _, old := range history {
		if core.BlocksFreshAttempt(old.State) {
			return core.ErrBlocked
		}
	}
	for _, old := range history {
		if old.Provenance != nil && old.Provenance.AuthorizationID == c.Authorization.AuthorizationID {
			return core.ErrSpent
		}
	}
	return nil
}

// consume spends an authorization once and for all.
func (t *tx) consume(a core.Authorization, contractID string) error {
	err := t.insertRow(tableConsumed, []any{a.AuthorizationID, a.AuthorityID, contractID, core.FormatInstant(t.now)})
	if isUnique(err) {
		return core.ErrSpent
	}
	return err
}

// insertPrepared inserts the contract as PREPARING and makes it PREPARED;
// both events are in the chain (design lesson 7).
func (t *tx) insertPrepared(c core.Creation) (loaded, error) {
	a := c.Authorization
	note := core.Note{Actor: c.Actor, Evidence: evidenceDigest(a.Proof)}
	l, err := t.begin(c.Contract, note)
	if err != nil {
		return loaded{}, err
	}
	l, err = t.step(l, change{kind: core.EventTransition, to: core.Prepared, note: note})
	if err != nil {
		return loaded{}, err
	}
	return l, t.insertConclusion(l.last(), "authorization", a.AuthorityID, a.Algorithm, note.Evidence, "", a.IssuedAt)
}

// begin inserts a contract with the first event of its chain and its place
// in the set.
func (t *tx) begin(c core.Contract, note core.Note) (loaded, error) {
	mac, err := t.insertContract(c)
	if err != nil {
		return loaded{}, err
	}
	event, err := t.appendEvent(core.EventCreated, "", c, core.AuditEvent{})
	if err != nil {
		return loaded{}, err
	}
	if err := t.insertNote(event, note); err != nil {
		return loaded{}, err
	}
	m := member{position: event.Sequence, version: c.StateVersion, updatedAt: event.RecordedAt, recordMAC: mac}
	if m.mac, err = t.insertMember(c, m); err != nil {
		return loaded{}, err
	}
	event.Note = &note
	return loaded{Contract: c, events: []core.AuditEvent{event}, member: m}, nil
}

// evidenceDigest is what is kept of a proof.
func evidenceDigest(proof []byte) string {
	sum := sha256.Sum256(proof)
	return hex.EncodeToString(sum[:])
}
