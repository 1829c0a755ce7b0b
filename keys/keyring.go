package keys

import (
	"context"
	"errors"
	"regexp"

	"countersign/core"
)

// MaxSecret is the most bytes one item may hold. What fits here fits in every
// keyring: Windows takes 2,560 bytes of text, macOS about 3,000, and the
// bytes travel as base64.
const MaxSecret = 1800

// The classes of a keyring's answers (design section 7). Only ErrNotFound may
// ever mean "no key yet"; every other class means "we do not know".
var (
	// ErrNotFound: the keyring answered, and it has no such item.
	ErrNotFound = errors.New("not in the keyring")
	// ErrLocked: the keyring is locked, or the question to unlock it was dismissed,
	// or it has no collection that could be unlocked.
	ErrLocked = errors.New("the keyring is locked; unlock it and try again")
	// ErrNoService: no keyring can be reached, or it has nowhere to keep items.
	ErrNoService = errors.New("no keyring can be used here; start one, or choose a file keyring")
	// ErrTimeout: no answer in time. After a change this means "unknown", as a
	// cancelled context does: read again.
	ErrTimeout = errors.New("the keyring did not answer in time; it may be waiting to be unlocked")
	// ErrTooLarge: the secret does not fit.
	ErrTooLarge = errors.New("too large for the keyring")
	// ErrDenied: the keyring refuses us, or its files are not safe to use.
	ErrDenied = errors.New("access refused")
	// ErrExists: an item of this name is already there; it was not changed.
	ErrExists = errors.New("already in the keyring; nothing was overwritten")
	// ErrChanged: the item does not have the value it was expected to have.
	ErrChanged = errors.New("the item in the keyring was changed by someone else")
	// ErrCorrupt: the item is there, and it is not what it should be.
	ErrCorrupt = errors.New("the item in the keyring is damaged or belongs to something else")
)

// Keyring keeps the secrets of one store, by name. Implementations never
// block beyond their deadline, are safe for concurrent use, and answer with
// the classes above (a *RingError wraps one of them). Secrets are copied in
// and out; an empty secret or one longer than MaxSecret is refused.
type Keyring interface {
	// Get reads an item.
	Get(ctx context.Context, name string) ([]byte, error)
	// Create adds an item and refuses with ErrExists if there is one.
	Create(ctx context.Context, name string, secret []byte) error
	// Replace changes an item whose value is old, and refuses with ErrChanged
	// otherwise, as far as the backend can promise that.
	Replace(ctx context.Context, name string, old, new []byte) error
	// Delete removes an item, or says ErrNotFound.
	Delete(ctx context.Context, name string) error
}

// RingError says what was tried, on which item, and the class of the answer.
// It holds neither secrets nor the backend's own words.
type RingError struct {
	Op     string // "read", "create", "replace", "delete", "open" or "init"
	Item   string // item name; empty if the whole keyring is meant
	Detail string // a fixed phrase, or empty
	Class  error  // one of the sentinels of this file, or a context's error
}

// Error reads "keyring: read anchor: access refused (it is a symbolic link)".
func (e *RingError) Error() string {
	text := "keyring: " + e.Op
	if e.Item != "" {
		text += " " + e.Item
	}
	text += ": " + e.Class.Error()
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Unwrap gives the class, for errors.Is.
func (e *RingError) Unwrap() error { return e.Class }

// ringError attaches op and item to the class of err. An error that names no
// class is ErrNoService: closed means closed (design section 4, rule 15).
func ringError(op, item string, err error) error {
	var named *RingError
	if errors.As(err, &named) {
		return &RingError{op, item, named.Detail, named.Class}
	}
	return &RingError{Op: op, Item: item, Class: classOf(err)}
}

func classOf(err error) error {
	for _, class := range []error{ErrNotFound, ErrLocked, ErrNoService, ErrTimeout, ErrTooLarge, ErrDenied,
		ErrExists, ErrChanged, ErrCorrupt, core.ErrInvalid, core.ErrWrongPassphrase, ErrPassphrase, context.Canceled} {
		if errors.Is(err, class) {
			return class
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ErrNoService
}

// refused is a class with a fixed phrase; op and item are added by ringError.
func refused(class error, detail string) error { return &RingError{Detail: detail, Class: class} }

// itemName is one or more identifiers of core.ValidIdentifier, joined by "/".
var itemName = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._:-]*(/[A-Za-z0-9][A-Za-z0-9._:-]*){0,3}\z`)

func checkItemName(name string) error {
	if len(name) > 200 || !itemName.MatchString(name) {
		return refused(core.ErrInvalid, "item name")
	}
	return nil
}

func checkSecret(secret []byte) error {
	if len(secret) == 0 {
		return refused(core.ErrInvalid, "an empty secret")
	}
	if len(secret) > MaxSecret {
		return ErrTooLarge
	}
	return nil
}
