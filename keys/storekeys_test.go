package keys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/core"
)

func TestInitStoreKeys(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	made := must[StoreKeys](t)(InitStoreKeys(ctx, ring, StoreKeyConfig{Random: newTestRandom("x")}))
	if made.Integrity.Len() != 32 || made.Artifact.Len() != 32 || made.Integrity.Equal(made.Artifact.Bytes()) {
		t.Fatal("the keys are not two of 256 bits")
	}
	if !strings.HasPrefix(made.ArtifactKeyID, "artifact-") || !core.ValidIdentifier(made.ArtifactKeyID) {
		t.Fatalf("key id %q", made.ArtifactKeyID)
	}
	for range 2 {
		read := must[StoreKeys](t)(LoadStoreKeys(ctx, ring))
		if !read.Integrity.Equal(made.Integrity.Bytes()) || !read.Artifact.Equal(made.Artifact.Bytes()) ||
			read.ArtifactKeyID != made.ArtifactKeyID {
			t.Fatal("other keys came back")
		}
		read.Clear()
	}
	before := must[[]byte](t)(ring.Get(ctx, ItemIntegrityKey))
	if _, err := InitStoreKeys(ctx, ring, StoreKeyConfig{Random: newTestRandom("y")}); !errors.Is(err, ErrExists) {
		t.Fatalf("a second init: %v", err)
	}
	if after := must[[]byte](t)(ring.Get(ctx, ItemIntegrityKey)); !bytes.Equal(before, after) {
		t.Fatal("a second init changed the key")
	}
}

func TestLoadStoreKeysNeverMakesAny(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	if _, err := LoadStoreKeys(ctx, ring); !errors.Is(err, ErrNotFound) || len(ring.items) != 0 {
		t.Fatalf("got %v, %d items", err, len(ring.items))
	}
}

// A locked keyring must never mint a second key (design section 7).
func TestInitStoreKeysStopsAtEveryOtherAnswer(t *testing.T) {
	ctx := context.Background()
	for _, class := range []error{ErrLocked, ErrNoService, ErrTimeout, ErrTooLarge, ErrDenied, ErrCorrupt} {
		for _, item := range []string{ItemIntegrityKey, ItemArtifactKey} {
			ring := newMemRing()
			ring.fail = func(op, name string) error {
				if op == "read" && name == item {
					return class
				}
				return nil
			}
			_, err := InitStoreKeys(ctx, ring, StoreKeyConfig{Random: newTestRandom("x")})
			if !errors.Is(err, class) || len(ring.items) != 0 {
				t.Errorf("%v at %s: got %v, %d items made", class, item, err, len(ring.items))
			}
			if _, err := LoadStoreKeys(ctx, ring); err == nil {
				t.Errorf("%v at %s: loaded", class, item)
			}
		}
	}
	for _, present := range []string{ItemIntegrityKey, ItemArtifactKey} {
		ring := newMemRing()
		ring.items[present] = []byte("old")
		_, err := InitStoreKeys(ctx, ring, StoreKeyConfig{Random: newTestRandom("x")})
		if !errors.Is(err, ErrExists) || len(ring.items) != 1 || string(ring.items[present]) != "old" {
			t.Errorf("with %s there: got %v", present, err)
		}
	}
}

// An init that breaks off leaves nothing of its own, and nothing less of others'.
func TestInitStoreKeysTakesBack(t *testing.T) {
	ctx := context.Background()
	failCreate := func(item string, err error) func(op, name string) error {
		return func(op, name string) error {
			if op == "create" && name == item {
				return err
			}
			return nil
		}
	}
	for _, item := range []string{ItemIntegrityKey, ItemArtifactKey} {
		ring := newMemRing()
		ring.fail = failCreate(item, ErrDenied)
		if _, err := InitStoreKeys(ctx, ring, StoreKeyConfig{Random: newTestRandom("x")}); !errors.Is(err, ErrDenied) ||
			len(ring.items) != 0 {
			t.Errorf("%s denied: got %v, %d items left", item, err, len(ring.items))
		}
	}

	lost := newMemRing() // the creation takes effect, its answer is lost
	lost.fail = func(op, name string) error {
		if op == "create" && name == ItemArtifactKey {
			raw, _ := encodeExact(must[[]keyItem](t)(newStoreKeys(StoreKeyConfig{Random: newTestRandom("x")}))[1])
			lost.items[name] = raw
			return ErrTimeout
		}
		return nil
	}
	if _, err := InitStoreKeys(ctx, lost, StoreKeyConfig{Random: newTestRandom("x")}); !errors.Is(err, ErrTimeout) ||
		len(lost.items) != 0 {
		t.Errorf("lost answer: got %v, %d items left", err, len(lost.items))
	}

	raced := newMemRing() // another process was faster with the second key
	theirs, _ := encodeExact(keyItem{Key: bytes.Repeat([]byte{7}, 32), KeyID: "theirs", Kind: ItemArtifactKey, Version: 1})
	raced.fail = func(op, name string) error {
		if op == "create" && name == ItemArtifactKey {
			raced.items[name] = theirs
		}
		return nil
	}
	if _, err := InitStoreKeys(ctx, raced, StoreKeyConfig{Random: newTestRandom("x")}); !errors.Is(err, ErrExists) ||
		!bytes.Equal(raced.items[ItemArtifactKey], theirs) || len(raced.items) != 1 {
		t.Errorf("raced: got %v, %d items", err, len(raced.items))
	}
}

