package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"countersign/core"
)

func (b *builder) operator() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Enrol another operator, list them, or change a passphrase",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(b.operatorAdd(), b.operatorList(), b.operatorPassphrase())
	return cmd
}

// newcomer is who `operator add` enrols, and who vouches.
type newcomer struct {
	name, passphraseFile string
	by, byPassphraseFile string
}

func (b *builder) operatorAdd() *cobra.Command {
	var n newcomer
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Enrol an operator, for whom an enrolled one vouches with a passphrase",
		Long: "An operator who is enrolled gives a passphrase to vouch for the newcomer, who then chooses\n" +
			"one, typed twice. It cannot be done while a console is running on the same store.",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			n.name = args[0]
			if n.by == "" {
				n.by = c.Operator
			}
			switch {
			case !core.ValidIdentifier(n.name):
				return fmt.Errorf("%w: an operator's name is 1 to 128 of A-Z a-z 0-9 . _ : -", errUsage)
			case n.by == "":
				return fmt.Errorf("%w: --by is needed: who vouches for %s", errUsage, n.name)
			}
			return b.w.Operators(cmd.Context(), c, true, func(o Operators) error { return b.admit(cmd.Context(), o, n) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.by, "by", "", "the enrolled operator who vouches; default: operator of the configuration")
	f.StringVar(&n.byPassphraseFile, "by-passphrase-file", "", "file with that operator's passphrase; - is standard input")
	f.StringVar(&n.passphraseFile, "passphrase-file", "", "file with the newcomer's passphrase; - is standard input")
	return cmd
}

func (b *builder) admit(ctx context.Context, o Operators, n newcomer) error {
	enrolled, err := o.Enrolled(ctx)
	switch {
	case err != nil:
		return err
	case slices.Contains(enrolled, n.name):
		return fmt.Errorf("%s is enrolled already; nothing was changed", n.name)
	case !slices.Contains(enrolled, n.by):
		return onOperator(n.by, core.ErrUnknownOperator)
	}
	vouching, err := b.secret(n.byPassphraseFile, func() ([]byte, error) {
		return askSecret("Passphrase of " + n.by + ", to vouch for " + n.name + ": ")
	})
	if err == nil {
		err = o.Vouch(ctx, n.by, vouching)
	}
	if err != nil {
		return onOperator(n.by, err)
	}
	passphrase, err := b.newSecret(n.passphraseFile, "Passphrase that "+n.name+" chooses", b.w.CheckPassphrase)
	if err == nil {
		err = o.Admit(ctx, n.name, passphrase)
	}
	if err != nil {
		return onOperator(n.name, err)
	}
	fmt.Fprintf(b.out, "%s is enrolled; %s vouched.\n`countersign --operator %s` starts the console for that passphrase.\n",
		n.name, n.by, n.name)
	return nil
}

// onOperator says whose passphrase or key an error is about.
func onOperator(name string, err error) error {
	if errors.Is(err, core.ErrWrongPassphrase) || errors.Is(err, core.ErrUnknownOperator) {
		return fmt.Errorf("%s: %w; nothing was changed", name, err)
	}
	return err
}

func (b *builder) operatorList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the enrolled operators, and whether their keys are in this keyring",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			return b.w.Operators(cmd.Context(), c, false, func(o Operators) error {
				names, err := o.Enrolled(cmd.Context())
				for _, name := range names {
					key := "key in the keyring"
					if err := o.Present(cmd.Context(), name); err != nil {
						key = "no key: " + err.Error()
					}
					fmt.Fprintf(b.out, "%-20s %s\n", name, key)
				}
				return err
			})
		},
	}
}

func (b *builder) operatorPassphrase() *cobra.Command {
	var oldFile, newFile string
	cmd := &cobra.Command{
		Use:   "passphrase NAME",
		Short: "Change an operator's passphrase; the key under it stays the same",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := b.config()
			if err != nil {
				return err
			}
			return b.w.Operators(cmd.Context(), c, true, func(o Operators) error {
				return b.changePassphrase(cmd.Context(), o, args[0], oldFile, newFile)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&oldFile, "old-passphrase-file", "", "file with the passphrase until now; - is standard input")
	f.StringVar(&newFile, "passphrase-file", "", "file with the new passphrase; - is standard input")
	return cmd
}

// changePassphrase has the old one tried before anybody thinks of a new one.
func (b *builder) changePassphrase(ctx context.Context, o Operators, name, oldFile, newFile string) error {
	enrolled, err := o.Enrolled(ctx)
	if err == nil && !slices.Contains(enrolled, name) {
		err = onOperator(name, core.ErrUnknownOperator)
	}
	if err != nil {
		return err
	}
	old, err := b.secret(oldFile, func() ([]byte, error) { return askSecret("Passphrase of " + name + ": ") })
	if err != nil {
		return err
	}
	defer clear(old)
	if err := o.Vouch(ctx, name, append([]byte(nil), old...)); err != nil {
		return onOperator(name, err)
	}
	chosen, err := b.newSecret(newFile, "New passphrase of "+name, b.w.CheckPassphrase)
	if err == nil {
		err = o.ChangePassphrase(ctx, name, old, chosen)
	}
	if err != nil {
		return onOperator(name, err)
	}
	fmt.Fprintf(b.out, "The passphrase of %s is changed; the key under it is the same.\n", name)
	return nil
}
