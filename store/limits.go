package store

import (
	"database/sql"
	"fmt"
	"time"

	"countersign/core"
)

// checkInFlight refuses a further send while as many as allowed are under
// way. Both directions count, and both are limited (design lesson 16). The
// reservations list every contract that can be in flight, so nothing is
// scanned.
func (t *tx) checkInFlight() error {
	n, err := t.count(`SELECT count(*) FROM target_reservations JOIN contracts USING (contract_id)
		WHERE contracts.state IN ('executing', 'rolling_back')`)
	if err != nil {
		return err
	}
	if n >= max(t.s.limits.MaxInFlight, 1) {
		return fmt.Errorf("%w: another change is being sent", core.ErrLimit)
	}
	return nil
}

// checkCreation applies the limits on new contracts (conformance rate
// policy): too many unresolved, too many outstanding for the target, and the
// target's cool-down. PREPARING counts as outstanding (design lesson 16).
func (t *tx) checkCreation(target string) error {
	limits := t.s.limits
	unresolved, err := t.count(`SELECT count(*) FROM target_reservations JOIN contracts USING (contract_id)
		WHERE contracts.state = 'reconciliation'`)
	if err != nil {
		return err
	}
	if limits.ReconciliationThreshold > 0 && unresolved >= limits.ReconciliationThreshold {
		return fmt.Errorf("%w: too many contracts wait for a conclusion", core.ErrLimit)
	}
	outstanding, err := t.count(`SELECT count(*) FROM contracts
		WHERE target_identity_digest = ? AND state IN ('preparing', 'prepared')`, target)
	if err != nil {
		return err
	}
	if limits.MaxPreparedPerTarget > 0 && outstanding >= limits.MaxPreparedPerTarget {
		return fmt.Errorf("%w: the target already has a prepared contract", core.ErrLimit)
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
		return fmt.Errorf("%w: the target's cool-down cannot be read", core.ErrLimit)
	}
	if t.now.Before(end) {
		return fmt.Errorf("%w: the target cools down for %s more", core.ErrLimit, end.Sub(t.now).Round(time.Second))
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
