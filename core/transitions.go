package core

import "fmt"

// EdgeRule says who may use an edge of the state machine (seed 003, State machine).
type EdgeRule int

// Every pair of states that is not listed is illegal.
const (
	EdgeIllegal EdgeRule = iota
	EdgeLegal            // automatic
	EdgeManual           // only by a recorded operator conclusion
)

// Edge returns the rule for moving from one state to another.
func Edge(from, to State) EdgeRule {
	switch from {
	case Preparing:
		return legalIf(to == Prepared || to == Failed || to == Expired)
	case Prepared:
		return legalIf(to == Executing || to == Failed || to == Expired)
	case Executing:
		return legalIf(to == Verified || to == Failed || to == Reconciliation)
	case Verified:
		return legalIf(to == RollingBack)
	case RollingBack:
		return legalIf(to == RolledBack || to == RollbackFailed || to == Reconciliation)
	case Reconciliation:
		switch to {
		case Verified, Failed, RollingBack, RolledBack, RollbackFailed:
			return EdgeManual
		}
	}
	return EdgeIllegal
}

func legalIf(ok bool) EdgeRule {
	if ok {
		return EdgeLegal
	}
	return EdgeIllegal
}

// CheckGenericEdge says whether the store's generic transition may use an
// edge. It refuses every manual-only edge, and the two edges that only a
// sealing call may use because they carry an authoritative read-back
// (VERIFIED and ROLLED_BACK). Errors wrap ErrIllegalTransition or ErrConflict.
func CheckGenericEdge(from, to State) error {
	if Edge(from, to) != EdgeLegal {
		return fmt.Errorf("%w: %s to %s", ErrIllegalTransition, from, to)
	}
	switch to {
	case Verified, RolledBack:
		return fmt.Errorf("%w: %s is entered only by sealing a read-back", ErrConflict, to)
	}
	return nil
}
