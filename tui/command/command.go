// Package command is Countersign's command line: flags, configuration,
// prompts, what is told to people, and exit codes. What a command does with
// the real parts is behind Wiring, which main implements.
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
	"countersign/tui"
)

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

// builder carries what every command needs.
type builder struct {
	w          Wiring
	in         io.Reader
	out        io.Writer
	inRead     bool // a secret came from in already
	configPath string
	secretFile string
	credential string
}

func newRoot(w Wiring, stdin io.Reader, stdout io.Writer) *cobra.Command {
	b := &builder{w: w, in: stdin, out: stdout}
	root := b.console()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %v", errUsage, err) })
	f := root.PersistentFlags()
	f.StringVar(&b.configPath, "config", DefaultConfigPath(), "configuration file")
	f.StringVar(&b.secretFile, "keyring-passphrase-file", "", "opens a wrapped file keyring; - is standard input")
	f.StringVar(&b.credential, "keyring-credential", "", "opens a wrapped file keyring with this systemd credential")
	root.AddCommand(b.demo(), b.demoChild(), b.init(), b.operator(), b.apikey(), b.pin(), b.doctor(), b.sim(), b.sign(),
		b.verify(), b.export(), b.backup())
	return root
}

// consoleOptions are the flags of the full-screen program.
type consoleOptions struct {
	operator       string
	ascii, noColor bool
}

func (b *builder) console() *cobra.Command {
	var o consoleOptions
	cmd := &cobra.Command{
		Use:   "countersign",
		Short: "Make one guarded change to a pfSense firewall and know for certain what happened",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			if o.operator != "" {
				c.Operator = o.operator
			}
			if !core.ValidIdentifier(c.Operator) {
				return fmt.Errorf("%w: no operator is named: give your enrolled name with --operator, or as operator in %s", ErrConfig, b.configPath)
			}
			if !isTerminal() {
				return classified(errNotOnTerminal, ExitUsage, "`countersign doctor`, `verify` and `export` work without one")
			}
			return b.runConsole(cmd.Context(), c, o)
		},
	}
	cmd.Flags().StringVar(&o.operator, "operator", "", "your enrolled name, offered in forms")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
	cmd.Flags().BoolVar(&o.noColor, "no-color", os.Getenv("NO_COLOR") != "", "draw without colour")
	return cmd
}

// runConsole opens the configured parts behind the program's first frame.
func (b *builder) runConsole(ctx context.Context, c Config, o consoleOptions) error {
	p := &Parts{}
	open := func(ctx context.Context, progress func(done, total int)) (_ tui.Engine, report core.StartReport, err error) {
		p, report, err = b.w.Start(ctx, c, progress)
		return p.Engine, report, err
	}
	err := tui.Run(ctx, tui.Options{Open: open, Wait: func() { p.Wait() }, Appliance: c.Appliance.Host(),
		Operator: c.Operator, ASCII: o.ascii, NoColor: o.noColor, RequestPath: c.RequestPath()})
	return errors.Join(err, p.Close())
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

// unwrap settles where the passphrase of a wrapped keyring comes from: from
// one place, or it would not be clear which one counts.
func (b *builder) unwrap(c *Config) (err error) {
	if b.credential != "" {
		c.KeyringCredential = b.credential
	}
	if err := c.validateKeyring(); err != nil || b.secretFile == "" {
		return err
	}
	if c.KeyringCredential != "" {
		return fmt.Errorf("%w: --keyring-passphrase-file and a keyring credential (%s) exclude each other", errUsage, c.KeyringCredential)
	}
	c.keyringPassphrase, err = b.secret(b.secretFile, nil)
	return err
}

// usage makes a wrong number of arguments a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w: %v; see %s --help", errUsage, err, cmd.CommandPath())
		}
		return nil
	}
}
