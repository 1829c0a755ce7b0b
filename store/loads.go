package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/core"
)

// RecordLoad appends one fact about loading a stored change (design section
// 4, rule 7). Asking is a send: it is refused while another is under way or
// may still be writing.
func (s *Store) RecordLoad(ctx context.Context, r core.LoadRecord) error {
	return s.write(ctx, "load", func(t *tx) error {
		l, err := t.load(r.ContractID)
		if err != nil {
			return err
		}
		if err := t.checkLoad(l, r.Claim); err != nil {
			return err
		}
		at := t.now
		if !r.At.IsZero() {
			at = r.At
		}
		return t.appendRow(tableLoads, []any{r.ContractID, string(r.Direction), string(r.Subsystem),
			string(r.Claim), core.FormatInstant(at), r.Actor, r.Evidence, r.Pending})
	})
}

// checkLoad decides what may be recorded about a contract as it is now.
func (t *tx) checkLoad(l loaded, claim core.LoadClaim) error {
	switch claim {
	case core.LoadAgreed:
		if l.State != core.Prepared || !l.Confirmed() {
			return fmt.Errorf("%w: loading is agreed to with a confirmation", core.ErrConflict)
		}
	case core.LoadAsked:
		if l.State != core.Verified && l.State != core.RolledBack {
			return fmt.Errorf("%w: there is nothing to load", core.ErrConflict)
		}
		return errors.Join(t.checkInFlight(), t.checkSettled(0))
	}
	return nil
}

// Loads returns what is recorded about loading a contract's change, oldest first.
func (s *Store) Loads(ctx context.Context, contractID string) ([]core.LoadRecord, error) {
	var found []core.LoadRecord
	err := s.read(ctx, func(t *tx) error {
		rows, err := t.rows(tableLoads, "WHERE contract_id = ? ORDER BY sequence", contractID)
		for _, r := range rows {
			found = append(found, loadOf(r))
		}
		return err
	})
	return found, err
}

func loadOf(r ownRow) core.LoadRecord {
	l := core.LoadRecord{ContractID: r.text(1), Direction: core.Direction(r.text(2)),
		Subsystem: core.Subsystem(r.text(3)), Claim: core.LoadClaim(r.text(4)), Actor: r.text(6), Evidence: r.text(7), Pending: r.text(8)}
	l.At, _ = core.ParseInstant(r.text(5))
	return l
}
