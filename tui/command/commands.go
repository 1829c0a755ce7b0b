package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (b *builder) demo() *cobra.Command {
	o := DemoOptions{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try the console on a temporary store and a simulated firewall",
		Long: "Runs the console on a temporary store, a file keyring and an embedded pfSense simulator,\n" +
			"with a few contracts of each kind already there. Without a terminal, or with --headless,\n" +
			"it runs the whole story on the same real parts and prints it.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = b.out
			o.Headless = o.Headless || o.JSON || !isTerminal()
			return b.w.Demo(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Headless, "headless", false, "print the story instead of starting the console")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a step (implies --headless)")
	cmd.Flags().BoolVar(&o.ASCII, "ascii", false, "draw with ASCII only")
	return cmd
}

func isTerminal() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// demoChild is the process that the story's restart scene kills.
func (b *builder) demoChild() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-child DIR",
		Hidden: true,
		Args:   usage(cobra.ExactArgs(1)),
		RunE:   func(cmd *cobra.Command, args []string) error { return b.w.DemoChild(cmd.Context(), args[0]) },
	}
}

func (b *builder) init() *cobra.Command {
	o := InitOptions{Config: DefaultConfig()}
	var keyFile, passFile, pin string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create the store, its keys and the first operator, and pin the firewall's certificate",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Config.Appliance.URL == "" || o.Config.Operator == "" {
				return fmt.Errorf("%w: --url and --operator are needed", errUsage)
			}
			o.ConfigPath, o.Out, o.Approve = b.configPath, b.out, approvePin(pin)
			if err := o.possible(); err != nil {
				return err
			}
			if err := b.unwrap(&o.Config); err != nil {
				return err
			}
			o.APIKey = func() ([]byte, error) {
				return secretFrom(keyFile, b.in, func() ([]byte, error) { return askSecret("REST API key: ") })
			}
			o.Passphrase = func(check func([]byte) error) ([]byte, error) {
				return newSecretFrom(passFile, b.in, "Passphrase of "+o.Config.Operator, check)
			}
			return b.w.Init(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Config.Appliance.URL, "url", "", "the firewall's web address: https://host[:port]")
	f.StringVar(&o.Config.Operator, "operator", "", "name of the first operator")
	f.StringVar(&o.Config.Keyring, "keyring", "os", `"os", or "file:DIR" with an absolute folder`)
	f.StringVar(&o.Config.Store.Path, "store", o.Config.Store.Path, "the store's file")
	f.StringVar(&o.Config.Store.ID, "store-id", o.Config.Store.ID, "the store's name, bound into every record")
	f.StringVar(&o.Config.Appliance.CAFile, "ca-file", "", "trust this CA instead of pinning the key")
	f.StringVar(&pin, "pin", "", "accept exactly this public-key fingerprint without asking")
	f.StringVar(&keyFile, "api-key-file", "", "file with the REST API key; - is standard input")
	f.StringVar(&passFile, "passphrase-file", "", "file with the operator's passphrase; - is standard input")
	return cmd
}

// possible says whether there is room for what init makes, before anything is
// asked or contacted.
func (o InitOptions) possible() error {
	if err := o.Config.Validate(); err != nil {
		return err
	}
	if _, err := os.Lstat(o.ConfigPath); err == nil {
		return fmt.Errorf("%w: %s exists already; nothing was changed", ErrConfig, o.ConfigPath)
	}
	if _, err := os.Lstat(o.Config.Store.Path); err == nil {
		return classified(fmt.Errorf("there is already a store at %s; nothing was changed", o.Config.Store.Path), ExitStore,
			"choose another place with --store, and another name with --store-id")
	}
	return nil
}

// approvePin asks a person, or compares with the pin that was given.
func approvePin(pin string) func(string) (bool, error) {
	return func(fingerprint string) (bool, error) {
		if pin != "" && !strings.EqualFold(pin, fingerprint) {
			return false, fmt.Errorf("the firewall's public key is %s, not the one of --pin; nothing was changed", fingerprint)
		}
		if pin != "" {
			return true, nil
		}
		answer, err := askLine("The firewall's public key has the SHA-256 fingerprint\n  " + fingerprint +
			"\nCompare it with the firewall's console. Type yes to pin it: ")
		if errors.Is(err, errNoTerminal) {
			err = fmt.Errorf("%w; give the fingerprint with --pin", errNoTerminal)
		}
		return answer == "yes", err
	}
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
			return b.w.Doctor(cmd.Context(), c, b.out)
		},
	}
}

func (b *builder) sim() *cobra.Command {
	o := SimOptions{}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run the firewall simulator as an HTTPS server to practise against",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = b.out
			return b.w.Sim(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Address, "listen", "127.0.0.1:8443", "address to listen on")
	f.StringVar(&o.Profile, "profile", "2.7.1", "REST API package version: 2.7.1, 2.10.0 or 2.4.3")
	f.StringVar(&o.Config, "config", "", "start from this pfSense configuration (config.xml) instead of the built-in one")
	f.StringArrayVar(&o.Faults, "fault", nil, "inject a fault, for example commit-then-drop; may be repeated")
	f.Int64Var(&o.Seed, "seed", 0, "seed of everything random; 0 is really random")
	return cmd
}

func (b *builder) sign() *cobra.Command {
	o := SignOptions{}
	var passFile string
	cmd := &cobra.Command{
		Use:   "sign [REQUEST]",
		Short: "Sign an authorization, confirmation or conclusion off-host, after showing it in full",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Authority == "" || len(args) == 0 && !o.NewKey {
				return fmt.Errorf("%w: --authority and a request file are needed, or --new-key", errUsage)
			}
			if len(args) == 1 {
				o.Request = args[0]
			}
			var err error
			if prompt := "Passphrase of " + o.Authority; o.NewKey {
				o.Passphrase, err = newSecretFrom(passFile, b.in, prompt, nil)
			} else {
				o.Passphrase, err = secretFrom(passFile, b.in, func() ([]byte, error) { return askSecret(prompt + ": ") })
			}
			if err != nil {
				return err
			}
			o.Out, o.Approve = b.out, approveText
			return b.w.Sign(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Authority, "authority", "", "name of the signing authority")
	f.StringVar(&o.Keyring, "keyring", "os", `"os", or "file:DIR" with an absolute folder`)
	f.StringVar(&o.Evidence, "out", "", "where to write the evidence; default: beside the request, with .signed")
	f.BoolVar(&o.NewKey, "new-key", false, "create the authority's key and print its public half")
	f.StringVar(&passFile, "passphrase-file", "", "file with the passphrase; - is standard input")
	return cmd
}

func approveText(rendered string) (bool, error) {
	answer, err := askLine(rendered + "\nType yes to sign exactly this: ")
	return answer == "yes", err
}

func (b *builder) verify() *cobra.Command {
	o := VerifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify [PATH]",
		Short: "Verify a store or a copy of one completely, offline",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			o.Config, o.Out = c, b.out
			if !o.JSON && term.IsTerminal(int(os.Stderr.Fd())) {
				o.Progress = progressBar(os.Stderr)
			}
			if len(args) == 1 {
				if o.Path, err = filepath.Abs(args[0]); err != nil {
					return err
				}
			}
			return b.w.Verify(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the report as JSON")
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
			return b.w.Backup(cmd.Context(), c, destination, b.out)
		},
	}
}
