package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"countersign/canon"
	"countersign/core"
)

// ErrCommitment: the key in the keyring is not the one the store pinned at
// enrolment. Someone put another in its place, or this is another store.
var ErrCommitment = errors.New("the operator's key in the keyring is not the enrolled one")

const (
	commitmentDomain = "countersign/operator-key-commitment/v1"
	operatorContext  = "operator-key"
)

// Pins are the commitments to operators' keys, kept by the store in
// authenticated rows (design section 7).
type Pins interface {
	// Pin returns the commitment to an operator's key. Errors wrap
	// core.ErrUnknownOperator if nobody is enrolled under this name.
	Pin(ctx context.Context, operator string) (canon.Digest, error)
	// Enrolled lists the names of the operators.
	Enrolled(ctx context.Context) ([]string, error)
}

// OperatorConfig wires Operators. Every field is required but Cost, Attempts
// and Register.
type OperatorConfig struct {
	Ring     Keyring
	StoreID  string
	Pins     Pins
	Register Register // nil: nobody is admitted
	Attempts Attempts // nil: counted in memory
	Clock    core.Clock
	Sleep    func(ctx context.Context, d time.Duration) error
	Random   io.Reader
	Cost     Cost // of new wrappings; zero is DefaultCost
}

// Operators enrols operators and unlocks their keys. It implements
// core.Operators. One attempt runs at a time, so that parallel guesses do not
// escape the delay.
type Operators struct {
	OperatorConfig
	slot chan struct{}
}

// NewOperators contacts nothing.
func NewOperators(c OperatorConfig) *Operators {
	if c.Attempts == nil {
		c.Attempts = NewMemoryAttempts()
	}
	if c.Cost == (Cost{}) {
		c.Cost = DefaultCost()
	}
	return &Operators{c, make(chan struct{}, 1)}
}

// Enrol makes a random confirmation key for a new operator, wrapped under the
// passphrase, which is zeroed, and returns the commitment for the store to
// pin. Errors: ErrPassphrase, ErrExists if the keyring has a key under this
// name already, core.ErrInvalid, or a keyring class.
func (o *Operators) Enrol(ctx context.Context, operator string, passphrase []byte) (canon.Digest, error) {
	defer clear(passphrase)
	if !core.ValidIdentifier(operator) {
		return canon.Digest{}, fmt.Errorf("%w: an operator's name is 1 to 128 of A-Z a-z 0-9 . _ : -", core.ErrInvalid)
	}
	key := make([]byte, keySize)
	defer clear(key)
	if _, err := io.ReadFull(o.Random, key); err != nil {
		return canon.Digest{}, fmt.Errorf("random source: %w", err)
	}
	raw, err := o.wrap(operator, passphrase, key)
	if err != nil {
		return canon.Digest{}, err
	}
	if err := o.Ring.Create(ctx, ItemOperator(operator), raw); err != nil {
		return canon.Digest{}, err
	}
	return o.commitment(operator, key), nil
}

// Commitment is for an enrolment that broke off between keyring and store: it
// opens the key that is there and returns what the store should pin. Errors
// as for Unlock.
func (o *Operators) Commitment(ctx context.Context, operator string, passphrase []byte) (canon.Digest, error) {
	defer clear(passphrase)
	var pin canon.Digest
	err := o.attempt(ctx, operator, func() error {
		key, err := o.open(ctx, operator, passphrase)
		defer clear(key)
		pin = o.commitment(operator, key)
		return err
	})
	if err != nil {
		return canon.Digest{}, err
	}
	return pin, nil
}

// Unlock opens an enrolled operator's key with the passphrase, which is
// zeroed. After failures it first waits, see RetryAfter. Errors:
// core.ErrUnknownOperator, core.ErrWrongPassphrase, ErrCommitment, the
// context's, or a keyring class.
func (o *Operators) Unlock(ctx context.Context, operator string, passphrase []byte) (core.Authority, error) {
	defer clear(passphrase)
	pin, err := o.Pins.Pin(ctx, operator)
	if err != nil {
		return nil, err
	}
	var key []byte
	err = o.attempt(ctx, operator, func() error {
		key, err = o.openPinned(ctx, operator, passphrase, pin)
		return err
	})
	if err != nil {
		clear(key)
		return nil, err
	}
	return &Unlocked{id: operator, key: ownSecret(key)}, nil
}

// ChangePassphrase wraps the same key anew; the pin stays as it is. Both
// passphrases are zeroed. Errors as for Unlock, ErrPassphrase, and ErrChanged.
func (o *Operators) ChangePassphrase(ctx context.Context, operator string, old, new []byte) error {
	defer clear(old)
	defer clear(new)
	pin, err := o.Pins.Pin(ctx, operator)
	if err != nil {
		return err
	}
	return o.attempt(ctx, operator, func() error {
		before, err := o.Ring.Get(ctx, ItemOperator(operator))
		if err != nil {
			return err
		}
		key, err := o.openPinned(ctx, operator, old, pin)
		defer clear(key)
		if err != nil {
			return err
		}
		after, err := o.wrap(operator, new, key)
		if err != nil {
			return err
		}
		return o.Ring.Replace(ctx, ItemOperator(operator), before, after)
	})
}

// Enrolled lists the operators the store knows.
func (o *Operators) Enrolled(ctx context.Context) ([]string, error) { return o.Pins.Enrolled(ctx) }

func (o *Operators) wrap(operator string, passphrase, key []byte) ([]byte, error) {
	return Wrap(o.Random, o.Cost, passphrase, key, operatorContext, o.StoreID, operator)
}

func (o *Operators) open(ctx context.Context, operator string, passphrase []byte) ([]byte, error) {
	name := ItemOperator(operator)
	raw, err := o.Ring.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	key, err := Unwrap(passphrase, raw, operatorContext, o.StoreID, operator)
	if errors.Is(err, ErrCorrupt) || err == nil && len(key) != keySize {
		return nil, &RingError{Op: "read", Item: name, Class: ErrCorrupt}
	}
	return key, err
}

func (o *Operators) openPinned(ctx context.Context, operator string, passphrase []byte, pin canon.Digest) ([]byte, error) {
	key, err := o.open(ctx, operator, passphrase)
	if err != nil {
		return nil, err
	}
	if commitment := o.commitment(operator, key); !sameBytes(commitment[:], pin[:]) {
		clear(key)
		return nil, ErrCommitment
	}
	return key, nil
}

// commitment binds a key to its store and operator without revealing it: the
// key is 256 random bits.
func (o *Operators) commitment(operator string, key []byte) canon.Digest {
	h := sha256.New()
	h.Write(canon.FrameStrings(commitmentDomain, o.StoreID, operator))
	h.Write(canon.Frame(key))
	return canon.Digest(h.Sum(nil))
}
