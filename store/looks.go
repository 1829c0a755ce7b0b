package store

import (
	"context"
	"fmt"

	"countersign/core"
)

// RecordLook keeps what a second reading found (design section 4, rule 5). A
// look at a state that the contract has left says nothing: core.ErrConflict.
func (s *Store) RecordLook(ctx context.Context, k core.Look) error {
	return s.write(ctx, "look", func(t *tx) error {
		l, err := t.load(k.ContractID)
		if err != nil {
			return err
		}
		if l.StateVersion != k.StateVersion {
			return fmt.Errorf("%w: the contract has moved on since it was looked at", core.ErrConflict)
		}
		return t.appendRow(tableLooks, []any{k.ContractID, k.StateVersion, string(k.Found),
			int64(k.Neighbours), core.FormatInstant(k.At)})
	})
}

// Looks returns what second readings of a contract found, oldest first.
func (s *Store) Looks(ctx context.Context, contractID string) ([]core.Look, error) {
	var found []core.Look
	err := s.read(ctx, func(t *tx) error {
		rows, err := t.rows(tableLooks, "WHERE contract_id = ? ORDER BY sequence", contractID)
		for _, r := range rows {
			found = append(found, lookOf(r))
		}
		return err
	})
	return found, err
}

// lookAt is the newest look at a contract's present state, or nil.
func (t *tx) lookAt(c core.Contract) (*core.Look, error) {
	rows, err := t.rows(tableLooks, "WHERE contract_id = ? ORDER BY sequence DESC LIMIT 1", c.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if look := lookOf(rows[0]); look.StateVersion == c.StateVersion {
		return &look, nil
	}
	return nil, nil
}

func lookOf(r ownRow) core.Look {
	k := core.Look{ContractID: r.text(1), StateVersion: r.number(2), Found: core.LookFinding(r.text(3)), Neighbours: int(r.number(4))}
	k.At, _ = core.ParseInstant(r.text(5))
	return k
}
