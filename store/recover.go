package store

import (
	"context"
	"errors"

	"countersign/core"
)

// RecoverInterrupted moves every EXECUTING and ROLLING_BACK contract to
// RECONCILIATION, without a resend and without the appliance (seed 003,
// Persistence and integrity). Only the holder of the executor lock may call
// it (design section 4, rule 8). Quarantined records are left alone; that
// they were seen is recorded. SettleAnchor is called before or after it.
func (s *Store) RecoverInterrupted(ctx context.Context) ([]core.Contract, error) {
	var moved []core.Contract
	err := s.write(ctx, "recover", func(t *tx) error {
		ids, err := t.interrupted()
		if err != nil {
			return err
		}
		for _, id := range ids {
			l, err := t.load(id)
			if errors.Is(err, core.ErrQuarantined) {
				continue
			}
			if err != nil {
				return err
			}
			if l, err = t.step(l, interruption(l.State)); err != nil {
				return err
			}
			moved = append(moved, l.Contract)
		}
		return t.recordSightings()
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

// interruption is what is known after a process ended with a contract under
// way: nothing, so the worst is assumed.
func interruption(from core.State) change {
	note := core.Note{Boundary: core.AfterSend, Knowledge: core.Ambiguous,
		Failure: core.FailureRestart, Direction: core.Forward}
	if from == core.RollingBack {
		note.Boundary, note.Direction = core.DuringRollback, core.Backward
	}
	return change{kind: core.EventTransition, to: core.Reconciliation, note: note}
}

// interrupted lists the contracts under way, oldest reservation first.
func (t *tx) interrupted() ([]string, error) {
	return t.ids(`SELECT contract_id FROM target_reservations CROSS JOIN contracts USING (contract_id)
		WHERE contracts.state IN ('executing', 'rolling_back') ORDER BY contract_id`)
}
