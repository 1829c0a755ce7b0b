package core

import "context"

// ProofKind separates what a proof is for; an authority's algorithm names
// and keys never cross kinds (seed 003, Canonicalization: separate domains).
type ProofKind string

// The kinds of proof.
const (
	ProofAuthorization  ProofKind = "authorization"
	ProofConfirmation   ProofKind = "confirmation"
	ProofReconciliation ProofKind = "reconciliation"
	ProofApproval       ProofKind = "approval"
)

// Verifier checks a proof. Absence, refusal or failure is closed. Errors wrap
// ErrProof (refused) or ErrVerifierFailed.
type Verifier interface {
	Verify(ctx context.Context, kind ProofKind, authorityID, algorithm string, payload, proof []byte) error
}

// Authority is one operator's unlocked signing authority. It lives for one
// decision and is closed after it, which erases the key.
type Authority interface {
	Verifier
	// ID names the authority in evidence.
	ID() string
	// Algorithm is the name that evidence of this kind must carry.
	Algorithm(kind ProofKind) string
	// Sign proves payload.
	Sign(kind ProofKind, payload []byte) ([]byte, error)
	// Close erases the key.
	Close()
}

// Operators opens enrolled operators' authorities. Errors wrap
// ErrUnknownOperator or ErrWrongPassphrase, or a keyring class.
type Operators interface {
	Unlock(ctx context.Context, operator string, passphrase []byte) (Authority, error)
	Enrolled(ctx context.Context) ([]string, error)
}

// Sealer protects the three artifacts of a contract (seed 003; design section 7).
type Sealer interface {
	Seal(ctx context.Context, contractID string, role Role, plaintext []byte) (Artifact, error)
	Open(ctx context.Context, contractID string, role Role, a Artifact) ([]byte, error)
}

// Anchor is the monotonic counter outside the database (design section 6).
// Advance moves it from expected to expected+1 or fails without moving it: an
// anchor that stands elsewhere is ErrRolledBackStore. A lost answer is settled
// by reading again.
type Anchor interface {
	Read(ctx context.Context) (uint64, error)
	Advance(ctx context.Context, expected uint64) (uint64, error)
}
