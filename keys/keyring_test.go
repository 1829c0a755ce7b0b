package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"countersign/core"
)

// ringContract is what every Keyring must do, whatever is behind it.
func ringContract(t *testing.T, ring Keyring) {
	ctx := context.Background()
	is := func(err, class error) {
		t.Helper()
		var typed *RingError
		if !errors.Is(err, class) || !errors.As(err, &typed) {
			t.Fatalf("got %v, want a RingError of class %v", err, class)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	holds := func(name string, want []byte) {
		t.Helper()
		got, err := ring.Get(ctx, name)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s holds another value (%v)", name, err)
		}
	}
	binary := []byte{0, 1, 0xff, '\n', 0, 'x'}

	_, err := ring.Get(ctx, "operator/jo")
	is(err, ErrNotFound)
	is(ring.Delete(ctx, "operator/jo"), ErrNotFound)
	is(ring.Replace(ctx, "operator/jo", binary, binary), ErrNotFound)

	ok(ring.Create(ctx, "operator/jo", binary))
	holds("operator/jo", binary)
	is(ring.Create(ctx, "operator/jo", []byte("other")), ErrExists)
	is(ring.Create(ctx, "operator/jo", binary), ErrExists)
	holds("operator/jo", binary)

	is(ring.Replace(ctx, "operator/jo", []byte("other"), []byte("new")), ErrChanged)
	holds("operator/jo", binary)
	ok(ring.Replace(ctx, "operator/jo", binary, []byte("new")))
	holds("operator/jo", []byte("new"))

	largest := bytes.Repeat([]byte{0xa5}, MaxSecret)
	ok(ring.Create(ctx, "operator", largest)) // a name that is the beginning of another
	holds("operator", largest)
	holds("operator/jo", []byte("new"))
	is(ring.Create(ctx, "too-large", append(largest, 0)), ErrTooLarge)
	is(ring.Create(ctx, "empty", nil), core.ErrInvalid)
	is(ring.Replace(ctx, "operator/jo", []byte("new"), nil), core.ErrInvalid)
	for _, name := range []string{"", "/", "a/", "/a", "..", "../a", "a/../b", "a b", "a\x00", ".wrap", "-a", "a+b",
		"a\n", "é", strings.Repeat("a", 201)} {
		_, err := ring.Get(ctx, name)
		is(err, core.ErrInvalid)
		is(ring.Create(ctx, name, binary), core.ErrInvalid)
		is(ring.Replace(ctx, name, binary, binary), core.ErrInvalid)
		is(ring.Delete(ctx, name), core.ErrInvalid)
	}

	ok(ring.Delete(ctx, "operator"))
	_, err = ring.Get(ctx, "operator")
	is(err, ErrNotFound)
	holds("operator/jo", []byte("new"))

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = ring.Get(cancelled, "operator/jo")
	is(err, context.Canceled)
	is(ring.Delete(cancelled, "operator/jo"), context.Canceled)
	holds("operator/jo", []byte("new"))

	ringRaces(t, ring)
}

// ringRaces: of many at once, exactly one creates, and no step of a counter is lost.
func ringRaces(t *testing.T, ring Keyring) {
	ctx := context.Background()
	const n = 8
	won := make(chan string, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			mine := fmt.Sprintf("key of %d", i)
			if err := ring.Create(ctx, "race", []byte(mine)); err == nil {
				won <- mine
			} else if !errors.Is(err, ErrExists) {
				t.Errorf("create: %v", err)
			}
		})
	}
	wait.Wait()
	if len(won) != 1 {
		t.Fatalf("%d of %d created the item", len(won), n)
	}
	if got, err := ring.Get(ctx, "race"); err != nil || string(got) != <-won {
		t.Fatalf("the item is not the winner's (%v)", err)
	}

	anchor := NewRingAnchor(ring)
	if err := anchor.Provision(ctx, 0); err != nil {
		t.Fatal(err)
	}
	for range n {
		wait.Go(func() {
			for {
				now, err := anchor.Read(ctx)
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				if _, err = anchor.Advance(ctx, now); err == nil {
					return
				} else if !errors.Is(err, ErrChanged) {
					t.Errorf("advance: %v", err)
					return
				}
			}
		})
	}
	wait.Wait()
	if now, err := anchor.Read(ctx); err != nil || now != n {
		t.Fatalf("the anchor shows %d after %d steps (%v)", now, n, err)
	}
}

func TestRingErrorsNameTheirClassAndNothingElse(t *testing.T) {
	for _, class := range []error{ErrNotFound, ErrLocked, ErrNoService, ErrTimeout, ErrTooLarge, ErrDenied, ErrExists,
		ErrChanged, ErrCorrupt, core.ErrInvalid, core.ErrWrongPassphrase, ErrPassphrase, context.Canceled} {
		err := ringError("read", "integrity-key", fmt.Errorf("canary-7731: %w", class))
		if !errors.Is(err, class) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v became %v", class, err)
		}
		for _, other := range []error{ErrNotFound, ErrLocked, ErrNoService, ErrTimeout} {
			if other != class && errors.Is(err, other) {
				t.Errorf("%v is also %v", class, other)
			}
		}
	}
	err := ringError("read", "anchor", errors.New("canary-7731: something unheard of"))
	if !errors.Is(err, ErrNoService) || errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), "canary") {
		t.Errorf("an unknown answer became %v", err)
	}
	if err := ringError("read", "anchor", context.DeadlineExceeded); !errors.Is(err, ErrTimeout) {
		t.Errorf("a deadline became %v", err)
	}
	inner := refused(ErrDenied, "it is a symbolic link")
	if got := ringError("open", "", inner).Error(); got != "keyring: open: access refused (it is a symbolic link)" {
		t.Errorf("got %q", got)
	}
}
