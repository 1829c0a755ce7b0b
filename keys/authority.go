package keys

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"countersign/canon"
	"countersign/core"
)

// authorityDomain is the first frame of every MAC by an operator's key.
const authorityDomain = "countersign/operator-proof/v1"

// ErrClosed: the authority was closed and its key erased.
var ErrClosed = errors.New("the operator's key is not unlocked any more")

// HMACAlgorithm is the one algorithm name that evidence of a kind may carry
// when an enrolled operator proves it; "" for an unknown kind.
func HMACAlgorithm(kind core.ProofKind) string {
	switch kind {
	case core.ProofAuthorization:
		return "hmac-sha256-authorization-v1"
	case core.ProofConfirmation:
		return "hmac-sha256-confirmation-v1"
	case core.ProofReconciliation:
		return "hmac-sha256-reconciliation-v2"
	case core.ProofApproval:
		return "hmac-sha256-approval-v1"
	}
	return ""
}

// Unlocked is an operator's confirmation key between passphrase and Close. A
// MAC can only be checked with the key that made it, so the one object signs
// and verifies, for the length of one decision. It implements core.Authority.
type Unlocked struct {
	id  string
	mu  sync.RWMutex
	key Secret // empty once closed
}

// ID is the operator's name.
func (u *Unlocked) ID() string { return u.id }

// Algorithm is HMACAlgorithm.
func (u *Unlocked) Algorithm(kind core.ProofKind) string { return HMACAlgorithm(kind) }

// Sign returns HMAC-SHA256 over the framed domain, algorithm name, operator
// and payload. Errors: ErrClosed, core.ErrInvalid for an unknown kind.
func (u *Unlocked) Sign(kind core.ProofKind, payload []byte) ([]byte, error) {
	algorithm := HMACAlgorithm(kind)
	if algorithm == "" {
		return nil, fmt.Errorf("%w: kind of proof", core.ErrInvalid)
	}
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.key.Len() == 0 {
		return nil, ErrClosed
	}
	mac := hmac.New(sha256.New, u.key.Bytes())
	mac.Write(canon.FrameStrings(authorityDomain, algorithm, u.id))
	mac.Write(canon.Frame(payload))
	return mac.Sum(nil), nil
}

// Verify implements core.Verifier for this operator's own proofs. Errors wrap
// core.ErrProof, or core.ErrVerifierFailed once closed.
func (u *Unlocked) Verify(_ context.Context, kind core.ProofKind, authorityID, algorithm string, payload, proof []byte) error {
	if authorityID != u.id || algorithm == "" || algorithm != HMACAlgorithm(kind) {
		return core.ErrProof
	}
	want, err := u.Sign(kind, payload)
	if err != nil {
		return fmt.Errorf("%w: %w", core.ErrVerifierFailed, err)
	}
	if !hmac.Equal(want, proof) {
		return core.ErrProof
	}
	return nil
}

// Close erases the key. It may be called more than once.
func (u *Unlocked) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.key.Clear()
}

// String names the operator only.
func (u *Unlocked) String() string { return "operator " + u.id }
