package command

import (
	"context"
	"io"

	"countersign/core"
)

// Wiring makes the real parts and does with them what a command asks for.
// What a person is asked and told is decided in this package. Secrets that are
// handed over are cleared by whoever made them.
type Wiring interface {
	// Start opens the configured parts and starts an engine on them. The
	// parts are to be closed also where there is an error.
	Start(ctx context.Context, c Config, progress func(done, total int)) (*Parts, core.StartReport, error)
	// Practice puts real parts over a simulated firewall into a demo.
	Practice(ctx context.Context, d *Demo) error
	// DemoChild executes the contract that dir names, and is killed meanwhile.
	DemoChild(ctx context.Context, dir string) error
	// Sim runs the simulator until ctx ends.
	Sim(ctx context.Context, o SimOptions) error

	// Address spells a firewall's web address in the one way that is bound
	// into records, or refuses it.
	Address(url string) (string, error)
	// Fingerprint is the SHA-256 of the public key that the server at an
	// address shows, in hex. Nothing is sent to it.
	Fingerprint(ctx context.Context, url string) (string, error)
	// TryAPIKey reads the configured firewall's status with a key.
	TryAPIKey(ctx context.Context, c Config, key []byte) (core.ApplianceStatus, error)
	// SetAPIKey keeps the key that choose gives in the configured keyring, in
	// place of another; choose is not asked where the keyring cannot be opened.
	SetAPIKey(ctx context.Context, c Config, choose func() ([]byte, error)) error

	// Install makes keyring, keys, anchor, store and first operator, or
	// nothing at all.
	Install(ctx context.Context, c Config, apiKey, passphrase []byte) error
	// CheckPassphrase says whether a new passphrase would be taken.
	CheckPassphrase(passphrase []byte) error
	// Operators opens the people of the configured store. To change them
	// needs the executor lock, which is held until do returns.
	Operators(ctx context.Context, c Config, change bool, do func(Operators) error) error

	// Doctor checks each part by itself and changes nothing.
	Doctor(ctx context.Context, c Config, checks *Checks)
	// Unfinished counts the contracts that could still be acted on.
	Unfinished(ctx context.Context, c Config) (int, error)
	// Verify checks a store or a copy completely, offline, and calls Report.
	Verify(ctx context.Context, o VerifyOptions) error
	// Export prints the value-free audit trail.
	Export(ctx context.Context, c Config, out io.Writer) error
	// Backup makes a verified copy while the console may be running.
	Backup(ctx context.Context, c Config, destination string) error

	// Sign shows a request, signs exactly that, and says where the evidence is.
	Sign(ctx context.Context, o SignOptions) (evidence string, err error)
	// NewAuthority makes a signer's key and prints its public halves.
	NewAuthority(ctx context.Context, o SignOptions, out io.Writer) error
}

// Operators are the people enrolled in a store. Passphrases are erased.
type Operators interface {
	Enrolled(ctx context.Context) ([]string, error)
	// Present says why an operator's key cannot be read from the keyring here.
	Present(ctx context.Context, operator string) error
	// Vouch returns nil if the passphrase opens the enrolled operator's key.
	Vouch(ctx context.Context, operator string, passphrase []byte) error
	// Admit enrols a newcomer wholly or not at all.
	Admit(ctx context.Context, operator string, passphrase []byte) error
	// ChangePassphrase wraps the same key under another passphrase.
	ChangePassphrase(ctx context.Context, operator string, old, new []byte) error
}
