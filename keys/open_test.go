package keys

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"countersign/core"
)

func TestOpenRing(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "ring")
	if _, _, err := OpenRing(ctx, "file:"+dir, "store-1", "", nil); !errors.Is(err, ErrNoService) {
		t.Errorf("before init: %v", err)
	}
	ring, closer, err := InitRing(ctx, "file:"+dir, "store-1", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ring.Create(ctx, "anchor", []byte("5")), closer.Close()); err != nil {
		t.Fatal(err)
	}
	ring, closer, err = OpenRing(ctx, "file:"+dir, "store-1", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ring.Get(ctx, "anchor"); string(got) != "5" || err != nil {
		t.Errorf("read %q (%v)", got, err)
	}
	if err := closer.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := OpenRing(ctx, "file:"+dir, "store-2", "", nil); !errors.Is(err, ErrNoService) {
		t.Errorf("another store's: %v", err)
	}
}

func TestOpenRingWrapped(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "ring")
	secret := []byte("correct horse")
	_, closer, err := chooseRing(ctx, "file:"+dir, "store-1", "", secret,
		func(ctx context.Context, c FileRingConfig, passphrase []byte) (*FileRing, error) {
			c.Cost = cheap
			return InitFileRing(ctx, c, passphrase)
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := closer.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(secret, make([]byte, len(secret))) {
		t.Error("the passphrase was left in memory")
	}
	for name, c := range map[string]struct {
		passphrase string
		class      error
	}{"none": {"", ErrLocked}, "wrong": {"battery staple", core.ErrWrongPassphrase}, "right": {"correct horse", nil}} {
		_, closer, err := OpenRing(ctx, "file:"+dir, "store-1", "", []byte(c.passphrase))
		if !errors.Is(err, c.class) {
			t.Errorf("%s: %v", name, err)
		}
		if (closer == nil) != (err != nil) {
			t.Errorf("%s: closer %v with %v", name, closer, err)
		}
	}
}

func TestOpenRingSpecs(t *testing.T) {
	ctx := context.Background()
	for _, spec := range []string{"", "OS", "os:", "file:", "file:relative", "file", "pass:x", "file:~/ring"} {
		secret := []byte("correct horse")
		if ring, _, err := OpenRing(ctx, spec, "store-1", "", secret); !errors.Is(err, core.ErrInvalid) || ring != nil {
			t.Errorf("%q: %v", spec, err)
		}
		if secret[0] != 0 {
			t.Errorf("%q: the passphrase was left in memory", spec)
		}
	}
	for _, open := range []func(context.Context, string, string, string, []byte) (Keyring, error){
		func(ctx context.Context, a, b, c string, p []byte) (Keyring, error) {
			r, _, err := OpenRing(ctx, a, b, c, p)
			return r, err
		},
		func(ctx context.Context, a, b, c string, p []byte) (Keyring, error) {
			r, _, err := InitRing(ctx, a, b, c, p)
			return r, err
		},
	} {
		ring, err := open(ctx, "os", "store-1", "/nowhere/lock", nil)
		if _, isOS := ring.(*OSRing); !isOS || err != nil {
			t.Errorf("os: %T (%v)", ring, err)
		}
		if _, err := open(ctx, "os", "bad store", "", nil); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("bad store id: %v", err)
		}
		if _, err := open(ctx, "os", "store-1", "", []byte("correct horse")); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("passphrase for the os keyring: %v", err)
		}
	}
}

// attemptRows is an AttemptLog in memory.
type attemptRows struct {
	results []string
	last    time.Time
	fail    error
}

func (a *attemptRows) PassphraseFailures(context.Context, string) (int, time.Time, error) {
	count := 0
	for _, r := range a.results {
		if count++; r == "opened" {
			count = 0
		}
	}
	return count, a.last, a.fail
}

func (a *attemptRows) RecordPassphrase(_ context.Context, _, result string, at time.Time) error {
	a.results, a.last = append(a.results, result), at
	return a.fail
}

// Failures outlive the process, and a log that cannot be used closes the way in.
func TestStoredAttempts(t *testing.T) {
	ctx, rows, clock := context.Background(), &attemptRows{}, newTestClock()
	ring, pins := newMemRing(), testPins{}
	make := func() *Operators {
		return NewOperators(OperatorConfig{Ring: ring, StoreID: "store-1", Pins: pins, Attempts: StoredAttempts(rows),
			Clock: clock, Sleep: clock.Sleep, Random: newTestRandom("attempts"), Cost: cheap})
	}
	pin, err := make().Enrol(ctx, "jo", []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	pins["jo"] = pin
	for range 3 { // each time another process
		if _, err := make().Unlock(ctx, "jo", []byte("battery staple")); !errors.Is(err, core.ErrWrongPassphrase) {
			t.Fatal(err)
		}
	}
	if wait, err := make().RetryAfter(ctx, "jo"); err != nil || wait != 4*time.Second {
		t.Errorf("after three failures the wait is %v (%v)", wait, err)
	}
	authority, err := make().Unlock(ctx, "jo", []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	authority.Close()
	if wait, err := make().RetryAfter(ctx, "jo"); err != nil || wait != 0 {
		t.Errorf("after a good one the wait is %v (%v)", wait, err)
	}
	rows.fail = core.ErrQuarantined
	if _, err := make().Unlock(ctx, "jo", []byte("correct horse")); !errors.Is(err, core.ErrQuarantined) {
		t.Errorf("with a bad log: %v", err)
	}
}
