package keys

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"countersign/core"
)

// The names of the items of a store.
const (
	ItemIntegrityKey = "integrity-key"
	ItemArtifactKey  = "artifact-key"
	ItemAnchor       = "anchor"
)

// ItemAPIKey names the REST API key for one appliance, by its configured name.
func ItemAPIKey(appliance string) string { return "api-key/" + appliance }

// ItemOperator names an operator's wrapped confirmation key.
func ItemOperator(operator string) string { return "operator/" + operator }

// ItemSigningKey names an off-host signer's wrapped key.
func ItemSigningKey(authority string) string { return "signing-key/" + authority }

const (
	keySize         = 32
	maxIntegrityKey = 128 // an imported one may be longer than ours
	maxAPIKey       = 512
)

// StoreKeys are the two keys a store cannot be opened without.
type StoreKeys struct {
	Integrity     Secret // HMAC key over every record, at least 256 bits (seed 003, Persistence)
	Artifact      Secret // AES-256 key of protected artifacts
	ArtifactKeyID string // names Artifact in records
}

// Clear overwrites both keys.
func (k StoreKeys) Clear() { k.Integrity.Clear(); k.Artifact.Clear() }

// StoreKeyConfig is what InitStoreKeys needs. Keys that are given are imported,
// to open a store that exists already; the others are drawn from Random.
type StoreKeyConfig struct {
	Random        io.Reader
	IntegrityKey  Secret // 32 to 128 bytes, or empty
	ArtifactKey   Secret // 32 bytes, or empty
	ArtifactKeyID string // with ArtifactKey
}

// keyItem is a key as it is kept, with its kind, so that one cannot stand in
// for the other.
type keyItem struct {
	Key     []byte `json:"key"`
	KeyID   string `json:"key_id"`
	Kind    string `json:"kind"`
	Version int    `json:"v"`
}

// InitStoreKeys makes a store's keys: the deliberate act, and the only one,
// that does (design section 7). It refuses with ErrExists if either is there,
// and takes back what it made if it cannot finish. Every other answer of the
// keyring than "not found" stops it before anything is made.
func InitStoreKeys(ctx context.Context, ring Keyring, c StoreKeyConfig) (StoreKeys, error) {
	items, err := newStoreKeys(c)
	if err != nil {
		return StoreKeys{}, err
	}
	for _, item := range items {
		if err := requireAbsent(ctx, ring, item.Kind); err != nil {
			return StoreKeys{}, err
		}
	}
	for i, item := range items {
		if err := createKey(ctx, ring, item); err != nil {
			return StoreKeys{}, errors.Join(err, takeBack(ctx, ring, items[:i+1]))
		}
	}
	return LoadStoreKeys(ctx, ring)
}

// LoadStoreKeys reads both keys and never makes one. Errors have the
// keyring's classes; ErrNotFound if the store was not initialised here.
func LoadStoreKeys(ctx context.Context, ring Keyring) (StoreKeys, error) {
	integrity, err := loadKey(ctx, ring, ItemIntegrityKey)
	if err != nil {
		return StoreKeys{}, err
	}
	artifact, err := loadKey(ctx, ring, ItemArtifactKey)
	if err != nil {
		return StoreKeys{}, err
	}
	return StoreKeys{ownSecret(integrity.Key), ownSecret(artifact.Key), artifact.KeyID}, nil
}

func newStoreKeys(c StoreKeyConfig) ([]keyItem, error) {
	integrity := keyItem{Key: c.IntegrityKey.Bytes(), KeyID: "integrity", Kind: ItemIntegrityKey, Version: 1}
	artifact := keyItem{Key: c.ArtifactKey.Bytes(), KeyID: c.ArtifactKeyID, Kind: ItemArtifactKey, Version: 1}
	fresh := make([]byte, 2*keySize+8)
	if _, err := io.ReadFull(c.Random, fresh); err != nil {
		return nil, fmt.Errorf("random source: %w", err)
	}
	if len(integrity.Key) == 0 {
		integrity.Key = fresh[:keySize]
	}
	if len(artifact.Key) == 0 {
		artifact.Key = fresh[keySize : 2*keySize]
		artifact.KeyID = "artifact-" + hex.EncodeToString(fresh[2*keySize:])
	}
	items := []keyItem{integrity, artifact}
	for _, item := range items {
		if !item.valid(item.Kind) {
			return nil, fmt.Errorf("%w: %s has a wrong length or no key id", core.ErrInvalid, item.Kind)
		}
	}
	return items, nil
}

func (k keyItem) valid(kind string) bool {
	longest := keySize
	if kind == ItemIntegrityKey {
		longest = maxIntegrityKey
	}
	return k.Version == 1 && k.Kind == kind && core.ValidIdentifier(k.KeyID) &&
		len(k.Key) >= keySize && len(k.Key) <= longest
}

func requireAbsent(ctx context.Context, ring Keyring, item string) error {
	secret, err := ring.Get(ctx, item)
	clear(secret)
	switch {
	case err == nil:
		return &RingError{Op: "create", Item: item, Class: ErrExists}
	case errors.Is(err, ErrNotFound):
		return nil
	}
	return err
}

func createKey(ctx context.Context, ring Keyring, item keyItem) error {
	raw, err := encodeExact(item)
	defer clear(raw)
	if err != nil {
		return err
	}
	return ring.Create(ctx, item.Kind, raw)
}

// takeBack removes the keys of an unfinished init, also one whose creation got
// no answer, but nothing that another process made. The store that would need
// them was not made yet.
func takeBack(ctx context.Context, ring Keyring, made []keyItem) error {
	ctx = context.WithoutCancel(ctx)
	for _, item := range made {
		present, err := loadKey(ctx, ring, item.Kind)
		if err == nil && sameBytes(present.Key, item.Key) {
			err = ring.Delete(ctx, item.Kind)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

func loadKey(ctx context.Context, ring Keyring, kind string) (keyItem, error) {
	raw, err := ring.Get(ctx, kind)
	defer clear(raw)
	if err != nil {
		return keyItem{}, err
	}
	var item keyItem
	if decodeExact(raw, &item) != nil || !item.valid(kind) {
		return keyItem{}, &RingError{Op: "read", Item: kind, Class: ErrCorrupt}
	}
	return item, nil
}

// SetAPIKey keeps the API key for an appliance, in place of an earlier one.
// key is 1 to 512 visible ASCII characters, as an HTTP header can carry.
func SetAPIKey(ctx context.Context, ring Keyring, appliance string, key []byte) error {
	if !validAPIKey(key) {
		return fmt.Errorf("%w: an API key is 1 to 512 visible ASCII characters", core.ErrInvalid)
	}
	name := ItemAPIKey(appliance)
	old, err := ring.Get(ctx, name)
	defer clear(old)
	switch {
	case errors.Is(err, ErrNotFound):
		return ring.Create(ctx, name, key)
	case err != nil:
		return err
	}
	return ring.Replace(ctx, name, old, key)
}

// LoadAPIKey reads the API key for an appliance.
func LoadAPIKey(ctx context.Context, ring Keyring, appliance string) (Secret, error) {
	key, err := ring.Get(ctx, ItemAPIKey(appliance))
	if err != nil {
		return Secret{}, err
	}
	if !validAPIKey(key) {
		return Secret{}, &RingError{Op: "read", Item: ItemAPIKey(appliance), Class: ErrCorrupt}
	}
	return ownSecret(key), nil
}

func validAPIKey(key []byte) bool {
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(key) > 0 && len(key) <= maxAPIKey
}
