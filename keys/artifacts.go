package keys

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"countersign/canon"
	"countersign/core"
)

// ArtifactAlgorithm is the one name a protected artifact may carry.
const ArtifactAlgorithm = "aes-256-gcm-v1"

// artifactDomain is the first frame of the associated data (design section 7).
const artifactDomain = "pfSense-MCP/Tier1/ArtifactAEAD/v1"

const (
	nonceSize = 12
	tagSize   = 16
	// maxSeals is how many artifacts one Sealer makes, a fuse far below the
	// 2^32 that NIST SP 800-38D allows one key with random nonces; see
	// docs/decisions/0003-artifact-nonces.md.
	maxSeals = 1 << 24
)

// Why an artifact is refused, or cannot be made.
var (
	// ErrArtifactKey: the key is not 32 bytes, or not the one the artifact names.
	ErrArtifactKey = errors.New("artifact: not the key it was sealed with")
	// ErrArtifactAlgorithm: any other name than ArtifactAlgorithm, exactly.
	ErrArtifactAlgorithm = errors.New("artifact: unknown algorithm")
	// ErrArtifactLength: too short to hold nonce and tag.
	ErrArtifactLength = errors.New("artifact: too short")
	// ErrArtifactAuthentication: changed, or of another contract or role.
	ErrArtifactAuthentication = errors.New("artifact: refused by its authentication tag")
	// ErrArtifactNonce: a nonce part out of range, or this Sealer has made all it may.
	ErrArtifactNonce = errors.New("artifact: no nonce left")
)

// Sealer protects target, intent and snapshot with AES-256-GCM in the
// reference's layout: 12 bytes of nonce, then ciphertext and tag; associated
// data framed over the domain, the contract's id and the role. It implements
// core.Sealer and is safe for concurrent use.
type Sealer struct {
	aead   cipher.AEAD
	keyID  string
	random io.Reader
	sealed atomic.Uint64
}

// NewSealer uses a 32-byte key that records name keyID. random gives the
// nonces and must be cryptographic (crypto/rand.Reader) and safe for
// concurrent use. Errors: ErrArtifactKey, core.ErrInvalid.
func NewSealer(key Secret, keyID string, random io.Reader) (*Sealer, error) {
	if key.Len() != keySize {
		return nil, ErrArtifactKey
	}
	if !core.ValidIdentifier(keyID) {
		return nil, fmt.Errorf("%w: key id", core.ErrInvalid)
	}
	block, err := aes.NewCipher(key.Bytes())
	if err != nil {
		return nil, ErrArtifactKey
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, ErrArtifactKey
	}
	return &Sealer{aead: aead, keyID: keyID, random: random}, nil
}

// Seal encrypts plaintext for one role of one contract, under a fresh random
// nonce. Errors: ErrArtifactNonce, core.ErrInvalid, or the random source's.
func (s *Sealer) Seal(_ context.Context, contractID string, role core.Role, plaintext []byte) (core.Artifact, error) {
	if !core.ValidIdentifier(contractID) || !knownRole(role) {
		return core.Artifact{}, fmt.Errorf("%w: contract id or role", core.ErrInvalid)
	}
	if s.sealed.Add(1) > maxSeals {
		return core.Artifact{}, ErrArtifactNonce
	}
	nonce := make([]byte, nonceSize, nonceSize+len(plaintext)+tagSize)
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return core.Artifact{}, fmt.Errorf("random source: %w", err)
	}
	return core.Artifact{
		Algorithm:  ArtifactAlgorithm,
		KeyID:      s.keyID,
		Ciphertext: s.aead.Seal(nonce, nonce, plaintext, artifactAAD(contractID, role)),
	}, nil
}

// Open decrypts an artifact of exactly this contract and role. Errors are the
// ErrArtifact classes, and say nothing about the content.
func (s *Sealer) Open(_ context.Context, contractID string, role core.Role, a core.Artifact) ([]byte, error) {
	switch {
	case a.Algorithm != ArtifactAlgorithm:
		return nil, ErrArtifactAlgorithm
	case a.KeyID != s.keyID:
		return nil, ErrArtifactKey
	case len(a.Ciphertext) <= nonceSize:
		return nil, ErrArtifactLength
	}
	nonce, sealed := a.Ciphertext[:nonceSize], a.Ciphertext[nonceSize:]
	plaintext, err := s.aead.Open(nil, nonce, sealed, artifactAAD(contractID, role))
	if err != nil {
		return nil, ErrArtifactAuthentication
	}
	return plaintext, nil
}

// CounterNonce is the reference's nonce: an epoch of four bytes and a counter
// of eight, both big-endian, given in decimal. To Open they are twelve opaque
// bytes, and Seal draws its own at random; this is for checking what the
// reference wrote. Errors: ErrArtifactNonce if a part is out of range.
func CounterNonce(epoch, counter string) ([]byte, error) {
	e, err1 := strconv.ParseUint(epoch, 10, 32)
	c, err2 := strconv.ParseUint(counter, 10, 64)
	if err1 != nil || err2 != nil {
		return nil, ErrArtifactNonce
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(e)), c), nil
}

func artifactAAD(contractID string, role core.Role) []byte {
	return canon.FrameStrings(artifactDomain, contractID, string(role))
}

func knownRole(role core.Role) bool {
	return role == core.RoleTargetIdentity || role == core.RoleIntent || role == core.RoleSnapshot
}
