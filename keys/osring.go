package keys

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	gokeyring "github.com/zalando/go-keyring"

	"countersign/core"
)

// DefaultTimeout bounds one call to the operating system's keyring. A locked
// keyring may show its own window meanwhile; the next call succeeds once that
// has been answered.
const DefaultTimeout = 5 * time.Second

// OSRingConfig says which items of the operating system's keyring are ours.
type OSRingConfig struct {
	StoreID  string        // items are kept under "countersign/<store id>"
	Timeout  time.Duration // deadline of one call; 0 is DefaultTimeout
	LockPath string        // file locked during changes, so that two processes take turns; empty: none
}

// OSRing is the operating system's keyring, through go-keyring. That library
// knows no deadline, waits for an unlock prompt for ever and gives untyped
// errors, so every call runs aside under a deadline, one at a time, and its
// errors are sorted into classes (design section 7).
type OSRing struct {
	service  string
	timeout  time.Duration
	lockPath string
	backend  ringBackend
	slot     chan struct{} // held by the one call in progress, also after its deadline
}

// ringBackend is what OSRing needs of go-keyring.
type ringBackend interface {
	get(service, item string) (string, error)
	set(service, item, secret string) error
	delete(service, item string) error
}

type goKeyring struct{}

func (goKeyring) get(service, item string) (string, error) {
	if !sessionBusKnown() {
		return "", ErrNoService
	}
	return gokeyring.Get(service, item)
}

func (goKeyring) set(service, item, secret string) error {
	if !sessionBusKnown() {
		return ErrNoService
	}
	return gokeyring.Set(service, item, secret)
}

func (goKeyring) delete(service, item string) error {
	if !sessionBusKnown() {
		return ErrNoService
	}
	return gokeyring.Delete(service, item)
}

// NewOSRing contacts nothing. Errors: core.ErrInvalid for a malformed store id.
func NewOSRing(c OSRingConfig) (*OSRing, error) { return newOSRing(c, goKeyring{}) }

func newOSRing(c OSRingConfig, backend ringBackend) (*OSRing, error) {
	if !core.ValidIdentifier(c.StoreID) {
		return nil, fmt.Errorf("%w: store id", core.ErrInvalid)
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return &OSRing{
		service: "countersign/" + c.StoreID, timeout: c.Timeout, lockPath: c.LockPath,
		backend: backend, slot: make(chan struct{}, 1),
	}, nil
}

// Get implements Keyring.
func (r *OSRing) Get(ctx context.Context, name string) ([]byte, error) {
	secret, err := r.call(ctx, name, func(context.Context) ([]byte, error) { return r.read(name) })
	if err != nil {
		return nil, ringError("read", name, err)
	}
	return secret, nil
}

// Create implements Keyring. The backends can only overwrite, so it looks
// first, under the lock if one was configured, and reads back afterwards.
func (r *OSRing) Create(ctx context.Context, name string, secret []byte) error {
	return r.change(ctx, "create", name, secret, func() error {
		switch _, err := r.read(name); {
		case err == nil, errors.Is(err, ErrCorrupt):
			return ErrExists
		case errors.Is(err, ErrNotFound):
			return nil
		default:
			return err
		}
	})
}

// Replace implements Keyring, in the same way as Create.
func (r *OSRing) Replace(ctx context.Context, name string, old, new []byte) error {
	old = append([]byte(nil), old...) // the check may outlive this call
	return r.change(ctx, "replace", name, new, func() error {
		defer clear(old)
		present, err := r.read(name)
		defer clear(present)
		if err == nil && !sameBytes(present, old) {
			return ErrChanged
		}
		return err
	})
}

// Delete implements Keyring.
func (r *OSRing) Delete(ctx context.Context, name string) error {
	_, err := r.call(ctx, name, func(ctx context.Context) ([]byte, error) {
		return nil, r.locked(ctx, func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return classify(r.backend.delete(r.service, name))
		})
	})
	if err != nil {
		return ringError("delete", name, err)
	}
	return nil
}

// change writes secret after check agreed, and proves by reading back that it
// is there. Nothing is written after the deadline.
func (r *OSRing) change(ctx context.Context, op, name string, secret []byte, check func() error) error {
	if err := checkSecret(secret); err != nil {
		return ringError(op, name, err)
	}
	secret = append([]byte(nil), secret...)
	_, err := r.call(ctx, name, func(ctx context.Context) ([]byte, error) {
		defer clear(secret)
		return nil, r.locked(ctx, func() error {
			if err := check(); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := classify(r.backend.set(r.service, name, base64.StdEncoding.EncodeToString(secret))); err != nil {
				return err
			}
			written, err := r.read(name)
			defer clear(written)
			if err == nil && !sameBytes(written, secret) {
				return ErrChanged
			}
			return err
		})
	})
	if err != nil {
		return ringError(op, name, err)
	}
	return nil
}

func (r *OSRing) read(name string) ([]byte, error) {
	text, err := r.backend.get(r.service, name)
	if err != nil {
		return nil, classify(err)
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || checkSecret(secret) != nil || base64.StdEncoding.EncodeToString(secret) != text {
		return nil, ErrCorrupt
	}
	return secret, nil
}

func (r *OSRing) locked(ctx context.Context, work func() error) error {
	if r.lockPath == "" {
		return work()
	}
	return withFileLock(ctx, r.lockPath, work)
}

type ringAnswer struct {
	secret []byte
	err    error
}

// call runs work aside and waits for it no longer than the deadline. A call
// that never returns keeps the slot: those after it time out as well, instead
// of piling up behind an unlock prompt.
func (r *OSRing) call(ctx context.Context, name string, work func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := checkItemName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	select {
	case r.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answer := make(chan ringAnswer, 1)
	go func() {
		defer func() { <-r.slot }()
		defer func() {
			if recover() != nil { // the library trusts the service's types
				answer <- ringAnswer{err: ErrNoService}
			}
		}()
		err := ctx.Err()
		var secret []byte
		if err == nil {
			secret, err = work(ctx)
		}
		answer <- ringAnswer{secret, err}
	}()
	select {
	case a := <-answer:
		return a.secret, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
