package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// signingStore names the keyring items of an off-host signer, which has no store.
const signingStore = "countersign-signing"

// SignOptions are the answers of `sign`.
type SignOptions struct {
	Config     Config // only of the signer's own keyring
	Request    string // file to sign
	Evidence   string // where to write; "" beside the request
	Authority  string
	Passphrase []byte
	Approve    func(rendered string) (bool, error)
}

func (b *builder) sign() *cobra.Command {
	o := SignOptions{Config: Config{Store: StoreConfig{ID: signingStore,
		Path: filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d", signingStore, os.Getuid()))}}}
	var passFile string
	var newKey bool
	cmd := &cobra.Command{
		Use:   "sign [REQUEST]",
		Short: "Sign an authorization, confirmation or conclusion off-host, after showing it in full",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Authority == "" || len(args) == 0 && !newKey {
				return fmt.Errorf("%w: --authority and a request file are needed, or --new-key", errUsage)
			}
			if err := b.unwrap(&o.Config); err != nil {
				return err
			}
			if newKey {
				return b.newAuthority(cmd.Context(), o, passFile)
			}
			o.Request = args[0]
			return b.signRequest(cmd.Context(), o, passFile)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Authority, "authority", "", "name of the signing authority")
	f.StringVar(&o.Config.Keyring, "keyring", "os", `"os", or "file:DIR" with an absolute folder`)
	f.StringVar(&o.Evidence, "out", "", "where to write the evidence; default: beside the request, with .signed")
	f.BoolVar(&newKey, "new-key", false, "create the authority's key and print its public half")
	f.StringVar(&passFile, "passphrase-file", "", "file with the passphrase; - is standard input")
	return cmd
}

func (b *builder) newAuthority(ctx context.Context, o SignOptions, passFile string) (err error) {
	o.Passphrase, err = b.newSecret(passFile, "Passphrase of "+o.Authority, b.w.CheckPassphrase)
	if err != nil {
		return err
	}
	return b.w.NewAuthority(ctx, o, b.out)
}

func (b *builder) signRequest(ctx context.Context, o SignOptions, passFile string) (err error) {
	o.Passphrase, err = b.secret(passFile, func() ([]byte, error) { return askSecret("Passphrase of " + o.Authority + ": ") })
	if err != nil {
		return err
	}
	o.Approve = approveText
	evidence, err := b.w.Sign(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%s: put it into the inbox of the console\n", evidence)
	return nil
}

func approveText(rendered string) (bool, error) {
	answer, err := askLine(rendered + "\nType yes to sign exactly this: ")
	return answer == "yes", err
}
