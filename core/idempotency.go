package core

import "countersign/canon"

// DeriveIdempotencyKey is the semantic identity of an operation: it binds
// capability, endpoint and method (as context) and target, fingerprint,
// locator, intent, snapshot and rollback plan (seed 003, Authoritative
// fields; seed 000, Decision). It is a replay guard, not proof of
// authorization. The single source of the key.
func DeriveIdempotencyKey(c Contract) (canon.Digest, error) {
	return canon.Sum(canon.Idempotency, c.Binding().context(), map[string]any{
		"intent_digest":          c.IntentDigest.String(),
		"lifecycle_locator":      c.LifecycleLocator,
		"rollback_plan_version":  c.RollbackPlanVersion,
		"snapshot_digest":        c.SnapshotDigest.String(),
		"target_fingerprint":     c.TargetFingerprint.String(),
		"target_identity_digest": c.TargetIdentityDigest.String(),
	})
}

// BlocksFreshAttempt reports whether a contract in state s keeps its
// semantic identity to itself: its real-world outcome is not yet fully and
// confidently resolved (seed 000, Classification). The partial unique index
// of the store covers exactly these states.
func BlocksFreshAttempt(s State) bool { f, _ := factsOf(s); return f.blocks }
