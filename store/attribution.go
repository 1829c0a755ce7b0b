package store

import (
	"context"
	"fmt"
	"time"

	"countersign/core"
)

// What is attributed may have been a send, from a newer copy of this database,
// of which this one is an older state
// (docs/decisions/0013-what-an-attribution-means.md).

const attributedAdvances = "WHERE step = '" + stepAttributed + "' "

// Attributed reports whether a start has attributed an advance of the anchor
// to a contract.
func (s *Store) Attributed(ctx context.Context, contractID string) (found bool, err error) {
	err = s.read(ctx, func(t *tx) error {
		found, err = t.isAttributed(contractID)
		return err
	})
	return found, err
}

func (t *tx) isAttributed(contractID string) (bool, error) {
	found, err := t.rows(tableAdvances, attributedAdvances+"AND contract_id = ?", contractID)
	return len(found) > 0, err
}

// attributed are the contracts to which an advance was attributed: few in the
// whole life of a store.
func (t *tx) attributed() (map[string]bool, error) {
	found, err := t.rows(tableAdvances, attributedAdvances)
	ids := map[string]bool{}
	for _, r := range found {
		ids[r.text(2)] = true
	}
	return ids, err
}

// checkUnattributed refuses a contract to which a start has attributed an
// advance of the anchor.
func (t *tx) checkUnattributed(contractID string) error {
	attributed, err := t.isAttributed(contractID)
	if attributed {
		return fmt.Errorf("%w: %w", core.ErrConflict, core.ErrAttributed)
	}
	return err
}

// lastAttribution returns when the newest attribution was made, and to which
// contract; a zero time without one.
func (t *tx) lastAttribution() (time.Time, string, error) {
	found, err := t.rows(tableAdvances, attributedAdvances+"ORDER BY recorded_at DESC, sequence DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return time.Time{}, "", err
	}
	at, err := core.ParseInstant(found[0].text(5))
	if err != nil {
		return time.Time{}, "", tableAdvances.errOwnRow()
	}
	return at, found[0].text(2), nil
}
