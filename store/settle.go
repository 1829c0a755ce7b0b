package store

import (
	"context"
	"time"

	"countersign/core"
)

// LastAmbiguous returns the newest send that may still be writing: when its
// last byte left at the latest, and its contract. It stays known after the
// contract was resolved: a late write does not know about conclusions
// (design section 4, rule 4).
func (s *Store) LastAmbiguous(ctx context.Context) (at time.Time, contractID string, err error) {
	err = s.read(ctx, func(t *tx) error {
		at, contractID, err = t.lastAmbiguous()
		return err
	})
	return at, contractID, err
}

// lastAmbiguous counts the discovery of a flawed record that may have been
// under way as an ambiguous send as well, and an attributed advance of the
// anchor: when the last byte left is not known any more.
func (t *tx) lastAmbiguous() (time.Time, string, error) {
	at, id, err := t.recordedAmbiguous()
	if err != nil {
		return time.Time{}, "", err
	}
	attributed, to, err := t.lastAttribution()
	if err != nil {
		return time.Time{}, "", err
	}
	if attributed.After(at) {
		at, id = attributed, to
	}
	if found, flawed := t.s.flaws.writing(); found.After(at) {
		return found, flawed, nil
	}
	return at, id, nil
}

func (t *tx) recordedAmbiguous() (time.Time, string, error) {
	if !t.s.own {
		return t.foreignAmbiguous()
	}
	places, err := t.goodPlaces("WHERE ambiguous_at IS NOT NULL ORDER BY ambiguous_at DESC, position DESC LIMIT ?",
		1+len(t.s.flaws.all()))
	if err != nil || len(places) == 0 {
		return time.Time{}, "", err
	}
	m := memberOf(places[0])
	if m.ambiguousAt == nil {
		return time.Time{}, "", tableMembers.errOwnRow()
	}
	return *m.ambiguousAt, places[0].text(1), nil
}

// checkSettled refuses anything new while an ambiguous send may still be
// writing; window is the caller's, if longer than the store's.
func (t *tx) checkSettled(window time.Duration) error {
	at, _, err := t.lastAmbiguous()
	if err != nil || at.IsZero() {
		return err
	}
	if t.now.Before(at.Add(max(window, t.s.settle))) {
		return core.ErrSettling
	}
	return nil
}

// checkNotApplied: within the settle window no reading supports "not applied".
func (t *tx) checkNotApplied(l loaded, o core.Outcome) error {
	denies := o == core.ConfirmedNotApplied || o == core.ConfirmedRollbackNotApplied
	if denies && l.member.ambiguousAt != nil && t.now.Before(l.member.ambiguousAt.Add(t.s.settle)) {
		return core.ErrSettling
	}
	return nil
}
