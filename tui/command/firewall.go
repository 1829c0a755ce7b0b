package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/core"
)

// runsOn reminds that a console keeps what it started with.
const runsOn = "A console that is running keeps the old one: end it and start it again."

func (b *builder) apikey() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "apikey",
		Short: "Put another REST API key into the keyring, after trying it",
		Long: "Reads the firewall's status with the new key and, only where that works, keeps it in\n" +
			"place of the old one. Nothing is changed at the firewall.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			return b.replaceKey(cmd.Context(), c, file)
		},
	}
	cmd.Flags().StringVar(&file, "api-key-file", "", "file with the REST API key; - is standard input")
	return cmd
}

func (b *builder) replaceKey(ctx context.Context, c Config, file string) error {
	var status core.ApplianceStatus
	err := b.w.SetAPIKey(ctx, c, func() (key []byte, err error) {
		key, status, err = b.workingKey(ctx, c, file)
		return key, classified(err, exitCode(err), "the API key in the keyring was not changed")
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "firewall   %s\nThe new API key works and is in the keyring.\n%s\n", c.Appliance.Host(), runsOn)
	for _, w := range status.Warnings {
		fmt.Fprintln(b.out, "  "+w)
	}
	return nil
}

// workingKey takes an API key and reads the firewall's status with it: once,
// because failed logins can block this machine.
func (b *builder) workingKey(ctx context.Context, c Config, file string) ([]byte, core.ApplianceStatus, error) {
	key, err := b.secret(file, func() ([]byte, error) { return askSecret("REST API key: ") })
	if err != nil {
		return nil, core.ApplianceStatus{}, err
	}
	status, err := b.w.TryAPIKey(ctx, c, key)
	if err != nil {
		clear(key)
		return nil, status, err
	}
	return key, status, nil
}

func (b *builder) pin() *cobra.Command {
	var pin string
	cmd := &cobra.Command{
		Use:   "pin",
		Short: "Pin the firewall's new public key, after showing it beside the old one",
		Long: "Shows the fingerprint of the public key that the firewall presents now and the one that is\n" +
			"pinned, and writes the new one into the configuration once you approve. The API key is not\n" +
			"sent meanwhile. Run it after the firewall's certificate was renewed with another key.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			return b.pinAgain(cmd.Context(), c, pin)
		},
	}
	cmd.Flags().StringVar(&pin, "pin", "", "accept exactly this public-key fingerprint without asking")
	return cmd
}

func (b *builder) pinAgain(ctx context.Context, c Config, pin string) error {
	if c.Appliance.Pin == "" {
		return fmt.Errorf("%w: no key is pinned: the firewall is trusted through its certificate authority", ErrConfig)
	}
	shown, err := b.w.Fingerprint(ctx, c.Appliance.URL)
	if err != nil {
		return err
	}
	if err := asGiven(pin, shown); err != nil {
		return err
	}
	if shown == c.Appliance.Pin {
		fmt.Fprintf(b.out, "pinned     %s\nThe firewall shows the pinned key; nothing was changed.\n", shown)
		return nil
	}
	unfinished, err := b.w.Unfinished(ctx, c)
	if err != nil {
		return err
	}
	if unfinished > 0 {
		fmt.Fprintf(b.out, "contracts that are not finished: %d\nEach is bound to the key that was pinned when it was made. While another one\n"+
			"is pinned, it can be read, but not sent, rolled back or concluded.\n", unfinished)
	}
	if err := approvePin(pin, c.Appliance.Pin, shown); err != nil {
		return err
	}
	if err := repin(b.configPath, shown); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "was        %s\npinned     %s\nconfig     %s\n%s\n", c.Appliance.Pin, shown, b.configPath, runsOn)
	return nil
}
