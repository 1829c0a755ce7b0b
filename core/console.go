package core

import "time"

// The types in this file are what a console shows. They are read-only copies
// made by the Engine; text that came from the network or the store is not yet
// sanitised (design section 4, rule 12: the screens do that).

// Header says where the operator is and whether they may act.
type Header struct {
	Appliance  string // host[:port]
	Version    string // pfSense version, "" while unread
	APIVersion string
	Pin        string // SHA-256 of the server's public key, hex
	Operator   string
	Mode       Mode
	LockHolder string // who holds the executor lock, for an observer
	StoreOK    bool
	StoreNote  string    // what is wrong with the store, or scan progress
	VerifiedAt time.Time // last complete verified scan
	AnchorOK   bool
	AnchorNote string
	Counts     Counts
	// SettleUntil: no new send to this appliance before (design rule 4).
	SettleUntil    time.Time
	SettleContract string
	// Closed is why nothing can be changed from here, or "".
	Closed string
	// TakenOver is what this console found and did when it took the executor
	// lock over from another that had ended; nil if it never did.
	TakenOver *StartReport
}

// Mode is whether this console may change anything (design rule 8).
type Mode string

// The modes of a console.
const (
	ModeStarting Mode = "STARTING" // the verified scan has not passed yet
	ModeExecutor Mode = "EXECUTOR"
	ModeObserver Mode = "OBSERVER"
)

// Row is one line of a list.
type Row struct {
	ContractID  string
	State       State
	Quarantined string // reason class; then only ContractID is set besides
	Noun        string // "alias"
	Target      string
	Change      string // "description"
	Actor       string
	Confirmed   bool
	Attributed  bool // PREPARED and never sent: ErrAttributed
	CreatedAt   time.Time
	UpdatedAt   time.Time
	ExpiresAt   time.Time
	SettleUntil time.Time // zero when nothing settles
	Loads       Subsystem
	Load        LoadClaim // "" when never asked
	// Sentence explains the row in one line.
	Sentence string
}

// Page is one page of a list.
type Page struct {
	List ListName
	Rows []Row
	Next string // pass on for the next page; "" at the end
}

// ActionName is something an operator can do with a contract.
type ActionName string

// The actions of the detail screen.
const (
	ActConfirm   ActionName = "confirm"
	ActExecute   ActionName = "execute"
	ActDecline   ActionName = "decline"
	ActRollback  ActionName = "rollback"
	ActReconcile ActionName = "reconcile"
	ActLoad      ActionName = "load"
)

// Action is an action and, where it is closed, why.
type Action struct {
	Name   ActionName
	Reason string // "" when it works now
}

// Detail is everything about one contract.
type Detail struct {
	Row       Row
	Contract  Contract
	Appliance string
	Summary   string // of the target, as prepared
	Changes   []Change
	WayBack   string
	Events    []AuditEvent
	Loads     []LoadRecord
	Looks     []Look
	Actions   []Action
	// Unreadable is why the protected artifacts could not be opened, or "".
	Unreadable string
}

// Review is what gate two shows before it asks for a name and a passphrase.
type Review struct {
	Detail
	Pin     string
	Target  string   // the exact name to type
	Waiting Waiting  // to be loaded already
	Related []Change // linked objects
	ReadAt  time.Time
	// Drift is why sending now would be refused, or "": read again just now.
	Drift string
}

// StepName is one step of the execution algorithm (seed 003), in its order.
type StepName string

// The steps an operator sees, in order.
const (
	StepLoad     StepName = "loaded and authenticated the contract"
	StepBindings StepName = "bindings, policy and confirmation hold"
	StepAnchor   StepName = "anchor advanced"
	StepAcquire  StepName = "target reserved, the new state is on disk"
	StepReread   StepName = "target read again: unchanged, same position"
	StepSend     StepName = "one request sent, waiting for the answer"
	StepReadBack StepName = "read back the whole list"
	StepSeal     StepName = "seal the result"
	// StepAskLoad follows where loading was agreed to with the change.
	StepAskLoad StepName = "the appliance asked to load what is stored"
)

// Steps lists the steps of an execution or a rollback in their order.
func Steps() []StepName {
	return []StepName{StepLoad, StepBindings, StepAnchor, StepAcquire, StepReread, StepSend, StepReadBack, StepSeal}
}

// StepStatus is how far a step is.
type StepStatus int

// The statuses of a step.
const (
	StepWaiting StepStatus = iota
	StepRunning
	StepDone
	StepStopped // the run ended here
	StepSkipped
)

// StepProgress is one step's status and how long it took.
type StepProgress struct {
	Name      StepName
	Status    StepStatus
	StartedAt time.Time
	Took      time.Duration
	Detail    string // the anchor's value ("118"), or what is known about loading; value-free
}

// Progress is a snapshot of a running or finished execution.
type Progress struct {
	ContractID string
	Direction  Direction
	Target     string
	Steps      []StepProgress
	StartedAt  time.Time
	Done       bool
	Final      State  // the state after it, when Done
	Sentence   string // what happened and what to do now, when Done
	Warning    string // a changed neighbour: look before you go
	Err        error  // why it was refused or is uncertain, when Done
}

// ComparedField is one line of snapshot, intended and now.
type ComparedField struct {
	Name                    string
	Snapshot, Intended, Now string
	Differs                 bool // NOW is not INTENDED
}

// OutcomeOffer is a conclusion and, where it cannot be drawn, why.
type OutcomeOffer struct {
	Outcome Outcome
	Reason  string    // "" when it may be chosen now
	At      time.Time // when it may be chosen, where only time is missing
}

// Comparison is a fresh reading beside what was and what was wanted (design
// section 8). It only reads; a conclusion drawn from it binds exactly what it
// observed.
type Comparison struct {
	ContractID   string
	Noun, Target string   // "alias", "web_servers"
	Changes      []Change // what the contract is about
	StateVersion int64
	Origin       State // where certainty was lost
	Boundary     Boundary
	Failure      FailureClass
	ReadAt       time.Time
	Locator      int64
	SameLocator  bool
	Fields       []ComparedField
	Unchanged    int      // neighbours as before
	Changed      []string // names of neighbours that differ
	// Loads and Waiting, in a preview of a rollback: what must load it, and
	// what waits to be loaded already.
	Loads        Subsystem
	Waiting      Waiting
	NowIntended  bool   // the capability's own predicate holds
	NowSnapshot  bool   // the fingerprint equals the original
	Fingerprint  string // of NOW, hex; "" when the target was not found
	Problem      string // why the target could not be read, or ""
	Offers       []OutcomeOffer
	SettleUntil  time.Time
	SettleWindow time.Duration

	found Object // NOW as it was read, nil when the target was not found
}

// StartReport says what a start found and did.
type StartReport struct {
	Mode        Mode
	Recovered   []Row // moved to RECONCILIATION, without a resend
	Quarantined []QuarantinedRecord
	Notes       []string
}
