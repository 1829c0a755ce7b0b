package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"countersign/canon"
	"countersign/core"
)

// Why a newcomer is not admitted.
var (
	// ErrEnrolled: there is an operator of this name.
	ErrEnrolled = errors.New("already enrolled")
	// ErrUnfinished: an enrolment of this name broke off after its key was made.
	ErrUnfinished = errors.New("an earlier enrolment of this name broke off, and its key opens with the passphrase that was chosen then")
)

// Register makes the store pin a newcomer's key in an authenticated row
// (design section 7).
type Register func(ctx context.Context, operator string, commitment canon.Digest) error

// Vouch returns nil if the passphrase, which is zeroed, opens the enrolled
// operator's key. Errors as for Unlock.
func (o *Operators) Vouch(ctx context.Context, operator string, passphrase []byte) error {
	authority, err := o.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	authority.Close()
	return nil
}

// Present returns why the keyring does not give an operator's wrapped key; it
// opens nothing. Errors are the keyring's classes.
func (o *Operators) Present(ctx context.Context, operator string) error {
	raw, err := o.Ring.Get(ctx, ItemOperator(operator))
	clear(raw)
	return err
}

// Admit makes a newcomer's key, as Enrol does, and has the store pin it:
// wholly or not at all. Where an earlier attempt broke off between keyring and
// store, its key is taken up again with the passphrase that was chosen then,
// because a key is never made twice under one name. The passphrase is zeroed.
// Errors: ErrEnrolled, ErrUnfinished, those of Enrol, Commitment and Register.
func (o *Operators) Admit(ctx context.Context, operator string, passphrase []byte) error {
	defer clear(passphrase)
	if err := o.admissible(ctx, operator); err != nil {
		return err
	}
	commitment, err := o.Enrol(ctx, operator, bytes.Clone(passphrase))
	if errors.Is(err, ErrExists) {
		commitment, err = o.Commitment(ctx, operator, passphrase)
		if errors.Is(err, core.ErrWrongPassphrase) {
			err = fmt.Errorf("%w: %w", ErrUnfinished, err)
		}
		if err == nil {
			err = o.Register(ctx, operator, commitment)
		}
		return err
	}
	if err == nil {
		err = o.register(ctx, operator, commitment)
	}
	return err
}

// Withdraw removes a newcomer's key again. It is for an installation that takes
// its store back as well: a store that pins the key would be without it.
func (o *Operators) Withdraw(ctx context.Context, operator string) error {
	err := o.Ring.Delete(context.WithoutCancel(ctx), ItemOperator(operator))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (o *Operators) admissible(ctx context.Context, operator string) error {
	if o.Register == nil {
		return fmt.Errorf("%w: nobody can be enrolled here", core.ErrInvalid)
	}
	switch _, err := o.Pins.Pin(ctx, operator); {
	case err == nil:
		return fmt.Errorf("%s is %w; nothing was changed", operator, ErrEnrolled)
	case !errors.Is(err, core.ErrUnknownOperator):
		return err
	}
	return nil
}

// register takes a new key back if the store surely did not pin it. Where
// that is not known, the key stays: a pin without its key would be worse.
func (o *Operators) register(ctx context.Context, operator string, commitment canon.Digest) error {
	err := o.Register(ctx, operator, commitment)
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if _, pinned := o.Pins.Pin(ctx, operator); errors.Is(pinned, core.ErrUnknownOperator) {
		return errors.Join(err, o.Ring.Delete(ctx, ItemOperator(operator)))
	}
	return err
}
