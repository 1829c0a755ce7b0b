package keys

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"countersign/canon"
	"countersign/core"
)

// cheap makes wrapping fast enough for tests; production has DefaultCost.
var cheap = Cost{MemoryKiB: 8, Time: 1, Threads: 1}

// testRandom is an endless, repeatable stream of bytes.
type testRandom struct {
	mu    sync.Mutex
	seed  string
	count uint64
	rest  []byte
}

func newTestRandom(seed string) io.Reader { return &testRandom{seed: seed} }

func (r *testRandom) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := 0; n < len(p); {
		if len(r.rest) == 0 {
			block := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(r.seed), r.count))
			r.rest, r.count = block[:], r.count+1
		}
		k := copy(p[n:], r.rest)
		r.rest, n = r.rest[k:], n+k
	}
	return len(p), nil
}

// memRing is a Keyring in memory that can be told to fail.
type memRing struct {
	mu    sync.Mutex
	items map[string][]byte
	fail  func(op, name string) error // nil: never
	calls int
}

func newMemRing() *memRing { return &memRing{items: map[string][]byte{}} }

func (r *memRing) enter(op, name string) error {
	r.calls++
	if r.fail != nil {
		if err := r.fail(op, name); err != nil {
			return ringError(op, name, err)
		}
	}
	return nil
}

func (r *memRing) Get(_ context.Context, name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.enter("read", name); err != nil {
		return nil, err
	}
	secret, ok := r.items[name]
	if !ok {
		return nil, ringError("read", name, ErrNotFound)
	}
	return slices.Clone(secret), nil
}

func (r *memRing) Create(_ context.Context, name string, secret []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.enter("create", name); err != nil {
		return err
	}
	if _, ok := r.items[name]; ok {
		return ringError("create", name, ErrExists)
	}
	r.items[name] = slices.Clone(secret)
	return nil
}

func (r *memRing) Replace(_ context.Context, name string, old, new []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.enter("replace", name); err != nil {
		return err
	}
	present, ok := r.items[name]
	if !ok {
		return ringError("replace", name, ErrNotFound)
	}
	if !slices.Equal(present, old) {
		return ringError("replace", name, ErrChanged)
	}
	r.items[name] = slices.Clone(new)
	return nil
}

func (r *memRing) Delete(_ context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.enter("delete", name); err != nil {
		return err
	}
	if _, ok := r.items[name]; !ok {
		return ringError("delete", name, ErrNotFound)
	}
	delete(r.items, name)
	return nil
}

// testClock moves only when it is told to, or slept on.
type testClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newTestClock() *testClock {
	return &testClock{now: time.Date(2026, 9, 5, 12, 0, 0, 0, time.UTC)}
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.add(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	return nil
}

// testPins stands for the store's authenticated rows.
type testPins map[string]canon.Digest

func (p testPins) Pin(_ context.Context, operator string) (canon.Digest, error) {
	pin, ok := p[operator]
	if !ok {
		return pin, core.ErrUnknownOperator
	}
	return pin, nil
}

func (p testPins) Enrolled(context.Context) ([]string, error) {
	var names []string
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
