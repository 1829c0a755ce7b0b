package store

import (
	"database/sql"
	"fmt"
	"time"

	"countersign/core"
)

// checkInFlight refuses a further send while as many as allowed are under
// way. Both directions count, and both are limited (design lesson 16).
func (t *tx) checkInFlight() error {
	return t.checkLimit(LimitInFlight, t.s.limits.MaxInFlight, func() (int, error) {
		return t.countHeld("'executing', 'rolling_back'")
	})
}

// countHeld counts the contracts in some of the states that hold a
// reservation, so nothing is scanned; CROSS JOIN keeps SQLite to that order.
// Quarantined records do not count: nobody could ever conclude them.
func (t *tx) countHeld(states string) (n int, err error) {
	held, err := t.ids(`SELECT contract_id FROM target_reservations
		CROSS JOIN contracts USING (contract_id) WHERE contracts.state IN (` + states + ")")
	for _, id := range held {
		if t.s.flaws.of(id) == nil {
			n++
		}
	}
	return n, err
}

// Limit names one limit, as the conformance cases do.
type Limit string

// The limits of core.Limits.
const (
	LimitInFlight    Limit = "in_flight"
	LimitOutstanding Limit = "outstanding_prepared"
	LimitCooldown    Limit = "cooldown"
	LimitLockout     Limit = "reconciliation_lockout"
)

// LimitError says which limit refused. It wraps core.ErrLimit.
type LimitError struct {
	Limit   Limit
	Explain string
}

// Error says what is too many.
func (e *LimitError) Error() string { return core.ErrLimit.Error() + ": " + e.Explain }

// Unwrap makes every LimitError a core.ErrLimit.
func (e *LimitError) Unwrap() error { return core.ErrLimit }

// WayOn says what helps.
func (e *LimitError) WayOn() string {
	switch e.Limit {
	case LimitInFlight:
		return "wait until it has ended"
	case LimitOutstanding:
		return "decline it; once its window is over only the owner can release it, or raise max_prepared_per_target"
	case LimitLockout:
		return "conclude what needs you first"
	}
	return "wait until then; nothing else is needed"
}

func (l Limit) explain() string {
	switch l {
	case LimitInFlight:
		return "another change is being sent"
	case LimitOutstanding:
		return "the target already has a contract that waits; one whose window is over counts"
	case LimitLockout:
		return "too many contracts wait for a conclusion"
	}
	return "the target's cool-down cannot be read"
}

// checkLimit refuses when a count has reached its limit; a negative limit
// is none, and zero refuses always.
func (t *tx) checkLimit(l Limit, limit int, count func() (int, error)) error {
	if limit < 0 {
		return nil
	}
	n, err := count()
	if err != nil {
		return err
	}
	if n >= limit {
		return &LimitError{l, l.explain()}
	}
	return nil
}

// checkCreation applies the limits on new contracts (conformance rate
// policy): too many unresolved, too many outstanding for the target, and the
// target's cool-down. PREPARING counts as outstanding (design lesson 16).
func (t *tx) checkCreation(target string) error {
	err := t.checkLimit(LimitLockout, t.s.limits.ReconciliationThreshold, func() (int, error) {
		return t.countHeld("'reconciliation'")
	})
	if err != nil {
		return err
	}
	err = t.checkLimit(LimitOutstanding, t.s.limits.MaxPreparedPerTarget, func() (int, error) {
		return t.count(`SELECT count(*) FROM contracts
			WHERE target_identity_digest = ? AND state IN ('preparing', 'prepared')`, target)
	})
	if err != nil {
		return err
	}
	return t.checkCooldown(target)
}

func (t *tx) count(query string, args ...any) (n int, err error) {
	return n, t.QueryRowContext(t.ctx, query, args...).Scan(&n)
}

// checkCooldown refuses a new contract for a target whose cool-down is not
// over. A time that cannot be read is not over.
func (t *tx) checkCooldown(target string) error {
	var until text
	err := t.QueryRowContext(t.ctx, "SELECT cooldown_until FROM rate_cooldowns WHERE target_identity_digest = ?",
		target).Scan(&until)
	if err == sql.ErrNoRows || t.s.limits.TargetCooldown <= 0 {
		return nil
	}
	if err != nil {
		return err
	}
	end, err := core.ParseInstant(until.s)
	if err != nil {
		return &LimitError{LimitCooldown, LimitCooldown.explain()}
	}
	if t.now.Before(end) {
		return &LimitError{LimitCooldown, fmt.Sprintf("the target cools down for %s more", end.Sub(t.now).Round(time.Second))}
	}
	return nil
}

// startCooldown begins or refreshes the target's cool-down when a change
// enters a state that starts one.
func (t *tx) startCooldown(from, to core.Contract) error {
	if t.s.limits.TargetCooldown <= 0 || from.State == to.State || !to.State.StartsCooldown() {
		return nil
	}
	_, err := t.exec(`INSERT INTO rate_cooldowns (target_identity_digest, cooldown_until) VALUES (?, ?)
		ON CONFLICT (target_identity_digest) DO UPDATE SET cooldown_until = excluded.cooldown_until`,
		to.TargetIdentityDigest.String(), core.FormatInstant(t.now.Add(t.s.limits.TargetCooldown)))
	return err
}
