package keys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"countersign/core"
)

// MaxAnchor is the last value an anchor can show: the store's column is signed.
const MaxAnchor = math.MaxInt64

// RingAnchor is the anti-rollback counter in a keyring item, outside the
// database (design section 6). It implements core.Anchor. How well two
// processes take turns is the keyring's affair; the executor lock leaves one.
type RingAnchor struct{ ring Keyring }

// NewRingAnchor contacts nothing.
func NewRingAnchor(ring Keyring) *RingAnchor { return &RingAnchor{ring} }

// Provision makes the counter, starting at value, and refuses with ErrExists
// if there is one: an anchor is never set back.
func (a *RingAnchor) Provision(ctx context.Context, value uint64) error {
	if value > MaxAnchor {
		return fmt.Errorf("%w: anchor value", core.ErrInvalid)
	}
	if err := a.ring.Create(ctx, ItemAnchor, anchorText(value)); err != nil {
		return fmt.Errorf("%w: %w", core.ErrAnchor, err)
	}
	return nil
}

// Read returns the counter. Errors wrap core.ErrAnchor and the keyring's
// class; a missing counter is an error, never zero.
func (a *RingAnchor) Read(ctx context.Context) (uint64, error) {
	raw, err := a.ring.Get(ctx, ItemAnchor)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", core.ErrAnchor, err)
	}
	value, err := strconv.ParseUint(string(raw), 10, 63)
	if err != nil || string(anchorText(value)) != string(raw) {
		return 0, fmt.Errorf("%w: %w", core.ErrAnchor, &RingError{Op: "read", Item: ItemAnchor, Class: ErrCorrupt})
	}
	return value, nil
}

// Advance moves the counter from expected to expected+1 and returns that.
// After ErrTimeout it may have moved or not: Read tells. Every other error
// left it as it was; ErrChanged, because it stands elsewhere, wraps
// core.ErrRolledBackStore.
func (a *RingAnchor) Advance(ctx context.Context, expected uint64) (uint64, error) {
	if expected >= MaxAnchor {
		return 0, fmt.Errorf("%w: the counter is used up", core.ErrAnchor)
	}
	err := a.ring.Replace(ctx, ItemAnchor, anchorText(expected), anchorText(expected+1))
	switch {
	case errors.Is(err, ErrChanged):
		return 0, fmt.Errorf("%w: %w: %w", core.ErrRolledBackStore, core.ErrAnchor, err)
	case err != nil:
		return 0, fmt.Errorf("%w: %w", core.ErrAnchor, err)
	}
	return expected + 1, nil
}

// anchorText is the one spelling of a value: decimal, no sign, no zeros in front.
func anchorText(value uint64) []byte { return strconv.AppendUint(nil, value, 10) }
