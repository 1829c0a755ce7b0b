package core

import (
	"context"
	"time"

	"countersign/canon"
)

// Store is the authoritative, authenticated store as the engine needs it.
// Every method that changes something decides inside its own durable
// transaction, on rows read there and with the store's own clock (design
// lesson 6), and takes the version the caller saw. No method repairs.
type Store interface {
	StoreReader
	StoreWriter
}

// StoreReader reads verified records only. A corrupt record gives an error
// that wraps ErrQuarantined.
type StoreReader interface {
	Load(ctx context.Context, contractID string) (Contract, error)
	// Timeline returns a contract's verified chain, oldest first, with notes.
	Timeline(ctx context.Context, contractID string) ([]AuditEvent, error)
	// FindByIdempotencyKey returns the one blocking contract, or nil (seed 000, Schema).
	FindByIdempotencyKey(ctx context.Context, key canon.Digest) (*Contract, error)
	// FindHistoricalByIdempotencyKey returns every attempt, oldest first.
	FindHistoricalByIdempotencyKey(ctx context.Context, key canon.Digest) ([]Contract, error)
	// FindReceipt looks a claim's key up in a fresh snapshot: the outcome to
	// replay, nil where the key is unused, or a refusal of JudgeRetry.
	FindReceipt(ctx context.Context, claim ReceiptClaim) (*ReceiptOutcome, error)
	// ReservedBy returns the contract that keeps a target to itself, or "".
	ReservedBy(ctx context.Context, target canon.Digest) (contractID string, err error)
	// List returns one keyset page.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	// Counts returns how many contracts each list holds.
	Counts(ctx context.Context) (Counts, error)
	// Quarantined lists the records that nothing acts on.
	Quarantined(ctx context.Context) ([]QuarantinedRecord, error)
	// LastAmbiguous returns the newest send that may still be writing: when
	// its last byte left at the latest, and its contract. Zero time if none.
	LastAmbiguous(ctx context.Context) (at time.Time, contractID string, err error)
	// Attributed reports whether a start has attributed an advance of the
	// anchor to a contract, which is never sent then (ErrAttributed).
	Attributed(ctx context.Context, contractID string) (bool, error)
	// Loads returns what is recorded about loading a contract's change.
	Loads(ctx context.Context, contractID string) ([]LoadRecord, error)
	// Looks returns what second readings of a contract found, oldest first.
	Looks(ctx context.Context, contractID string) ([]Look, error)
	// Health describes the store for the header and the health screen.
	Health(ctx context.Context) (StoreHealth, error)
}

// StoreWriter changes state, one durable commit each (two for an acquisition).
type StoreWriter interface {
	// AuthorizeAndCreate consumes the authorization, creates the contract,
	// makes it PREPARED and writes the receipt, in one transaction and in this
	// order (design section 2, D). Errors wrap ErrBlocked, ErrSpent, ErrLimit,
	// ErrConflict; after each of them nothing was spent.
	AuthorizeAndCreate(ctx context.Context, c Creation) (Contract, error)
	// SubmitDraft records durably that a request is about to be submitted and
	// returns the key to use: the given one, or that of an equal request of the
	// same caller, submitted before `before` by a console that died without
	// hearing the answer (design section 5).
	SubmitDraft(ctx context.Context, caller string, request canon.Digest, key string, before time.Time) (string, error)
	// AnswerDraft records that the caller heard the answer.
	AnswerDraft(ctx context.Context, caller string, request canon.Digest, key string) error
	// Confirm accepts evidence once (CheckConfirmation).
	Confirm(ctx context.Context, contractID string, version int64, e ConfirmationEvidence, v Verifier) (Contract, error)
	// Decline moves PREPARED to FAILED with an operator's approval.
	Decline(ctx context.Context, contractID string, a Approval, v Verifier) (Contract, error)
	// PlanAcquisition checks everything that Acquire checks and writes the
	// pending anchor advance that names the contract (design section 6). It
	// returns the authenticated high-water mark the anchor must show. The number
	// after it is this contract's alone: where it is another's, ErrNumberTaken.
	PlanAcquisition(ctx context.Context, contractID string, version int64) (mark uint64, err error)
	// Acquire moves PREPARED to EXECUTING, reserves the target, and settles
	// the pending advance, in one durable transaction.
	Acquire(ctx context.Context, contractID string, version int64) (Contract, error)
	// AcquireRollback moves VERIFIED to ROLLING_BACK with an operator's approval.
	AcquireRollback(ctx context.Context, contractID string, a Approval, v Verifier) (Contract, error)
	// ResumeRollback moves RECONCILIATION to ROLLING_BACK: a recorded conclusion.
	ResumeRollback(ctx context.Context, contractID string, a Approval, v Verifier) (Contract, error)
	// SealVerified moves EXECUTING to VERIFIED with the authoritative
	// post-forward fingerprint and the unchanged locator.
	SealVerified(ctx context.Context, contractID string, version int64, fingerprint canon.Digest, locator int64, n Note) (Contract, error)
	// SealRolledBack moves ROLLING_BACK to ROLLED_BACK with the unchanged locator.
	SealRolledBack(ctx context.Context, contractID string, version int64, locator int64, n Note) (Contract, error)
	// Transition takes any other legal automatic edge (CheckGenericEdge).
	Transition(ctx context.Context, contractID string, version int64, to State, n Note) (Contract, error)
	// Resolve records an operator's conclusion (CheckReconciliation).
	Resolve(ctx context.Context, contractID string, e ReconciliationEvidence, v Verifier) (Contract, error)
	// RecoverInterrupted moves EXECUTING and ROLLING_BACK to RECONCILIATION,
	// without a resend, and attributes or refuses an open anchor advance.
	RecoverInterrupted(ctx context.Context) ([]Contract, error)
	// RecordLoad appends to what is known about loading a change.
	RecordLoad(ctx context.Context, r LoadRecord) error
	// RecordLook keeps what a second reading found.
	RecordLook(ctx context.Context, l Look) error
	// SettleAnchor compares the anchor with the high-water mark: equal is well;
	// one ahead with exactly one matching pending advance is attributed and
	// recorded; anything else is ErrRolledBackStore.
	SettleAnchor(ctx context.Context, anchor uint64) error
	// WithdrawAdvance is SettleAnchor for the process that moved the anchor and
	// knows that nothing was acquired under the pending advance.
	WithdrawAdvance(ctx context.Context, anchor uint64) error
}

