package command

import (
	"errors"

	"countersign/core"
)

// Exit codes, documented in docs/commands.md.
const (
	ExitOK        = 0
	ExitFailed    = 1 // refused, or a scene or check failed
	ExitUsage     = 2 // flags or configuration
	ExitStore     = 3 // the store is refused or does not verify
	ExitKeyring   = 4 // the keyring has no answer that can be used
	ExitAppliance = 5 // the firewall cannot be read
)

// Classified lets wiring say which exit code an error deserves.
type Classified struct {
	Code int
	Err  error
	Hint string // the second line
}

// Error is the first line.
func (c *Classified) Error() string { return c.Err.Error() }

// Unwrap gives the error itself.
func (c *Classified) Unwrap() error { return c.Err }

// WayOn is the second line, for the console's screens.
func (c *Classified) WayOn() string { return c.Hint }

// KeyringError gives an error of the keyring its exit code and a way on; nil
// stays nil.
func KeyringError(err error) error {
	return classified(err, ExitKeyring, "check keyring, store.id and appliance.url in the configuration")
}

// UsageError gives an error in what was asked for its exit code; nil stays nil.
func UsageError(err error) error {
	return classified(err, ExitUsage, "see the command's --help")
}

// StoreError gives an error of the store its exit code and a way on; nil
// stays nil.
func StoreError(err error) error {
	hint := "nothing was changed; check store.path and store.id in the configuration"
	if errors.Is(err, core.ErrQuarantined) {
		hint = "nothing was changed; `countersign verify --json` names the records"
	}
	return classified(err, ExitStore, hint)
}

// CopyError is StoreError for a copy of the store: what is wrong is where it
// was to go.
func CopyError(err error) error {
	return classified(err, ExitStore, "the store is as it was; is the destination new, and its folder yours alone?")
}

// Exclusive takes the executor lock for a command, or refuses and says who
// has it.
func Exclusive(lock core.Lock) error {
	held, err := lock.TryAcquire()
	if err != nil || held {
		return StoreError(err)
	}
	holder := lock.Holder()
	if holder == "" {
		holder = "another process"
	}
	return classified(errors.New("the store is in use by "+holder+"; nothing was changed"), ExitFailed,
		"end that console, then try again: only one process at a time changes a store")
}

func classified(err error, code int, hint string) error {
	if err == nil {
		return nil
	}
	return &Classified{Code: code, Err: err, Hint: hint}
}

func exitCode(err error) int {
	var classified *Classified
	switch {
	case errors.As(err, &classified):
		return classified.Code
	case errors.Is(err, ErrConfig), errors.Is(err, errUsage), errors.Is(err, errNoTerminal):
		return ExitUsage
	case errors.Is(err, core.ErrAppliance), errors.Is(err, core.ErrApplianceMismatch):
		return ExitAppliance
	}
	return ExitFailed
}

var (
	errUsage = errors.New("usage")
	// errNotOnTerminal: the full-screen program was started in a pipe.
	errNotOnTerminal = errors.New("the console needs a terminal on standard input and output")
)
