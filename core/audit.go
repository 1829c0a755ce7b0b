package core

import "time"

// EventType names an authenticated audit event.
type EventType string

// The event types of the record format.
const (
	EventCreated    EventType = "contract_created"
	EventTransition EventType = "state_transition"
	EventConfirmed  EventType = "contract_confirmed"
	EventRotated    EventType = "artifacts_rotated"
	EventResolved   EventType = "reconciliation_resolved"
)

// AuditEvent is one link of a contract's chain: contiguous in state version,
// each naming the state of the one before (seed 003, Persistence and integrity).
type AuditEvent struct {
	Sequence   int64
	ContractID string
	Type       EventType
	Previous   State // empty for the first
	Current    State
	Version    int64
	RecordedAt time.Time
	// Note is our own authenticated addition, nil where the reference wrote
	// the event.
	Note *Note
}

// Note is the value-free addition to one event, kept in a table of our own
// under its own MAC (design section 3; lesson 20).
type Note struct {
	Actor     string // operator or authority, "" for the executor itself
	Boundary  Boundary
	Knowledge Knowledge
	Failure   FailureClass
	Direction Direction
	Status    int    // HTTP status of the answer, 0 without
	Response  string // the API's response_id
	// LastByteAt is when the last request byte was written; the settle
	// window is counted from here.
	LastByteAt *time.Time
	// Evidence is the digest of the evidence or approval behind the event.
	Evidence string
	// Outcome is the operator's conclusion, for a resolved reconciliation.
	Outcome Outcome
	// Neighbours counts other objects that changed while this was sent.
	Neighbours int
}

// Origin returns the state in which certainty was lost: the previous state
// of the last state event that entered RECONCILIATION (design lesson 8), or
// "" when the chain has none.
func Origin(events []AuditEvent) State {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Current == Reconciliation && events[i].Previous != Reconciliation {
			return events[i].Previous
		}
	}
	return ""
}
