package store

import (
	"context"

	"countersign/core"
)

// Health describes the store for the header and the health screen. The
// anchor is as SettleAnchor last found it.
func (s *Store) Health(ctx context.Context) (core.StoreHealth, error) {
	h := core.StoreHealth{Path: s.path, StoreID: s.storeID, Schema: SchemaVersion, Verified: s.verifiedAt}
	h.AnchorOK, h.AnchorNote = s.anchor.describe()
	err := s.read(ctx, func(t *tx) error {
		head, err := t.storeHead()
		if err != nil {
			return err
		}
		h.Contracts, h.Events = int(head.contracts), int(head.events)
		h.Mark, err = t.mark()
		return err
	})
	return h, err
}
