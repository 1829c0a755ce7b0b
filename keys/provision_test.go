package keys

import (
	"context"
	"errors"
	"testing"

	"countersign/core"
)

func TestProvision(t *testing.T) {
	ring, ctx := newMemRing(), context.Background()
	k, takeBack, err := Provision(ctx, ring, newTestRandom("provision"), "fw1.example.net", []byte("a-key"))
	if err != nil {
		t.Fatal(err)
	}
	loaded := must[StoreKeys](t)(LoadStoreKeys(ctx, ring))
	if !loaded.Integrity.Equal(k.Integrity.Bytes()) || !loaded.Artifact.Equal(k.Artifact.Bytes()) {
		t.Error("the keys in the keyring are not those that were returned")
	}
	if key := must[Secret](t)(LoadAPIKey(ctx, ring, "fw1.example.net")); !key.Equal([]byte("a-key")) {
		t.Error("another API key is kept")
	}
	if n, err := NewRingAnchor(ring).Read(ctx); n != 0 || err != nil {
		t.Errorf("the counter shows %d (%v)", n, err)
	}
	if _, _, err := Provision(ctx, ring, newTestRandom("again"), "fw1.example.net", []byte("b-key")); !errors.Is(err, ErrExists) || len(ring.items) != 4 {
		t.Errorf("provisioned again: %v, %d items", err, len(ring.items))
	}
	if err := takeBack(); err != nil || len(ring.items) != 0 {
		t.Errorf("taken back: %v, %d items are left", err, len(ring.items))
	}
}

// Whichever item cannot be made, none is left behind.
func TestProvisionIsWholeOrNothing(t *testing.T) {
	for _, item := range []string{ItemIntegrityKey, ItemArtifactKey, ItemAPIKey("fw1.example.net"), ItemAnchor} {
		ring := newMemRing()
		ring.fail = func(op, name string) error {
			if op == "create" && name == item {
				return ErrDenied
			}
			return nil
		}
		_, _, err := Provision(context.Background(), ring, newTestRandom(item), "fw1.example.net", []byte("a-key"))
		if !errors.Is(err, ErrDenied) || len(ring.items) != 0 {
			t.Errorf("without %s: %v, %d items are left", item, err, len(ring.items))
		}
	}
	ring := newMemRing()
	if _, _, err := Provision(context.Background(), ring, newTestRandom("bad"), "fw1.example.net", []byte("a key")); !errors.Is(err, core.ErrInvalid) || len(ring.items) != 0 {
		t.Errorf("a key with a blank: %v, %d items are left", err, len(ring.items))
	}
}
