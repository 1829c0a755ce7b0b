package keys

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"countersign/core"
)

const (
	signingContext = "signing-key"
	signingDomain  = "countersign/signing-key/v1/"
)

// SigningKey is an off-host authority's unlocked secret, for `countersign
// sign`. Each kind of proof has an Ed25519 key of its own, derived from the
// one secret, so that keys never cross kinds. It implements core.Authority.
type SigningKey struct {
	id   string
	mu   sync.RWMutex
	seed Secret // empty once closed
}

// CreateSigningKey makes a new secret for authority in ring, wrapped under the
// passphrase, which is zeroed. It refuses with ErrExists if there is one.
func CreateSigningKey(ctx context.Context, ring Keyring, random io.Reader, cost Cost, authority string, passphrase []byte) (*SigningKey, error) {
	defer clear(passphrase)
	if !core.ValidIdentifier(authority) {
		return nil, fmt.Errorf("%w: an authority's name is 1 to 128 of A-Z a-z 0-9 . _ : -", core.ErrInvalid)
	}
	seed := make([]byte, keySize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("random source: %w", err)
	}
	raw, err := Wrap(random, cost, passphrase, seed, signingContext, authority)
	if err != nil {
		return nil, err
	}
	if err := ring.Create(ctx, ItemSigningKey(authority), raw); err != nil {
		return nil, err
	}
	return &SigningKey{id: authority, seed: ownSecret(seed)}, nil
}

// OpenSigningKey opens what CreateSigningKey made; passphrase is zeroed.
// Errors: core.ErrWrongPassphrase, or a keyring class.
func OpenSigningKey(ctx context.Context, ring Keyring, authority string, passphrase []byte) (*SigningKey, error) {
	defer clear(passphrase)
	name := ItemSigningKey(authority)
	raw, err := ring.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	seed, err := Unwrap(passphrase, raw, signingContext, authority)
	if errors.Is(err, ErrCorrupt) || err == nil && len(seed) != keySize {
		return nil, &RingError{Op: "read", Item: name, Class: ErrCorrupt}
	}
	if err != nil {
		return nil, err
	}
	return &SigningKey{id: authority, seed: ownSecret(seed)}, nil
}

// ID is the authority's name.
func (k *SigningKey) ID() string { return k.id }

// Algorithm is Ed25519Algorithm.
func (k *SigningKey) Algorithm(kind core.ProofKind) string { return Ed25519Algorithm(kind) }

// PublicKey is what the owner pins for a kind. Errors: ErrClosed, core.ErrInvalid.
func (k *SigningKey) PublicKey(kind core.ProofKind) (ed25519.PublicKey, error) {
	private, err := k.private(kind)
	defer clear(private)
	if err != nil {
		return nil, err
	}
	return append(ed25519.PublicKey(nil), private[ed25519.SeedSize:]...), nil
}

// Sign signs payload itself, as the reference's authorities do.
func (k *SigningKey) Sign(kind core.ProofKind, payload []byte) ([]byte, error) {
	private, err := k.private(kind)
	defer clear(private)
	if err != nil {
		return nil, err
	}
	return ed25519.Sign(private, payload), nil
}

// Verify implements core.Verifier for this authority's own signatures.
func (k *SigningKey) Verify(ctx context.Context, kind core.ProofKind, authorityID, algorithm string, payload, proof []byte) error {
	public, err := k.PublicKey(kind)
	if err != nil {
		return fmt.Errorf("%w: %w", core.ErrVerifierFailed, err)
	}
	pinned, err := NewPinned(PinnedKey{AuthorityID: k.id, Kind: kind, PublicKey: public, Active: true})
	if err != nil {
		return fmt.Errorf("%w: %w", core.ErrVerifierFailed, err)
	}
	return pinned.Verify(ctx, kind, authorityID, algorithm, payload, proof)
}

// Close erases the secret. It may be called more than once.
func (k *SigningKey) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seed.Clear()
}

// String names the authority only.
func (k *SigningKey) String() string { return "authority " + k.id }

func (k *SigningKey) private(kind core.ProofKind) (ed25519.PrivateKey, error) {
	algorithm := Ed25519Algorithm(kind)
	if algorithm == "" {
		return nil, fmt.Errorf("%w: kind of proof", core.ErrInvalid)
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.seed.Len() == 0 {
		return nil, ErrClosed
	}
	seed, err := hkdf.Key(sha256.New, k.seed.Bytes(), nil, signingDomain+algorithm, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("deriving a signing key: %w", err)
	}
	defer clear(seed)
	return ed25519.NewKeyFromSeed(seed), nil
}
