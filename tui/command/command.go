// Package command is Countersign's command line: flags, configuration,
// prompts and exit codes. What a command does with the real parts is behind
// Wiring, which main implements.
//
// Rules of everything outside the full-screen program: results go to standard
// output, everything else to standard error; an error is one line with what is
// wrong and, where there is one, a second line with what to do; secrets are
// read from the terminal without echo or from a file, never from an argument.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"countersign/core"
)

// Wiring builds the real parts for each command.
type Wiring interface {
	Console(ctx context.Context, c Config, o ConsoleOptions) error
	Demo(ctx context.Context, o DemoOptions) error
	DemoChild(ctx context.Context, dir string) error
	Init(ctx context.Context, o InitOptions) error
	Doctor(ctx context.Context, c Config, out io.Writer) error
	Sim(ctx context.Context, o SimOptions) error
	Sign(ctx context.Context, o SignOptions) error
	Verify(ctx context.Context, o VerifyOptions) error
	Export(ctx context.Context, c Config, out io.Writer) error
	Backup(ctx context.Context, c Config, destination string, out io.Writer) error
}

// ConsoleOptions are the flags of the full-screen program.
type ConsoleOptions struct {
	Operator string
	ASCII    bool
	NoColor  bool
}

// DemoOptions are the flags of `demo`.
type DemoOptions struct {
	Headless bool
	JSON     bool
	ASCII    bool
	Out      io.Writer
}

// SimOptions are the flags of `sim`.
type SimOptions struct {
	Address string
	Profile string
	Config  string
	Faults  []string
	Seed    int64
	Out     io.Writer
}

// InitOptions are the answers of `init`. A person is asked for each when it is
// needed, so that nobody types a secret for a firewall that is not there.
type InitOptions struct {
	ConfigPath string
	Config     Config
	// Approve is shown the server's public-key fingerprint before it is pinned.
	Approve func(fingerprint string) (bool, error)
	APIKey  func() ([]byte, error)
	// Passphrase gives one that passes the check.
	Passphrase func(check func([]byte) error) ([]byte, error)
	Out        io.Writer
}

// SignOptions are the flags of `sign`.
type SignOptions struct {
	Request    string // file to sign; "" with NewKey
	Evidence   string // where to write; "" beside the request
	Authority  string
	Keyring    string // "os" or "file:DIR"; the signer's own, not a store's
	NewKey     bool
	Passphrase []byte
	Approve    func(rendered string) (bool, error)
	Out        io.Writer
}

// VerifyOptions are the flags of `verify`.
type VerifyOptions struct {
	Config   Config
	Path     string // "" is the configured store
	JSON     bool
	Progress func(done, total int) // nil: show none
	Out      io.Writer
}

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
	return classified(err, ExitStore, "nothing was changed; check store.path and store.id in the configuration")
}

func classified(err error, code int, hint string) error {
	if err == nil {
		return nil
	}
	return &Classified{Code: code, Err: err, Hint: hint}
}

// Execute runs the command line and returns the exit code.
func Execute(ctx context.Context, w Wiring, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(w, stdin, stdout)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	fmt.Fprintln(stderr, "countersign: "+err.Error())
	var classified *Classified
	if errors.As(err, &classified) && classified.Hint != "" {
		fmt.Fprintln(stderr, "  "+classified.Hint)
	}
	return exitCode(err)
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

// builder carries what every command needs.
type builder struct {
	w          Wiring
	in         io.Reader
	out        io.Writer
	configPath string
	secretFile string
}

func newRoot(w Wiring, stdin io.Reader, stdout io.Writer) *cobra.Command {
	b := &builder{w: w, in: stdin, out: stdout}
	var o ConsoleOptions
	root := &cobra.Command{
		Use:           "countersign",
		Short:         "Make one guarded change to a pfSense firewall and know for certain what happened",
		Args:          usage(cobra.NoArgs),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			if !isTerminal() {
				return classified(errNotOnTerminal, ExitUsage, "`countersign doctor`, `verify` and `export` work without one")
			}
			if o.Operator != "" {
				c.Operator = o.Operator
			}
			return w.Console(cmd.Context(), c, o)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %v", errUsage, err) })
	root.PersistentFlags().StringVar(&b.configPath, "config", DefaultConfigPath(), "configuration file")
	root.PersistentFlags().StringVar(&b.secretFile, "keyring-passphrase-file", "", "opens a wrapped file keyring; - is standard input")
	root.Flags().StringVar(&o.Operator, "operator", "", "your enrolled name, offered in forms")
	root.Flags().BoolVar(&o.ASCII, "ascii", false, "draw with ASCII only")
	root.Flags().BoolVar(&o.NoColor, "no-color", os.Getenv("NO_COLOR") != "", "draw without colour")
	root.AddCommand(b.demo(), b.demoChild(), b.init(), b.doctor(), b.sim(), b.sign(), b.verify(), b.export(), b.backup())
	return root
}

// config reads the configuration, and the passphrase of a wrapped keyring
// where a file with one was named.
func (b *builder) config() (Config, error) {
	c, err := LoadConfig(b.configPath)
	if err != nil {
		return c, err
	}
	return c, b.unwrap(&c)
}

func (b *builder) unwrap(c *Config) error {
	if b.secretFile == "" {
		return nil
	}
	var err error
	c.keyringPassphrase, err = secretFrom(b.secretFile, b.in, nil)
	return err
}

// usage makes a wrong number of arguments a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w: %v; see countersign %s --help", errUsage, err, cmd.Name())
		}
		return nil
	}
}
