package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"countersign/core"
	"countersign/tui"
	"countersign/tui/story"
)

// The only operator and the only secret of a demo, and who signs off-host.
const (
	DemoOperator   = "jo"
	DemoPassphrase = "correct horse"
	DemoAuthority  = "owner"
)

// Demo is real parts in a temporary folder, over a simulated firewall. It
// implements story.Parts. Wiring.Practice fills in what is exported.
type Demo struct {
	Dir    string
	Config Config
	// Practice is the simulated firewall, Authority signs on another machine.
	Practice interface {
		story.Simulator
		tui.Practice
	}
	Authority core.Authority
	// Build opens parts over the demo's store; their engine is not started.
	Build func(ctx context.Context, p *Parts) error
	// Kept is released when the demo is removed.
	Kept Parts

	clock   story.Clock
	current Parts
}

var _ story.Parts = (*Demo)(nil)

// newDemo makes the parts of a demo whose clock is shifted.
func (b *builder) newDemo(ctx context.Context, offset time.Duration) (*Demo, error) {
	dir, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return nil, err
	}
	d := &Demo{Dir: dir, Config: DefaultConfig()}
	c := &d.Config
	c.Operator, c.Keyring, c.Inbox = DemoOperator, "file:"+d.KeyringDir(), filepath.Join(dir, "inbox")
	c.Store = StoreConfig{Path: filepath.Join(dir, "store", "contracts.sqlite3"), ID: "demo"}
	d.clock.Shift(offset)
	if err := b.w.Practice(ctx, d); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

// KeyringDir is where the demo's file keyring is.
func (d *Demo) KeyringDir() string { return filepath.Join(d.Dir, "keyring") }

// Open opens the parts and starts an engine.
func (d *Demo) Open(ctx context.Context) (*core.Engine, core.StartReport, error) {
	d.current = Parts{}
	if err := d.Build(ctx, &d.current); err != nil {
		return nil, core.StartReport{}, err
	}
	report, err := d.current.Engine.Start(ctx)
	return d.current.Engine, report, err
}

// Close ends the engine.
func (d *Demo) Close() error { return d.current.Close() }

// Child runs this program once more over the demo's store.
func (d *Demo) Child(ctx context.Context, contractID string) (*exec.Cmd, error) {
	base := filepath.Join(d.Dir, contractID)
	if err := d.Config.Write(base + ".toml"); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, "demo-child", base), nil
}

// StorePath is where the demo's store is.
func (d *Demo) StorePath() string { return d.Config.Store.Path }

// OffHost is the authority that authorizes from elsewhere.
func (d *Demo) OffHost() core.Authority { return d.Authority }

// Clock is the clock of everything but the simulator.
func (d *Demo) Clock() *story.Clock { return &d.clock }

// Operator returns the demo's operator; the passphrase is a copy, for whoever
// uses it erases it.
func (d *Demo) Operator() (string, []byte) { return DemoOperator, []byte(DemoPassphrase) }

// Simulator is the appliance of the story.
func (d *Demo) Simulator() story.Simulator { return d.Practice }

// Remove ends the simulator and deletes the folder.
func (d *Demo) Remove() error { return errors.Join(d.Kept.Close(), os.RemoveAll(d.Dir)) }

// demoOptions are the flags of `demo`.
type demoOptions struct{ headless, json, ascii bool }

func (b *builder) demo() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try the console on a temporary store and a simulated firewall",
		Long: "Runs the console on a temporary store, a file keyring and an embedded pfSense simulator,\n" +
			"with a few contracts of each kind already there. Without a terminal, or with --headless,\n" +
			"it runs the whole story on the same real parts and prints it.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.headless || o.json || !isTerminal() {
				return b.tellStory(cmd.Context(), o)
			}
			return b.playDemo(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.headless, "headless", false, "print the story instead of starting the console")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a step (implies --headless)")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
	return cmd
}

// tellStory runs every scene on parts of its own.
func (b *builder) tellStory(ctx context.Context, o demoOptions) error {
	var teller story.Teller = &story.TextTeller{W: b.out}
	if o.json {
		teller = story.JSONTeller{W: b.out}
	}
	return story.Run(ctx, func(ctx context.Context) (story.Bench, error) {
		d, err := b.newDemo(ctx, 0)
		if err != nil {
			return nil, err
		}
		return story.NewBench(ctx, d)
	}, teller)
}

// playDemo runs the console on parts with a history.
func (b *builder) playDemo(ctx context.Context, o demoOptions) error {
	d, err := b.newDemo(ctx, -story.SeedAge)
	if err != nil {
		return err
	}
	bench, err := story.NewBench(ctx, d)
	if err != nil {
		return errors.Join(err, d.Remove())
	}
	err = story.Seed(ctx, bench, d.Practice)
	if err == nil {
		err = bench.Reopen(ctx)
	}
	if err == nil {
		err = tui.Run(ctx, tui.Options{Engine: bench.Engine(), Operator: DemoOperator, ASCII: o.ascii,
			Wait: bench.Engine().Wait, RequestPath: d.Config.RequestPath(), Practice: d.Practice,
			Banner: "demo: everything here is temporary; the passphrase of " + DemoOperator + " is " + DemoPassphrase})
	}
	return errors.Join(err, bench.Close())
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
