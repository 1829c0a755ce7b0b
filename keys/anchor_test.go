package keys

import (
	"context"
	"errors"
	"testing"

	"countersign/core"
)

var _ core.Anchor = (*RingAnchor)(nil)

func TestAnchor(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	anchor := NewRingAnchor(ring)
	if _, err := anchor.Read(ctx); !errors.Is(err, core.ErrAnchor) || !errors.Is(err, ErrNotFound) {
		t.Fatalf("not provisioned: %v", err)
	}
	if _, err := anchor.Advance(ctx, 0); !errors.Is(err, core.ErrAnchor) || len(ring.items) != 0 {
		t.Fatalf("advanced out of nothing: %v", err)
	}
	if err := anchor.Provision(ctx, 4); err != nil {
		t.Fatal(err)
	}
	for _, again := range []uint64{0, 4, 5} {
		if err := anchor.Provision(ctx, again); !errors.Is(err, ErrExists) || !errors.Is(err, core.ErrAnchor) {
			t.Fatalf("provisioned twice: %v", err)
		}
	}
	for _, wrong := range []uint64{0, 3, 5, MaxAnchor - 1} {
		if _, err := anchor.Advance(ctx, wrong); !errors.Is(err, ErrChanged) || !errors.Is(err, core.ErrAnchor) || !errors.Is(err, core.ErrRolledBackStore) {
			t.Fatalf("advanced from %d: %v", wrong, err)
		}
	}
	if n, err := anchor.Advance(ctx, 4); n != 5 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if n, err := anchor.Read(ctx); n != 5 || err != nil || string(ring.items[ItemAnchor]) != "5" {
		t.Fatalf("got %d, %v", n, err)
	}
}

func TestAnchorLimits(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	anchor := NewRingAnchor(ring)
	if err := anchor.Provision(ctx, MaxAnchor+1); !errors.Is(err, core.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	if err := anchor.Provision(ctx, MaxAnchor-1); err != nil {
		t.Fatal(err)
	}
	if n, err := anchor.Advance(ctx, MaxAnchor-1); n != MaxAnchor || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if _, err := anchor.Advance(ctx, MaxAnchor); !errors.Is(err, core.ErrAnchor) {
		t.Fatalf("went past the end: %v", err)
	}
}

// Lesson 14: "05" and "+5" are not 5.
func TestAnchorIsReadExactly(t *testing.T) {
	ring := newMemRing()
	for _, text := range []string{"", "05", "+5", "-1", " 5", "5\n", "5 ", "5.0", "0x5", "5_0", "five", "００", "٥",
		"9223372036854775808", "18446744073709551616"} {
		ring.items[ItemAnchor] = []byte(text)
		if _, err := NewRingAnchor(ring).Read(context.Background()); !errors.Is(err, ErrCorrupt) || !errors.Is(err, core.ErrAnchor) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// A lost answer is settled by reading again.
func TestAnchorLostAnswer(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	anchor := NewRingAnchor(ring)
	if err := anchor.Provision(ctx, 7); err != nil {
		t.Fatal(err)
	}
	for _, moved := range []bool{false, true} {
		ring.fail = func(op, name string) error {
			if op != "replace" {
				return nil
			}
			if moved {
				ring.items[name] = []byte("8")
			}
			return ErrTimeout
		}
		if _, err := anchor.Advance(ctx, 7); !errors.Is(err, core.ErrAnchor) || !errors.Is(err, ErrTimeout) {
			t.Fatalf("got %v", err)
		}
		want := map[bool]uint64{false: 7, true: 8}[moved]
		if n, err := anchor.Read(ctx); n != want || err != nil {
			t.Fatalf("moved %v: reads %d, %v", moved, n, err)
		}
	}
}
