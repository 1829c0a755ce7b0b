package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// initOptions are the flags of `init`. A person is asked for each secret when
// it is needed, so that nobody types one for a firewall that is not there.
type initOptions struct {
	config                          Config
	pin, apiKeyFile, passphraseFile string
}

func (b *builder) init() *cobra.Command {
	o := initOptions{config: DefaultConfig()}
	c := &o.config
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create the store, its keys and the first operator, and pin the firewall's public key",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Appliance.URL == "" || c.Operator == "" {
				return fmt.Errorf("%w: --url and --operator are needed", errUsage)
			}
			if err := b.unwrap(c); err != nil {
				return err
			}
			if err := b.possible(*c); err != nil {
				return err
			}
			return b.install(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Appliance.URL, "url", "", "the firewall's web address: https://host[:port]")
	f.StringVar(&c.Operator, "operator", "", "name of the first operator")
	f.StringVar(&c.Keyring, "keyring", "os", `"os", or "file:DIR" with an absolute folder`)
	f.StringVar(&c.Store.Path, "store", c.Store.Path, "the store's file")
	f.StringVar(&c.Store.ID, "store-id", c.Store.ID, "the store's name, bound into every record")
	f.StringVar(&c.Appliance.CAFile, "ca-file", "", "trust this CA instead of pinning the key")
	f.StringVar(&o.pin, "pin", "", "accept exactly this public-key fingerprint without asking")
	f.StringVar(&o.apiKeyFile, "api-key-file", "", "file with the REST API key; - is standard input")
	f.StringVar(&o.passphraseFile, "passphrase-file", "", "file with the operator's passphrase; - is standard input")
	return cmd
}

// possible says whether there is room for what init makes, before anything is
// asked or contacted.
func (b *builder) possible(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if _, err := os.Lstat(b.configPath); err == nil {
		return fmt.Errorf("%w: %s exists already; nothing was changed", ErrConfig, b.configPath)
	}
	if _, err := os.Lstat(c.Store.Path); err == nil {
		return classified(fmt.Errorf("there is already a store at %s; nothing was changed", c.Store.Path), ExitStore,
			"choose another place with --store, and another name with --store-id")
	}
	return nil
}

// install tries the firewall, makes everything that is kept, and puts the
// configuration into its place last: without it nothing of this is used.
func (b *builder) install(ctx context.Context, o initOptions) (err error) {
	c := o.config
	if c.Appliance.URL, err = b.w.Address(c.Appliance.URL); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.Appliance.CAFile == "" {
		if c.Appliance.Pin, err = b.w.Fingerprint(ctx, c.Appliance.URL); err != nil {
			return err
		}
		if err := approvePin(o.pin, "", c.Appliance.Pin); err != nil {
			return err
		}
	}
	apiKey, _, err := b.workingKey(ctx, c, o.apiKeyFile)
	if err != nil {
		return err
	}
	defer clear(apiKey)
	passphrase, err := b.newSecret(o.passphraseFile, "Passphrase of "+c.Operator, b.w.CheckPassphrase)
	defer clear(passphrase)
	if err != nil {
		return err
	}
	draft, err := c.draft(b.configPath)
	if err != nil {
		return err
	}
	if err := b.w.Install(ctx, c, apiKey, passphrase); err != nil {
		draft.discard()
		return err
	}
	if err := draft.create(); err != nil {
		return classified(fmt.Errorf("store and keys are made, but their configuration has no place: %w", err), ExitUsage,
			"it is in "+draft.temp+": put it into its place, or give it a name and use that with --config")
	}
	draft.discard()
	fmt.Fprintf(b.out, "store      %s\nkeyring    %s\noperator   %s\nfirewall   %s\nconfig     %s\nNow run `countersign doctor`, then `countersign`.\n",
		c.Store.Path, c.Keyring, c.Operator, c.Appliance.URL, b.configPath)
	return nil
}

// asGiven compares what the firewall shows with the pin of the flag, if any.
func asGiven(pin, shown string) error {
	if pin != "" && !strings.EqualFold(pin, shown) {
		return fmt.Errorf("the firewall's public key is %s, not the one of --pin; nothing was changed", shown)
	}
	return nil
}

// approvePin takes the pin of the flag for approval, or asks a person; was is
// the pin until now, or "".
func approvePin(pin, was, shown string) error {
	if pin != "" {
		return asGiven(pin, shown)
	}
	question := "The firewall's public key has the SHA-256 fingerprint\n  " + shown + "\n"
	if was != "" {
		question += "and pinned until now is\n  " + was + "\n"
	}
	answer, err := askLine(question + "Compare it with the firewall's console. Type yes to pin it: ")
	if errors.Is(err, errNoTerminal) {
		return fmt.Errorf("%w; give the fingerprint with --pin", errNoTerminal)
	}
	if err == nil && answer != "yes" {
		err = errors.New("the firewall's public key was not approved; nothing was changed")
	}
	return err
}
