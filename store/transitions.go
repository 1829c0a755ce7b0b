package store

import (
	"context"
	"fmt"
	"time"

	"countersign/core"
)

// change is one step of a contract's life: what it becomes, the kind of
// event, and the note beside the event.
type change struct {
	kind core.EventType
	to   core.State
	note core.Note
	// edit changes other fields of the record together with the state.
	edit func(*core.Contract)
}

// step writes one change: the record's next version, its event and note,
// reservation, cool-down and its row in the set.
func (t *tx) step(l loaded, ch change) (loaded, error) {
	next := l.Contract
	next.State, next.StateVersion = ch.to, l.StateVersion+1
	if ch.edit != nil {
		ch.edit(&next)
	}
	if err := t.moveReservation(l.Contract, next); err != nil {
		return loaded{}, err
	}
	mac, err := t.updateContract(next)
	if err != nil {
		return loaded{}, err
	}
	event, err := t.appendEvent(ch.kind, l.State, next, l.last())
	if err != nil {
		return loaded{}, err
	}
	if err := t.insertNote(event, ch.note); err != nil {
		return loaded{}, err
	}
	if err := t.startCooldown(l.Contract, next); err != nil {
		return loaded{}, err
	}
	return t.stepMember(l, next, mac, event, ch.note)
}

// stepMember brings the contract's row in the set up to date.
func (t *tx) stepMember(l loaded, next core.Contract, recordMAC string, event core.AuditEvent, note core.Note) (_ loaded, err error) {
	m := l.member
	m.version, m.updatedAt, m.recordMAC = next.StateVersion, event.RecordedAt, recordMAC
	if at := ambiguousAt(event, note.LastByteAt); at != nil {
		m.ambiguousAt = at
	}
	if m.mac, err = t.updateMember(next, l.State, l.member, m); err != nil {
		return loaded{}, err
	}
	event.Note = &note
	return loaded{Contract: next, events: append(l.events, event), member: m}, nil
}

// ambiguousAt: an event that enters RECONCILIATION leaves a send that may
// still be writing. Its last byte left when the note says, or at the latest
// when the event was recorded.
func ambiguousAt(e core.AuditEvent, lastByte *time.Time) *time.Time {
	if e.Current != core.Reconciliation || !e.Previous.Interrupted() {
		return nil
	}
	if lastByte != nil {
		return lastByte
	}
	return &e.RecordedAt
}

// moveReservation takes or releases the target when the change enters or
// leaves a state that holds it. A target that is taken is a conflict.
func (t *tx) moveReservation(from, to core.Contract) error {
	switch holds, held := to.State.HoldsReservation(), from.State.HoldsReservation(); {
	case holds && !held:
		_, err := t.exec("INSERT INTO target_reservations (target_identity_digest, contract_id) VALUES (?, ?)",
			to.TargetIdentityDigest.String(), to.ID)
		if isUnique(err) {
			return fmt.Errorf("%w: %w", core.ErrConflict, core.ErrReserved)
		}
		return err
	case held && !holds:
		_, err := t.exec("DELETE FROM target_reservations WHERE contract_id = ?", to.ID)
		return err
	}
	return nil
}

// Transition takes a legal automatic edge that needs neither a sealed
// read-back nor an acquisition nor a person (core.CheckGenericEdge). It never
// enters EXPIRED: that releases the idempotency key, which is the owner's
// decision and has only ExpirePrepared (seed 000; design rules 9 and 10).
func (s *Store) Transition(ctx context.Context, contractID string, version int64, to core.State, n core.Note) (core.Contract, error) {
	if to == core.Expired {
		return core.Contract{}, fmt.Errorf("%w: expiry is not a transition for callers", core.ErrIllegalTransition)
	}
	return s.transition(ctx, contractID, version, to, n)
}

func (s *Store) transition(ctx context.Context, contractID string, version int64, to core.State, n core.Note) (core.Contract, error) {
	return s.change(ctx, "transition", contractID, func(t *tx, l loaded) (loaded, error) {
		if err := l.checkVersion(version); err != nil {
			return loaded{}, err
		}
		if err := core.CheckGenericEdge(l.State, to); err != nil {
			return loaded{}, err
		}
		if err := t.checkAutomatic(l, to); err != nil {
			return loaded{}, err
		}
		return t.step(l, change{kind: core.EventTransition, to: to, note: n})
	})
}

// checkAutomatic applies the store's own rules to a generic edge: an
// acquisition has its own call, an expired contract can only expire, and
// only an expired one can (design lesson 21; conformance transitions).
func (t *tx) checkAutomatic(l loaded, to core.State) error {
	if to == core.Executing || to == core.RollingBack {
		return fmt.Errorf("%w: %s is entered only by an acquisition", core.ErrConflict, to)
	}
	if l.State != core.Preparing && l.State != core.Prepared {
		return nil
	}
	if err := t.checkClock(); err != nil {
		return err
	}
	switch expired := l.ExpiredAt(t.now); {
	case expired && to != core.Expired:
		return fmt.Errorf("%w: %w", core.ErrConflict, core.ErrExpired)
	case !expired && to == core.Expired:
		return fmt.Errorf("%w: the contract has not expired", core.ErrConflict)
	}
	return nil
}

// checkVersion is the caller's half of compare and set.
func (l loaded) checkVersion(version int64) error {
	if l.StateVersion != version {
		return fmt.Errorf("%w: the contract changed meanwhile", core.ErrConflict)
	}
	return nil
}

// change loads a contract and applies f to it in one durable transaction.
func (s *Store) change(ctx context.Context, name, contractID string, f func(*tx, loaded) (loaded, error)) (core.Contract, error) {
	var after loaded
	err := s.write(ctx, name, func(t *tx) error {
		l, err := t.load(contractID)
		if err != nil {
			return err
		}
		after, err = f(t, l)
		return err
	})
	return after.Contract, err
}
