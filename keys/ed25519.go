package keys

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"countersign/core"
)

// Ed25519Algorithm is the one algorithm name that evidence of a kind may carry
// when an off-host authority signed it; "" for an unknown kind. The names of
// confirmation and reconciliation are the reference's.
func Ed25519Algorithm(kind core.ProofKind) string {
	switch kind {
	case core.ProofAuthorization:
		return "ed25519-authorization-v1"
	case core.ProofConfirmation:
		return "ed25519-v1"
	case core.ProofReconciliation:
		return "ed25519-reconciliation-v2"
	case core.ProofApproval:
		return "ed25519-approval-v1"
	}
	return ""
}

// PinnedKey is an off-host authority's public key for one kind of proof, as
// the owner configured it.
type PinnedKey struct {
	AuthorityID string
	Kind        core.ProofKind
	PublicKey   ed25519.PublicKey
	Active      bool // a retired key stays known, and verifies nothing
}

// ParsePin reads a pinned key as a configuration says it. Errors: core.ErrInvalid.
func ParsePin(authorityID, kind, publicKey string, active bool) (PinnedKey, error) {
	key, err := ParsePublicKey(publicKey)
	return PinnedKey{AuthorityID: authorityID, Kind: core.ProofKind(kind), PublicKey: key, Active: active}, err
}

// ParsePublicKey reads 64 lower-case hexadecimal digits. Errors: core.ErrInvalid.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize || hex.EncodeToString(key) != text {
		return nil, fmt.Errorf("%w: a public key is 64 lower-case hexadecimal digits", core.ErrInvalid)
	}
	return key, nil
}

// Pinned verifies off-host signatures with pinned public keys. It implements
// core.Verifier, holds no secret, and never changes.
type Pinned struct{ keys map[pinName]PinnedKey }

type pinName struct {
	kind        core.ProofKind
	authorityID string
}

// NewPinned refuses, with core.ErrInvalid, malformed names and keys, two keys
// under one name, and one key for two purposes: keys never cross kinds.
func NewPinned(keys ...PinnedKey) (*Pinned, error) {
	p := &Pinned{keys: map[pinName]PinnedKey{}}
	owners := map[string]pinName{}
	for _, key := range keys {
		name := pinName{key.Kind, key.AuthorityID}
		public := string(key.PublicKey)
		if !core.ValidIdentifier(key.AuthorityID) || Ed25519Algorithm(key.Kind) == "" {
			return nil, fmt.Errorf("%w: name or kind of a pinned authority", core.ErrInvalid)
		}
		if len(public) != ed25519.PublicKeySize || public == string(make([]byte, ed25519.PublicKeySize)) {
			return nil, fmt.Errorf("%w: public key of %s", core.ErrInvalid, key.AuthorityID)
		}
		if _, taken := p.keys[name]; taken {
			return nil, fmt.Errorf("%w: %s is pinned twice for %s", core.ErrInvalid, key.AuthorityID, key.Kind)
		}
		if other, taken := owners[public]; taken {
			return nil, fmt.Errorf("%w: %s for %s has the key of %s for %s", core.ErrInvalid,
				key.AuthorityID, key.Kind, other.authorityID, other.kind)
		}
		key.PublicKey = ed25519.PublicKey(public)
		p.keys[name], owners[public] = key, name
	}
	return p, nil
}

// Verify implements core.Verifier: a known, active authority of this kind, the
// kind's exact algorithm name, and a signature over exactly payload. Errors
// wrap core.ErrProof and do not say which of these failed.
func (p *Pinned) Verify(_ context.Context, kind core.ProofKind, authorityID, algorithm string, payload, proof []byte) error {
	key, known := p.keys[pinName{kind, authorityID}]
	if !known || !key.Active || algorithm != Ed25519Algorithm(kind) || !ed25519.Verify(key.PublicKey, payload, proof) {
		return core.ErrProof
	}
	return nil
}