// Creation is everything AuthorizeAndCreate writes.
type Creation struct {
	Contract      Contract // in PREPARING, version 0
	Authorization Authorization
	Verifier      Verifier
	Draft         Draft
	Claim         ReceiptClaim
	Actor         string
	// Settle is the settle window that must be over before anything new is made.
	Settle time.Duration
}

// ListName is one of the console's three lists.
type ListName string

// The lists of design section 8.
const (
	ListActive   ListName = "active"    // everything not finished
	ListNeedsYou ListName = "needs_you" // RECONCILIATION, ROLLBACK_FAILED, ExpiringSoon
	ListHistory  ListName = "history"   // everything
)

// ListQuery asks for one page, newest first.
type ListQuery struct {
	List  ListName
	After string // contract id of the last row seen, "" for the first page
	Limit int
}

// ListPage is one page of verified contracts.
type ListPage struct {
	Items []ListItem
	Next  string // pass as After; "" at the end
}

// ListItem is a contract with what its row shows besides.
type ListItem struct {
	Contract  Contract
	Actor     string // who prepared it
	UpdatedAt time.Time
	Note      *Note // of its last event
	// Attributed: an advance of the anchor was attributed to it while it was
	// PREPARED, so that it is never sent.
	Attributed bool
	// Load and LoadDirection are the newest fact about loading.
	Load          LoadClaim
	LoadDirection Direction
	LoadAt        time.Time
	// Look is the second reading of the state the contract is in; nil when
	// there was none.
	Look *Look
}

// Counts are the sizes of the lists.
type Counts struct{ Active, NeedsYou, History, Quarantined int }

// QuarantinedRecord is a record that is shown and never acted on.
type QuarantinedRecord struct {
	ContractID string // as the index says; may be wrong
	Reason     string // class, as in the conformance manifest
	Explain    string // one line
}

// LoadRecord is one fact about loading a stored change (design rule 7).
type LoadRecord struct {
	ContractID string
	Direction  Direction
	Subsystem  Subsystem
	Claim      LoadClaim
	At         time.Time
	Actor      string
	Evidence   string
	// Pending is a digest of the changes that were shown as waiting to be
	// loaded when it was agreed to; "" for none.
	Pending string
}

// Look is what a second reading some seconds after a proven success found
// (design section 4, rule 5). It counts and names nothing.
type Look struct {
	ContractID   string
	StateVersion int64 // of the sealed state
	Found        LookFinding
	Neighbours   int // other objects that are not as right before the send
	At           time.Time
}

// LookFinding is how a second reading found the target.
type LookFinding string

// What a second reading can find.
const (
	LookedSame    LookFinding = "as_sealed"
	LookedChanged LookFinding = "changed"
	LookedInVain  LookFinding = "unread"
)

// StoreHealth is what the health screen shows of the store.
type StoreHealth struct {
	Path       string
	StoreID    string
	Schema     int
	Verified   time.Time // when the last full scan passed
	Contracts  int
	Events     int
	Mark       uint64 // anchor high-water mark
	AnchorOK   bool
	AnchorNote string
}

// Lock is the executor lock: an OS advisory lock beside the store (design
// section 4, rule 8).
type Lock interface {
	// TryAcquire reports whether this process now holds the lock.
	TryAcquire() (bool, error)
	Held() bool
	// Holder describes who holds it: "jo@jump1 since 13:58 (process 4121)".
	Holder() string
	Release() error
}
