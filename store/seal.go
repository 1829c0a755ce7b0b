package store

import (
	"context"
	"fmt"

	"countersign/canon"
	"countersign/core"
)

// SealVerified moves EXECUTING to VERIFIED together with the authoritative
// post-forward fingerprint; the locator must be unchanged (seed 003, Target
// contract).
func (s *Store) SealVerified(ctx context.Context, contractID string, version int64, fingerprint canon.Digest, locator int64, n core.Note) (core.Contract, error) {
	return s.seal(ctx, "seal", contractID, version, core.Verified, locator, n,
		func(c *core.Contract) { c.VerifiedTargetFingerprint = &fingerprint })
}

// SealRolledBack moves ROLLING_BACK to ROLLED_BACK; the locator must be unchanged.
func (s *Store) SealRolledBack(ctx context.Context, contractID string, version int64, locator int64, n core.Note) (core.Contract, error) {
	return s.seal(ctx, "seal rollback", contractID, version, core.RolledBack, locator, n, nil)
}

func (s *Store) seal(ctx context.Context, name, contractID string, version int64, to core.State, locator int64,
	n core.Note, edit func(*core.Contract)) (core.Contract, error) {
	return s.change(ctx, name, contractID, func(t *tx, l loaded) (loaded, error) {
		if err := l.checkVersion(version); err != nil {
			return loaded{}, err
		}
		if core.Edge(l.State, to) != core.EdgeLegal {
			return loaded{}, fmt.Errorf("%w: %s to %s", core.ErrIllegalTransition, l.State, to)
		}
		if locator != l.LifecycleLocator {
			return loaded{}, fmt.Errorf("%w: the target's position changed", core.ErrConflict)
		}
		return t.step(l, change{kind: core.EventTransition, to: to, note: n, edit: edit})
	})
}
