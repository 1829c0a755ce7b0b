package store

import (
	"context"
	"fmt"

	"countersign/canon"
	"countersign/core"
)

// PinOperator stores the commitment to an operator's key, once (design
// section 7). The same commitment again is well; another one is
// core.ErrConflict: a swapped key is refused, never taken over.
func (s *Store) PinOperator(ctx context.Context, operator string, commitment canon.Digest) error {
	if !core.ValidIdentifier(operator) {
		return fmt.Errorf("%w: the operator's name", core.ErrInvalid)
	}
	return s.write(ctx, "pin operator", func(t *tx) error {
		pinned, found, err := t.pin(operator)
		if err != nil {
			return err
		}
		if found && pinned != commitment {
			return fmt.Errorf("%w: another key is pinned for this operator", core.ErrConflict)
		}
		if found {
			return nil
		}
		return t.insertRow(tableOperators, []any{operator, commitment.String(), core.FormatInstant(t.now)})
	})
}

// Pin returns the commitment to an operator's key; core.ErrUnknownOperator
// where nobody is enrolled under this name.
func (s *Store) Pin(ctx context.Context, operator string) (canon.Digest, error) {
	var pinned canon.Digest
	err := s.read(ctx, func(t *tx) error {
		var found bool
		var err error
		if pinned, found, err = t.pin(operator); err == nil && !found {
			err = core.ErrUnknownOperator
		}
		return err
	})
	return pinned, err
}

// Enrolled lists the operators' names.
func (s *Store) Enrolled(ctx context.Context) ([]string, error) {
	var names []string
	err := s.read(ctx, func(t *tx) error {
		rows, err := t.rows(tableOperators, "ORDER BY operator")
		for _, r := range rows {
			names = append(names, r.text(0))
		}
		return err
	})
	return names, err
}

func (t *tx) pin(operator string) (canon.Digest, bool, error) {
	rows, err := t.rows(tableOperators, "WHERE operator = ?", operator)
	if err != nil || len(rows) == 0 {
		return canon.Digest{}, false, err
	}
	d, err := canon.ParseDigest(rows[0].text(1))
	if err != nil {
		return canon.Digest{}, false, tableOperators.errOwnRow()
	}
	return d, true, nil
}
