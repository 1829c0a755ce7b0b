package store

import (
	"context"

	"countersign/canon"
	"countersign/core"
)

// The states are literals: only then does SQLite use the partial index
// (design lesson 9).
const whereBlocking = "WHERE idempotency_key = ? AND state IN (" + blockingStates + ")"

// whereHistory selects every attempt at a key, oldest first.
const whereHistory = `JOIN audit_events ON audit_events.contract_id = contracts.contract_id
	AND audit_events.state_version = 0 WHERE contracts.idempotency_key = ? ORDER BY audit_events.sequence`

// ids runs a query for contract ids.
func (t *tx) ids(query string, args ...any) ([]string, error) {
	rows, err := t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id text
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id.s)
	}
	return ids, rows.Err()
}

// Load returns one verified contract.
func (s *Store) Load(ctx context.Context, contractID string) (core.Contract, error) {
	var l loaded
	err := s.read(ctx, func(t *tx) (err error) {
		l, err = t.load(contractID)
		return err
	})
	return l.Contract, err
}

// Timeline returns a contract's verified chain, oldest first, with notes.
func (s *Store) Timeline(ctx context.Context, contractID string) ([]core.AuditEvent, error) {
	var l loaded
	err := s.read(ctx, func(t *tx) (err error) {
		if l, err = t.load(contractID); err != nil {
			return err
		}
		return t.addNotes(contractID, l.events)
	})
	return l.events, err
}

// FindByIdempotencyKey returns the one blocking contract of a key, or nil
// (seed 000, Schema).
func (s *Store) FindByIdempotencyKey(ctx context.Context, key canon.Digest) (*core.Contract, error) {
	var found *core.Contract
	err := s.read(ctx, func(t *tx) error {
		if f := t.s.flaws.claiming(key.String(), ""); f != nil {
			return f
		}
		rows, err := contractRows(t.ctx, t, whereBlocking, key.String())
		if err != nil || len(rows) == 0 {
			return err
		}
		l, err := t.verify(rows[0])
		found = &l.Contract
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// FindHistoricalByIdempotencyKey returns every attempt at a key, oldest first.
func (s *Store) FindHistoricalByIdempotencyKey(ctx context.Context, key canon.Digest) ([]core.Contract, error) {
	var found []core.Contract
	err := s.read(ctx, func(t *tx) (err error) {
		found, err = t.history(key)
		return err
	})
	return found, err
}

func (t *tx) history(key canon.Digest) ([]core.Contract, error) {
	if f := t.s.flaws.claiming(key.String(), ""); f != nil {
		return nil, f
	}
	rows, err := contractRows(t.ctx, t, whereHistory, key.String())
	if err != nil {
		return nil, err
	}
	var found []core.Contract
	for _, r := range rows {
		l, err := t.verify(r)
		if err != nil {
			return nil, err
		}
		found = append(found, l.Contract)
	}
	return found, nil
}
