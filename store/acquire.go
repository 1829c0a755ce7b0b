package store

import (
	"context"
	"database/sql"
	"fmt"

	"countersign/canon"
	"countersign/core"
)

// PlanAcquisition checks everything that Acquire checks and then writes the
// pending anchor advance that names the contract (design section 6; lesson
// 1: limits first, then the record, then the anchor). It returns the
// high-water mark that the anchor must show. While an advance of another
// contract is open it wraps core.ErrNumberTaken: the anchor has to move, and
// WithdrawAdvance to be called, first.
func (s *Store) PlanAcquisition(ctx context.Context, contractID string, version int64) (mark uint64, err error) {
	_, err = s.change(ctx, "plan", contractID, func(t *tx, l loaded) (loaded, error) {
		if err := t.checkAcquire(l, version); err != nil {
			return loaded{}, err
		}
		if mark, err = t.mark(); err != nil {
			return loaded{}, err
		}
		return l, t.planAdvance(mark, l)
	})
	return mark, err
}

// Acquire moves PREPARED to EXECUTING, reserves the target, raises the
// high-water mark and settles the pending advance, in one durable
// transaction. Nothing may be sent before it has returned without an error.
func (s *Store) Acquire(ctx context.Context, contractID string, version int64) (core.Contract, error) {
	return s.change(ctx, "acquire", contractID, func(t *tx, l loaded) (loaded, error) {
		if err := t.checkAcquire(l, version); err != nil {
			return loaded{}, err
		}
		if err := t.acquireAdvance(l); err != nil {
			return loaded{}, err
		}
		return t.step(l, change{kind: core.EventTransition, to: core.Executing,
			note: core.Note{Direction: core.Forward}})
	})
}

// checkAcquire is everything that must hold before a forward send (seed 003,
// Execution algorithm; design section 4, rules 2 and 4).
func (t *tx) checkAcquire(l loaded, version int64) error {
	if err := l.checkVersion(version); err != nil {
		return err
	}
	if core.Edge(l.State, core.Executing) != core.EdgeLegal {
		return fmt.Errorf("%w: %s to %s", core.ErrIllegalTransition, l.State, core.Executing)
	}
	if !l.Confirmed() {
		return fmt.Errorf("%w: %w", core.ErrConflict, core.ErrUnconfirmed)
	}
	if err := t.checkClock(); err != nil {
		return err
	}
	if l.ExpiredAt(t.now) {
		return fmt.Errorf("%w: %w", core.ErrConflict, core.ErrExpired)
	}
	if err := t.checkUnattributed(l.ID); err != nil {
		return err
	}
	return t.checkSend(l)
}

// checkSend is what both directions need: the anchor in order, a free
// target, no other send under way, and the last ambiguous one settled.
func (t *tx) checkSend(l loaded) error {
	if err := t.s.anchor.refused(); err != nil {
		return err
	}
	target := l.TargetIdentityDigest.String()
	if f := t.s.flaws.claiming("", target); f != nil {
		return f
	}
	if err := t.checkUnreserved(l.ID, target); err != nil {
		return err
	}
	if err := t.checkInFlight(); err != nil {
		return err
	}
	return t.checkSettled(0)
}

func (t *tx) checkUnreserved(contractID, target string) error {
	holder, err := t.holderOf(target)
	if err != nil || holder == "" || holder == contractID { // a doubtful rollback keeps its own
		return err
	}
	return fmt.Errorf("%w: %w: %s", core.ErrConflict, core.ErrReserved, holder)
}

func (t *tx) holderOf(target string) (string, error) {
	var holder text
	err := t.QueryRowContext(t.ctx, "SELECT contract_id FROM target_reservations WHERE target_identity_digest = ?",
		target).Scan(&holder)
	if err == sql.ErrNoRows {
		return "", nil
	}
	return holder.s, err
}

// ReservedBy returns the contract that keeps a target to itself, or "". It
// spares people two gates; the acquisition decides.
func (s *Store) ReservedBy(ctx context.Context, target canon.Digest) (holder string, err error) {
	err = s.read(ctx, func(t *tx) error {
		holder, err = t.holderOf(target.String())
		return err
	})
	return holder, err
}

// AcquireRollback moves VERIFIED to ROLLING_BACK and reserves the target,
// with an operator's approval.
func (s *Store) AcquireRollback(ctx context.Context, contractID string, a core.Approval, v core.Verifier) (core.Contract, error) {
	return s.change(ctx, "acquire rollback", contractID, func(t *tx, l loaded) (loaded, error) {
		if core.Edge(l.State, core.RollingBack) != core.EdgeLegal {
			return loaded{}, fmt.Errorf("%w: %s to %s", core.ErrIllegalTransition, l.State, core.RollingBack)
		}
		if err := t.checkSend(l); err != nil {
			return loaded{}, err
		}
		if err := t.approve(l, core.ApproveRollback, a, v); err != nil {
			return loaded{}, err
		}
		return t.stepApproved(l, change{kind: core.EventTransition, to: core.RollingBack,
			note: core.Note{Direction: core.Backward}}, a)
	})
}

// ResumeRollback moves RECONCILIATION to ROLLING_BACK: a recorded conclusion
// that one further rollback request may be sent. Only a rollback whose
// outcome is in doubt can be resumed (design section 8).
func (s *Store) ResumeRollback(ctx context.Context, contractID string, a core.Approval, v core.Verifier) (core.Contract, error) {
	return s.change(ctx, "resume rollback", contractID, func(t *tx, l loaded) (loaded, error) {
		if l.State != core.Reconciliation {
			return loaded{}, fmt.Errorf("%w: the contract is not in RECONCILIATION", core.ErrConflict)
		}
		if !offers(core.Origin(l.events), core.ResumeRollback) {
			return loaded{}, core.ErrOutcome
		}
		if err := t.checkSend(l); err != nil {
			return loaded{}, err
		}
		if err := t.approve(l, core.ApproveResume, a, v); err != nil {
			return loaded{}, err
		}
		return t.stepApproved(l, change{kind: core.EventResolved, to: core.RollingBack,
			note: core.Note{Direction: core.Backward, Outcome: core.ResumeRollback}}, a)
	})
}

func offers(origin core.State, o core.Outcome) bool {
	for _, x := range core.OutcomesFor(origin) {
		if x == o {
			return true
		}
	}
	return false
}
