package keys

import (
	"context"
	"encoding/base64"
	"errors"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	gokeyring "github.com/zalando/go-keyring"

	"countersign/core"
)

// testBackend behaves as go-keyring does: it overwrites without asking.
type testBackend struct {
	mu     sync.Mutex
	items  map[string]string
	err    error         // answered by every call
	onGet  func()        // runs inside get
	onSet  func()        // runs inside set, before it has an effect
	mangle func() string // what set really stores
	calls  int
}

func newTestBackend() *testBackend { return &testBackend{items: map[string]string{}} }

func (b *testBackend) get(service, item string) (string, error) {
	if b.onGet != nil {
		b.onGet()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.err != nil {
		return "", b.err
	}
	secret, ok := b.items[service+" "+item]
	if !ok {
		return "", gokeyring.ErrNotFound
	}
	return secret, nil
}

func (b *testBackend) set(service, item, secret string) error {
	if b.onSet != nil {
		b.onSet()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.err != nil {
		return b.err
	}
	if b.mangle != nil {
		secret = b.mangle()
	}
	b.items[service+" "+item] = secret
	return nil
}

func (b *testBackend) delete(service, item string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.err != nil {
		return b.err
	}
	if _, ok := b.items[service+" "+item]; !ok {
		return gokeyring.ErrNotFound
	}
	delete(b.items, service+" "+item)
	return nil
}

func testOSRing(t *testing.T, b ringBackend, c OSRingConfig) *OSRing {
	t.Helper()
	if c.StoreID == "" {
		c.StoreID = "store-1"
	}
	return must[*OSRing](t)(newOSRing(c, b))
}

func TestOSRingContract(t *testing.T) {
	t.Run("one process", func(t *testing.T) {
		ringContract(t, testOSRing(t, newTestBackend(), OSRingConfig{}))
	})
	t.Run("with a lock file", func(t *testing.T) {
		ringContract(t, testOSRing(t, newTestBackend(), OSRingConfig{LockPath: filepath.Join(t.TempDir(), "lock")}))
	})
	t.Run("two consoles share a lock file", func(t *testing.T) {
		b, path := newTestBackend(), filepath.Join(t.TempDir(), "lock")
		first := testOSRing(t, b, OSRingConfig{LockPath: path})
		second := testOSRing(t, b, OSRingConfig{LockPath: path})
		ringRaces(t, &alternating{rings: []Keyring{first, second}})
	})
}

// alternating sends every other call to another console's keyring.
type alternating struct {
	mu    sync.Mutex
	next  int
	rings []Keyring
}

func (a *alternating) pick() Keyring {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	return a.rings[a.next%len(a.rings)]
}

func (a *alternating) Get(ctx context.Context, n string) ([]byte, error) { return a.pick().Get(ctx, n) }
func (a *alternating) Create(ctx context.Context, n string, s []byte) error {
	return a.pick().Create(ctx, n, s)
}
func (a *alternating) Replace(ctx context.Context, n string, o, s []byte) error {
	return a.pick().Replace(ctx, n, o, s)
}
func (a *alternating) Delete(ctx context.Context, n string) error { return a.pick().Delete(ctx, n) }

func TestOSRingKeepsBase64UnderItsStore(t *testing.T) {
	b := newTestBackend()
	ctx := context.Background()
	if err := testOSRing(t, b, OSRingConfig{StoreID: "store-1"}).Create(ctx, "anchor", []byte{0, 0xff}); err != nil {
		t.Fatal(err)
	}
	if got := b.items["countersign/store-1 anchor"]; got != "AP8=" || len(b.items) != 1 {
		t.Fatalf("kept as %v", b.items)
	}
	if _, err := testOSRing(t, b, OSRingConfig{StoreID: "store-2"}).Get(ctx, "anchor"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("another store sees it: %v", err)
	}
	if _, err := NewOSRing(OSRingConfig{StoreID: "a/b"}); !errors.Is(err, core.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
}

func TestOSRingRefusesWhatItDidNotWrite(t *testing.T) {
	for _, text := range []string{"", "AP8", "AP9=", "AP8=\n", " AP8=", "not base64!", "AP8=AP8="} {
		b := newTestBackend()
		b.items["countersign/store-1 anchor"] = text
		ring := testOSRing(t, b, OSRingConfig{})
		if _, err := ring.Get(context.Background(), "anchor"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: got %v", text, err)
		}
		if err := ring.Create(context.Background(), "anchor", []byte("new")); !errors.Is(err, ErrExists) {
			t.Errorf("%q was overwritten: %v", text, err)
		}
	}
}

func TestClassify(t *testing.T) {
	bus := func(name string) error { return dbus.Error{Name: name, Body: []any{"canary text"}} }
	_, noBus := exec.LookPath("dbus-launch-that-is-not-there")
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"no item", gokeyring.ErrNotFound, ErrNotFound},
		{"too big", gokeyring.ErrSetDataTooBig, ErrTooLarge},
		{"dismissed prompt", errors.New("failed to unlock correct collection '/org/freedesktop/secrets/collection/login'"), ErrLocked},
		{"no default collection", errors.New("failed to unlock correct collection '/org/freedesktop/secrets/aliases/default'"), ErrLocked},
		{"locked item", bus("org.freedesktop.Secret.Error.IsLocked"), ErrLocked},
		{"no service", bus("org.freedesktop.DBus.Error.ServiceUnknown"), ErrNoService},
		{"no such collection", bus("org.freedesktop.Secret.Error.NoSuchObject"), ErrNoService},
		{"no such method", bus("org.freedesktop.DBus.Error.UnknownMethod"), ErrNoService},
		{"spawn failed", bus("org.freedesktop.DBus.Error.Spawn.ChildExited"), ErrNoService},
		{"no reply", bus("org.freedesktop.DBus.Error.NoReply"), ErrTimeout},
		{"denied by the bus", bus("org.freedesktop.DBus.Error.AccessDenied"), ErrDenied},
		{"bus limits", bus("org.freedesktop.DBus.Error.LimitsExceeded"), ErrTooLarge},
		{"no bus", noBus, ErrNoService},
		{"bus closed", dbus.ErrClosed, ErrNoService},
		{"no address", errors.New("dbus: couldn't determine address of session bus"), ErrNoService},
		{"other platform", errors.New("unsupported platform: plan9"), ErrNoService},
		{"words that look like not found", errors.New("secret not found in keyring"), ErrNoService},
	} {
		got := classify(c.err)
		if !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if c.want != ErrNotFound && errors.Is(got, ErrNotFound) {
			t.Errorf("%s means \"no key yet\"", c.name)
		}
	}
	for text, want := range map[string]error{"exit status 36": ErrLocked, "exit status 51": ErrDenied,
		"exit status 128": ErrDenied, "exit status 1": ErrNoService} {
		if got := classifyExit(text); !errors.Is(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if classify(nil) != nil {
		t.Error("success has a class")
	}
}

func TestOSRingCreatesOnlyAfterNotFound(t *testing.T) {
	for _, err := range []error{errors.New("failed to unlock correct collection 'x'"), dbus.ErrClosed,
		dbus.Error{Name: "org.freedesktop.DBus.Error.NoReply"}, errors.New("anything")} {
		b := newTestBackend()
		b.err = err
		ring := testOSRing(t, b, OSRingConfig{})
		got := ring.Create(context.Background(), "integrity-key", []byte("k"))
		if got == nil || errors.Is(got, ErrNotFound) || b.calls != 1 {
			t.Errorf("%v: got %v after %d calls", err, got, b.calls)
		}
	}
}

// A keyring that waits for an unlock prompt must not freeze anything; calls
// work again once the prompt has been answered, and what timed out before the
// write is never written.
func TestOSRingDeadline(t *testing.T) {
	b := newTestBackend()
	prompt := make(chan struct{})
	b.onGet = func() { <-prompt }
	ring := testOSRing(t, b, OSRingConfig{Timeout: 20 * time.Millisecond})
	ctx := context.Background()
	if err := ring.Create(ctx, "anchor", []byte("0")); !errors.Is(err, ErrTimeout) || errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	for range 3 { // queued behind the stuck one, each with a deadline of its own
		if _, err := ring.Get(ctx, "anchor"); !errors.Is(err, ErrTimeout) {
			t.Fatalf("got %v", err)
		}
	}
	close(prompt)
	ring.slot <- struct{}{} // the stuck call has ended
	<-ring.slot
	if _, err := ring.Get(ctx, "anchor"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("a call that timed out wrote later, or the ring is stuck: %v", err)
	}
	if b.calls != 2 { // the first get and the last
		t.Fatalf("%d calls reached the keyring", b.calls)
	}
}

func TestOSRingCallerGivesUp(t *testing.T) {
	b := newTestBackend()
	prompt, entered := make(chan struct{}), make(chan struct{})
	b.onGet = func() { close(entered); <-prompt }
	ring := testOSRing(t, b, OSRingConfig{Timeout: time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-entered; cancel() }()
	_, err := ring.Get(ctx, "anchor")
	close(prompt)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestOSRingSurvivesAPanickingLibrary(t *testing.T) {
	b := newTestBackend()
	b.onGet = func() { panic("interface conversion") }
	ring := testOSRing(t, b, OSRingConfig{})
	if _, err := ring.Get(context.Background(), "anchor"); !errors.Is(err, ErrNoService) {
		t.Fatalf("got %v", err)
	}
	b.onGet = nil
	if _, err := ring.Get(context.Background(), "anchor"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("the ring is stuck: %v", err)
	}
}

// Another process writes between our look and our write, or the keyring keeps
// something else than it was given: both are noticed by reading back.
func TestOSRingReadsBack(t *testing.T) {
	other := base64.StdEncoding.EncodeToString([]byte("other"))
	for name, mangled := range map[string]string{"overwritten": other, "cut": "AP"} {
		b := newTestBackend()
		b.mangle = func() string { return mangled }
		err := testOSRing(t, b, OSRingConfig{}).Create(context.Background(), "anchor", []byte("mine"))
		if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOSRingWaitsForItsLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	b := newTestBackend()
	ring := testOSRing(t, b, OSRingConfig{LockPath: path, Timeout: 30 * time.Millisecond})
	ctx := context.Background()
	err := withFileLock(ctx, path, func() error { return ring.Create(ctx, "anchor", []byte("0")) })
	if !errors.Is(err, ErrTimeout) || len(b.items) != 0 {
		t.Fatalf("got %v, %d items", err, len(b.items))
	}
	if err := ring.Create(ctx, "anchor", []byte("0")); err != nil {
		t.Fatal(err)
	}
	if err := withFileLock(ctx, filepath.Join(path, "nowhere"), func() error { return nil }); !errors.Is(err, ErrDenied) {
		t.Fatalf("got %v", err)
	}
}

func TestSessionBusKnown(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")
	if !sessionBusKnown() {
		t.Error("a configured bus is not known")
	}
}
