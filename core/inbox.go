package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// InboxFile is one signed artifact waiting in the fixed inbox. The inbox never
// deletes; what a file belongs to, and whether it was used, is shown instead
// (lesson 18; seed 000, Composition-layer wiring).
type InboxFile struct {
	Name string // safe to show
	// Kind says which one of the next three is there; "" with a Problem.
	Kind           ProofKind
	Authorization  Authorization
	Confirmation   *ConfirmationEvidence
	Reconciliation *ReconciliationEvidence
	Problem        string // why it cannot be read, or ""
	ReceivedAt     time.Time

	// What follows is filled in by the engine.

	// ContractID is the contract that a confirmation or a conclusion is for,
	// or that an authorization was spent on; "" for an unspent authorization.
	ContractID string
	Used       bool   // that contract has consumed exactly this artifact
	Stale      string // why it fits nothing any more, or ""
}

// Inbox is the fixed place where off-host artifacts arrive.
type Inbox interface {
	Waiting(ctx context.Context) ([]InboxFile, error)
}

// ConsumptionReader is what a store may offer besides: the contract that an
// authorization was spent on, or "". Without it the inbox cannot mark spent
// authorizations, and using one is refused all the same.
type ConsumptionReader interface {
	ConsumedBy(ctx context.Context, authorizationID string) (contractID string, err error)
}

// Inbox lists the waiting artifacts and says what each is good for. It only
// compares with what is recorded; proofs are checked when one is used.
func (e *Engine) Inbox(ctx context.Context) ([]InboxFile, error) {
	if e.p.Inbox == nil {
		return nil, fmt.Errorf("%w: no inbox is configured", ErrVerifierMissing)
	}
	files, err := e.p.Inbox.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := e.relate(ctx, &files[i]); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// relate compares one artifact with what it belongs to.
func (e *Engine) relate(ctx context.Context, f *InboxFile) error {
	switch {
	case f.Kind == ProofAuthorization:
		return e.relateAuthorization(ctx, f)
	case f.Confirmation != nil:
		f.ContractID = f.Confirmation.ContractID
	case f.Reconciliation != nil:
		f.ContractID = f.Reconciliation.ContractID
	default:
		return nil
	}
	c, err := e.p.Store.Load(ctx, f.ContractID)
	switch {
	case errors.Is(err, ErrNotFound):
		f.Stale = ErrNotFound.Error()
		return nil
	case errors.Is(err, ErrQuarantined):
		f.Stale = ErrQuarantined.Error()
		return nil
	case err != nil:
		return err
	}
	if f.Confirmation != nil {
		return e.relateConfirmation(f, c)
	}
	return e.relateConclusion(ctx, f, c)
}

func (e *Engine) relateAuthorization(ctx context.Context, f *InboxFile) error {
	if !e.p.Clock.Now().Before(f.Authorization.ExpiresAt) {
		f.Stale = ErrExpired.Error()
	}
	store, ok := e.p.Store.(ConsumptionReader)
	if !ok {
		return nil
	}
	id, err := store.ConsumedBy(ctx, f.Authorization.AuthorizationID)
	f.ContractID, f.Used = id, id != ""
	return err
}

func (e *Engine) relateConfirmation(f *InboxFile, c Contract) error {
	digest, err := f.Confirmation.ConfirmationDigest()
	if err != nil {
		f.Stale = ErrInvalid.Error()
		return nil
	}
	switch {
	case c.Confirmed():
		f.Used = *c.ConfirmationDigest == digest
		f.Stale = unlessUsed(f.Used, "the contract is confirmed already")
	case c.State != Prepared:
		f.Stale = "the contract is " + string(c.State)
	case c.ExpiredAt(e.p.Clock.Now()):
		f.Stale = ErrExpired.Error()
	}
	return nil
}

func (e *Engine) relateConclusion(ctx context.Context, f *InboxFile, c Contract) error {
	if c.StateVersion == f.Reconciliation.ObservedStateVersion {
		return nil
	}
	digest, err := f.Reconciliation.Digest()
	if err != nil {
		f.Stale = ErrInvalid.Error()
		return nil
	}
	events, err := e.p.Store.Timeline(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, ev := range events {
		f.Used = f.Used || ev.Type == EventResolved && ev.Note != nil && ev.Note.Evidence == digest.String()
	}
	f.Stale = unlessUsed(f.Used, "it was concluded from another version of the contract")
	return nil
}

func unlessUsed(used bool, stale string) string {
	if used {
		return ""
	}
	return stale
}
