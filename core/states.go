package core

// State is where a contract stands (seed 003, State machine). Its text is
// what the store keeps.
type State string

// The ten states of seed 003.
const (
	Preparing      State = "preparing"
	Prepared       State = "prepared"
	Executing      State = "executing"
	Verified       State = "verified"
	Failed         State = "failed"
	Reconciliation State = "reconciliation"
	RollingBack    State = "rolling_back"
	RolledBack     State = "rolled_back"
	RollbackFailed State = "rollback_failed"
	Expired        State = "expired"
)

// FingerprintRule says whether a state carries the verified post-forward fingerprint.
type FingerprintRule int

// A verified fingerprint is written once, with VERIFIED (seed 003, Authoritative fields).
const (
	FingerprintForbidden FingerprintRule = iota
	FingerprintOptional
	FingerprintRequired
)

// stateFacts is one row of the table of states.
type stateFacts struct {
	terminal     bool
	blocks       bool
	reserves     bool
	interrupted  bool
	cooldown     bool
	verifiedRule FingerprintRule
}

func factsOf(s State) (stateFacts, bool) {
	switch s {
	case Preparing, Prepared:
		return stateFacts{blocks: true, verifiedRule: FingerprintForbidden}, true
	case Executing:
		return stateFacts{blocks: true, reserves: true, interrupted: true, verifiedRule: FingerprintForbidden}, true
	case Verified:
		return stateFacts{blocks: true, cooldown: true, verifiedRule: FingerprintRequired}, true
	case Failed:
		return stateFacts{terminal: true, cooldown: true, verifiedRule: FingerprintOptional}, true
	case Reconciliation:
		return stateFacts{blocks: true, reserves: true, verifiedRule: FingerprintOptional}, true
	case RollingBack:
		return stateFacts{blocks: true, reserves: true, interrupted: true, verifiedRule: FingerprintRequired}, true
	case RolledBack:
		return stateFacts{terminal: true, cooldown: true, verifiedRule: FingerprintOptional}, true
	case RollbackFailed:
		return stateFacts{terminal: true, blocks: true, reserves: true, cooldown: true, verifiedRule: FingerprintOptional}, true
	case Expired:
		return stateFacts{terminal: true, verifiedRule: FingerprintOptional}, true
	}
	return stateFacts{}, false
}

// States lists the ten states in the order of their usual life.
func States() []State {
	return []State{Preparing, Prepared, Executing, Verified, Failed, Reconciliation,
		RollingBack, RolledBack, RollbackFailed, Expired}
}

// Known reports whether s is one of the ten states.
func (s State) Known() bool { _, ok := factsOf(s); return ok }

// Terminal states do not reopen (seed 003, State machine).
func (s State) Terminal() bool { f, _ := factsOf(s); return f.terminal }

// HoldsReservation reports whether a contract in s holds its target's reservation.
func (s State) HoldsReservation() bool { f, _ := factsOf(s); return f.reserves }

// Interrupted states move to RECONCILIATION at a restart, without a resend
// (seed 003, Persistence and integrity).
func (s State) Interrupted() bool { f, _ := factsOf(s); return f.interrupted }

// InFlight states count against the limit of simultaneous executions.
func (s State) InFlight() bool { f, _ := factsOf(s); return f.interrupted }

// StartsCooldown reports whether entering s starts the target's cool-down.
func (s State) StartsCooldown() bool { f, _ := factsOf(s); return f.cooldown }

// VerifiedFingerprint says whether a record in s carries the verified fingerprint.
func (s State) VerifiedFingerprint() FingerprintRule { f, _ := factsOf(s); return f.verifiedRule }

// NeedsPerson reports whether s waits for an operator's or the owner's decision.
func (s State) NeedsPerson() bool { return s == Reconciliation || s == RollbackFailed }
