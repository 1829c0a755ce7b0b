package command

import (
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func isTerminal() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

func (b *builder) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, keyring, store, anchor and firewall without changing anything",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			checks := &Checks{Out: b.out}
			b.w.Doctor(cmd.Context(), c, checks)
			return checks.Err()
		},
	}
}

// SimOptions are the answers of `sim`.
type SimOptions struct {
	Address string
	Profile string
	Config  []byte // config.xml; nil for the built-in one
	Faults  []string
	Rand    *mathrand.Rand // nil: really random
	Out     io.Writer
}

func (b *builder) sim() *cobra.Command {
	var o SimOptions
	var config string
	var seed int64
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run the firewall simulator as an HTTPS server to practise against",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.Out = b.out
			if config != "" {
				if o.Config, err = os.ReadFile(config); err != nil {
					return UsageError(err)
				}
			}
			if seed != 0 {
				o.Rand = mathrand.New(mathrand.NewPCG(uint64(seed), 0))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return UsageError(b.w.Sim(ctx, o))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Address, "listen", "127.0.0.1:8443", "address to listen on")
	f.StringVar(&o.Profile, "profile", "2.7.1", "REST API package version: 2.7.1, 2.10.0 or 2.4.3")
	f.StringVar(&config, "config", "", "start from this pfSense configuration (config.xml) instead of the built-in one")
	f.StringArrayVar(&o.Faults, "fault", nil, "inject a fault, for example commit-then-drop; may be repeated")
	f.Int64Var(&seed, "seed", 0, "seed of everything random; 0 is really random")
	return cmd
}

// VerifyOptions are the answers of `verify`.
type VerifyOptions struct {
	Config   Config
	Path     string                // the configured store, or a copy
	Progress func(done, total int) // nil: show none
	json     bool
	out      io.Writer
}

// Report prints what was found: everything as JSON, or a line where all is
// well. The error has the exit code of a store that does not verify.
func (o VerifyOptions) Report(report any, contracts, events int64, err error) error {
	if o.json {
		if jsonErr := json.NewEncoder(o.out).Encode(report); jsonErr != nil {
			return jsonErr
		}
	} else if err == nil {
		fmt.Fprintf(o.out, "%s: every record and every chain holds (contracts: %d, events: %d)\n", o.Path, contracts, events)
	}
	if err != nil {
		return StoreError(fmt.Errorf("%s does not verify: %w", o.Path, err))
	}
	return nil
}

func (b *builder) verify() *cobra.Command {
	o := VerifyOptions{out: b.out}
	cmd := &cobra.Command{
		Use:   "verify [PATH]",
		Short: "Verify a store or a copy of one completely, offline",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Config, err = b.config(); err != nil {
				return err
			}
			if !o.json && term.IsTerminal(int(os.Stderr.Fd())) {
				o.Progress = progressBar(os.Stderr)
			}
			if o.Path = o.Config.Store.Path; len(args) == 1 {
				if o.Path, err = filepath.Abs(args[0]); err != nil {
					return err
				}
			}
			return b.w.Verify(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the report as JSON")
	return cmd
}

func (b *builder) export() *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Print the audit trail as JSON lines, without any value",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			return b.w.Export(cmd.Context(), c, b.out)
		},
	}
}

func (b *builder) backup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DESTINATION",
		Short: "Make a consistent, verified copy of the store while the console may be running",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			destination, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("%w: %v", errUsage, err)
			}
			if err := b.w.Backup(cmd.Context(), c, destination); err != nil {
				return err
			}
			fmt.Fprintf(b.out, "%s: a verified copy\n", destination)
			return nil
		},
	}
}
