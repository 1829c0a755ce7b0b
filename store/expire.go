package store

import (
	"context"
	"fmt"

	"countersign/core"
)

// ExpirePrepared moves PREPARED to EXPIRED under four preconditions: exactly
// PREPARED, really expired by the store's own clock, no confirmation, and
// the version the caller saw (seed 000, expire_prepared). It contacts neither
// appliance nor anchor. It is part of no interface: whether an operator may
// release an idempotency key is the owner's decision, and nothing in this
// program calls it (design section 4, rule 9).
func (s *Store) ExpirePrepared(ctx context.Context, contractID string, expectedVersion int64) (core.Contract, error) {
	return s.change(ctx, "expire", contractID, func(t *tx, l loaded) (loaded, error) {
		if err := l.checkVersion(expectedVersion); err != nil {
			return loaded{}, err
		}
		if err := t.checkClock(); err != nil {
			return loaded{}, err
		}
		switch {
		case l.State != core.Prepared:
			return loaded{}, fmt.Errorf("%w: only a PREPARED contract can expire", core.ErrConflict)
		case l.Confirmed():
			return loaded{}, fmt.Errorf("%w: the contract is confirmed", core.ErrConflict)
		case !l.ExpiredAt(t.now):
			return loaded{}, fmt.Errorf("%w: the contract has not expired", core.ErrConflict)
		}
		return t.step(l, change{kind: core.EventTransition, to: core.Expired,
			note: core.Note{Boundary: core.BeforeSend, Knowledge: core.ProvenNone, Direction: core.Forward}})
	})
}
