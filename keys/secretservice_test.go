package keys

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSecretService runs the contract of every keyring against a real, unlocked
// Secret Service:
//
//	dbus-run-session -- sh -c 'echo pw | gnome-keyring-daemon --unlock --components=secrets &&
//	    COUNTERSIGN_TEST_SECRET_SERVICE=1 go test ./keys -run SecretService -v'
func TestSecretService(t *testing.T) {
	needSecretService(t, "1")
	ring := must[*OSRing](t)(NewOSRing(OSRingConfig{
		StoreID: "test-" + rand.Text(), LockPath: filepath.Join(t.TempDir(), "lock"), Timeout: 20 * time.Second,
	}))
	t.Cleanup(func() {
		for _, item := range []string{"operator", "operator/jo", "race", "anchor"} {
			if err := ring.Delete(context.Background(), item); err != nil && !errors.Is(err, ErrNotFound) {
				t.Errorf("left behind: %v", err)
			}
		}
	})
	ringContract(t, ring)
}

// TestSecretServiceLocked needs one that nobody unlocked:
//
//	dbus-run-session -- sh -c 'gnome-keyring-daemon --start --components=secrets &&
//	    COUNTERSIGN_TEST_SECRET_SERVICE=locked go test ./keys -run SecretService -v'
func TestSecretServiceLocked(t *testing.T) {
	needSecretService(t, "locked")
	ctx := context.Background()
	ring := must[*OSRing](t)(NewOSRing(OSRingConfig{StoreID: "test-" + rand.Text()}))
	_, getErr := ring.Get(ctx, ItemIntegrityKey)
	_, initErr := InitStoreKeys(ctx, ring, StoreKeyConfig{Random: rand.Reader})
	createErr := ring.Create(ctx, ItemIntegrityKey, []byte("k"))
	for what, err := range map[string]error{"read": getErr, "init": initErr, "create": createErr} {
		if !errors.Is(err, ErrLocked) && !errors.Is(err, ErrTimeout) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func needSecretService(t *testing.T, kind string) {
	t.Helper()
	if os.Getenv("COUNTERSIGN_TEST_SECRET_SERVICE") != kind || os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		t.Skipf("needs a Secret Service: set COUNTERSIGN_TEST_SECRET_SERVICE=%s and run under dbus-run-session", kind)
	}
}