func TestInitStoreKeysImports(t *testing.T) {
	ctx := context.Background()
	key := func(n int) Secret { return NewSecret(bytes.Repeat([]byte{0x11}, n)) }
	ring := newMemRing()
	made := must[StoreKeys](t)(InitStoreKeys(ctx, ring, StoreKeyConfig{
		Random: newTestRandom("x"), IntegrityKey: key(48), ArtifactKey: key(32), ArtifactKeyID: "enc-1",
	}))
	if made.Integrity.Len() != 48 || made.ArtifactKeyID != "enc-1" {
		t.Fatalf("got %d bytes, %s", made.Integrity.Len(), made.ArtifactKeyID)
	}
	for name, c := range map[string]StoreKeyConfig{
		"short integrity key": {IntegrityKey: key(31)},
		"long integrity key":  {IntegrityKey: key(129)},
		"short artifact key":  {ArtifactKey: key(31), ArtifactKeyID: "enc-1"},
		"long artifact key":   {ArtifactKey: key(33), ArtifactKeyID: "enc-1"},
		"no key id":           {ArtifactKey: key(32)},
		"bad key id":          {ArtifactKey: key(32), ArtifactKeyID: "enc 1"},
	} {
		c.Random = newTestRandom("x")
		ring := newMemRing()
		if _, err := InitStoreKeys(ctx, ring, c); !errors.Is(err, core.ErrInvalid) || ring.calls != 0 {
			t.Errorf("%s: got %v after %d calls", name, err, ring.calls)
		}
	}
	if _, err := InitStoreKeys(ctx, newMemRing(), StoreKeyConfig{Random: bytes.NewReader(make([]byte, 71))}); err == nil {
		t.Error("made keys without enough randomness")
	}
}

func TestLoadStoreKeysRefusesWhatIsNotItsKey(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	must[StoreKeys](t)(InitStoreKeys(ctx, ring, StoreKeyConfig{Random: newTestRandom("x")}))
	integrity, artifact := ring.items[ItemIntegrityKey], ring.items[ItemArtifactKey]
	short, _ := json.Marshal(keyItem{Key: make([]byte, 31), KeyID: "integrity", Kind: ItemIntegrityKey, Version: 1})
	for name, raw := range map[string][]byte{
		"the other key": artifact, "cut": integrity[1:], "short": short, "newline": append(bytes.Clone(integrity), '\n'),
		"newer": bytes.Replace(integrity, []byte(`"v":1`), []byte(`"v":2`), 1), "raw bytes": make([]byte, 32),
	} {
		ring.items[ItemIntegrityKey] = raw
		if _, err := LoadStoreKeys(ctx, ring); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAPIKey(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	if _, err := LoadAPIKey(ctx, ring, "fw1"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	for _, key := range []string{"0123456789abcdef", "another"} {
		if err := SetAPIKey(ctx, ring, "fw1", []byte(key)); err != nil {
			t.Fatal(err)
		}
		if got := must[Secret](t)(LoadAPIKey(ctx, ring, "fw1")); !got.Equal([]byte(key)) {
			t.Fatal("another key came back")
		}
	}
	if _, err := LoadAPIKey(ctx, ring, "fw2"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("another appliance: %v", err)
	}
	for name, key := range map[string]string{"empty": "", "newline": "abc\n", "space": "a b", "not ASCII": "clé",
		"too long": strings.Repeat("x", maxAPIKey+1), "header split": "a\r\nX-Evil: 1"} {
		if err := SetAPIKey(ctx, ring, "fw1", []byte(key)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ring.items[ItemAPIKey("fw1")] = []byte("a b")
	if _, err := LoadAPIKey(ctx, ring, "fw1"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
	ring.fail = func(op, _ string) error { return ErrLocked }
	if err := SetAPIKey(ctx, ring, "fw1", []byte("key")); !errors.Is(err, ErrLocked) {
		t.Errorf("locked: %v", err)
	}
}
