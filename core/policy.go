package core

import "time"

// Limits contain the damage an operator in a hurry can do (design section 4;
// conformance rate policy). They are checked inside the transaction of the
// change they gate, before the anchor moves. A count of zero refuses
// everything it gates, so that a missing policy closes; a negative one is no
// limit.
type Limits struct {
	MaxInFlight             int           // EXECUTING and ROLLING_BACK at once
	MaxPreparedPerTarget    int           // outstanding PREPARING and PREPARED of one target
	TargetCooldown          time.Duration // after VERIFIED, FAILED, ROLLED_BACK, ROLLBACK_FAILED
	ReconciliationThreshold int           // contracts in RECONCILIATION that lock out new ones
}

// DefaultLimits are the reference's.
func DefaultLimits() Limits {
	return Limits{MaxInFlight: 1, MaxPreparedPerTarget: 1, TargetCooldown: time.Minute, ReconciliationThreshold: 3}
}

// Windows are the spans of time the engine works with.
type Windows struct {
	Contract   time.Duration // from creation to expiry
	Settle     time.Duration // after an ambiguous send (design section 4, rule 4)
	SecondLook time.Duration // until neighbours are read once more
}

// DefaultWindows are ten minutes to decide and three to settle.
func DefaultWindows() Windows {
	return Windows{Contract: 10 * time.Minute, Settle: MinimumSettle, SecondLook: 5 * time.Second}
}
