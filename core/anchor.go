package core

import (
	"context"
	"errors"
	"fmt"
)

// The anchor outside the database (design section 6; decision 13): a pending
// advance that names the contract, then the anchor, then EXECUTING and the mark
// together. What the store keeps of it is in store/anchor.go, the counter in
// keys/anchor.go.

// acquire moves the anchor by one for this contract and then commits EXECUTING
// and the mark together (design section 6).
func (r *run) acquire(ctx context.Context, c Contract) (Contract, error) {
	r.anchoring.Lock()
	defer r.anchoring.Unlock()
	mark, err := r.advanceAnchor(ctx, c)
	if err != nil {
		return c, err
	}
	r.steps.note(fmt.Sprint(mark))
	r.steps.begin(StepAcquire)
	acquired, err := r.Store.Acquire(ctx, c.ID, c.StateVersion)
	if err != nil {
		// The anchor moved and nothing was acquired: settle it at once, so that
		// nobody else is locked out (lesson 1).
		return c, errors.Join(err, r.settle(ctx, mark))
	}
	r.tried = nil
	return acquired, nil
}

// advanceAnchor settles what an earlier attempt left open, writes the pending
// advance, and only then moves the anchor. A number that was planned for
// another contract is used up first: one number for one contract, or a copy of
// the database could take the one for the other (decision 13).
func (r *run) advanceAnchor(ctx context.Context, c Contract) (uint64, error) {
	now, err := r.compareAnchor(ctx)
	if err != nil {
		return 0, err
	}
	mark, err := r.Store.PlanAcquisition(ctx, c.ID, c.StateVersion)
	if errors.Is(err, ErrNumberTaken) {
		if now, err = r.moveAnchor(ctx, now); err == nil {
			err = r.settle(ctx, now)
		}
		if err == nil {
			mark, err = r.Store.PlanAcquisition(ctx, c.ID, c.StateVersion)
		}
	}
	if err != nil {
		return 0, err
	}
	if now != mark {
		return 0, ErrRolledBackStore
	}
	return r.moveAnchor(ctx, mark)
}

// moveAnchor moves the anchor by one. A lost answer is settled by reading
// again; where that fails too, the next comparison is. Where the anchor stands
// elsewhere it was moved from a copy of this database, and only that copy knows
// for what.
func (r *run) moveAnchor(ctx context.Context, from uint64) (uint64, error) {
	r.tried = &from
	next, err := r.Anchor.Advance(ctx, from)
	if err == nil {
		return next, nil
	}
	if errors.Is(err, ErrRolledBackStore) {
		r.tried = nil
		return 0, err
	}
	if again, readErr := r.Anchor.Read(ctx); readErr == nil && again == from+1 {
		return again, nil
	}
	return 0, fmt.Errorf("%w: %w", ErrAnchor, err)
}

// compareAnchor reads the anchor and lets the store compare it with its mark.
func (x *Executor) compareAnchor(ctx context.Context) (uint64, error) {
	now, err := x.Anchor.Read(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAnchor, err)
	}
	return now, x.settle(ctx, now)
}

// settle lets the store compare the anchor with its mark. Whether anything was
// acquired after a step of the anchor, only the process that made it knows.
func (x *Executor) settle(ctx context.Context, anchor uint64) error {
	if x.tried != nil && anchor == *x.tried+1 {
		return x.Store.WithdrawAdvance(ctx, anchor)
	}
	return x.Store.SettleAnchor(ctx, anchor)
}

// checkAnchor: a restored old copy of the database must not send anything,
// rollbacks included. Only a forward execution advances the anchor.
func (x *Executor) checkAnchor(ctx context.Context) error {
	x.anchoring.Lock()
	defer x.anchoring.Unlock()
	_, err := x.compareAnchor(ctx)
	return err
}
