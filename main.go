// Countersign is a terminal console with which an on-call operator makes one
// guarded change to a pfSense firewall and knows for certain what happened.
//
// This file constructs the real parts and hands them to the rooms; everything
// else is elsewhere (docs/architecture.md).
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
	"countersign/pfsense/sim"
	"countersign/store"
	"countersign/tui"
	"countersign/tui/command"
	"countersign/tui/story"
)

func main() {
	// A core dump would put on disk what is only ever held in memory.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	os.Exit(command.Execute(context.Background(), wiring{}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// wiring implements command.Wiring.
type wiring struct{}

// recipe is what one set of parts is made from.
type recipe struct {
	config   command.Config
	ring     keys.Keyring
	clock    core.Clock
	sender   func(core.Sender) core.Sender // nil: as it is
	cost     keys.Cost
	progress func(done, total int) // of the verified scan; nil: tell nobody
}

// parts are the real ports behind one engine.
type parts struct {
	engine *core.Engine
	store  *store.Store
	closes []func() error
}

// Wait returns when nothing is under way any more.
func (p *parts) Wait() {
	if p.engine != nil {
		p.engine.Wait()
	}
}

// Close waits for what is under way and releases in reverse order.
func (p *parts) Close() error {
	p.Wait()
	var err error
	for i := len(p.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, p.closes[i]())
	}
	p.closes = nil
	return err
}

// build opens everything an engine needs. What was opened is released when a
// later part cannot be.
func build(ctx context.Context, r recipe) (_ *parts, err error) {
	p := &parts{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	c := r.config
	storeKeys, err := keys.LoadStoreKeys(ctx, r.ring)
	if err != nil {
		return p, command.KeyringError(err)
	}
	options := storeOptions(c, storeKeys, r.clock)
	options.Progress = r.progress
	if p.store, err = store.Open(ctx, options); err != nil {
		return p, command.StoreError(err)
	}
	p.closes = append(p.closes, p.store.Close)
	lock, err := store.NewLock(c.Store.Path)
	if err != nil {
		return p, command.StoreError(err)
	}
	p.closes = append(p.closes, lock.Release)
	sealer, err := keys.NewSealer(storeKeys.Artifact, storeKeys.ArtifactKeyID, rand.Reader)
	if err != nil {
		return p, command.KeyringError(err)
	}
	appliance, err := connect(ctx, c, r.ring, r.clock)
	if err != nil {
		return p, err
	}
	p.closes = append(p.closes, appliance.Close)
	ports := core.Ports{Reader: appliance, Sender: appliance.Sender, Loader: appliance.Loader}
	if r.sender != nil {
		ports.Sender = r.sender(ports.Sender)
	}
	if ports.OffHost, err = pinned(c); err != nil {
		return p, err
	}
	if ports.OffHost != nil {
		if ports.Inbox, err = keys.InitInbox(c.Inbox); err != nil {
			return p, err
		}
		if err = os.MkdirAll(requestsFolder(c), 0o700); err != nil {
			return p, err
		}
		ports.Requests = keys.RequestFiles{}
	}
	ports.Store, ports.Lock, ports.Sealer, ports.Clock, ports.Random = p.store, lock, sealer, r.clock, rand.Reader
	ports.Anchor, ports.Capabilities = keys.NewRingAnchor(r.ring), pfsense.Capabilities()
	ports.Operators = keys.NewOperators(operatorConfig(r, p.store))
	ports.Sleep = func(ctx context.Context, d time.Duration) { _ = keys.Sleep(ctx, d) }
	p.engine = core.NewEngine(ports, core.Settings{Operator: c.Operator, Appliance: c.Appliance.Host(),
		Windows: c.Policy.Windows(), OnTheSpot: c.Policy.AllowsOnTheSpot()})
	return p, nil
}

func storeOptions(c command.Config, k keys.StoreKeys, clock core.Clock) store.Options {
	return store.Options{Path: c.Store.Path, StoreID: c.Store.ID, IntegrityKey: k.Integrity.Bytes(), Clock: clock,
		Limits: c.Policy.Limits(), Settle: c.Policy.Windows().Settle}
}

func operatorConfig(r recipe, s *store.Store) keys.OperatorConfig {
	return keys.OperatorConfig{Ring: r.ring, StoreID: r.config.Store.ID, Pins: s, Attempts: keys.StoredAttempts(s), Clock: r.clock,
		Sleep: keys.Sleep, Random: rand.Reader, Cost: r.cost}
}

// connect makes the ways to the configured firewall; it contacts nothing.
func connect(ctx context.Context, c command.Config, ring keys.Keyring, clock core.Clock) (*pfsense.Appliance, error) {
	secret, err := keys.LoadAPIKey(ctx, ring, c.Appliance.Host())
	if err != nil {
		return nil, command.KeyringError(err)
	}
	defer secret.Clear()
	return connectWith(c, secret.Bytes(), clock)
}

func connectWith(c command.Config, secret []byte, clock core.Clock) (*pfsense.Appliance, error) {
	key, err := pfsense.NewAPIKey(string(secret))
	if err != nil {
		return nil, err
	}
	trust := pfsense.SystemRoots()
	switch {
	case c.Appliance.Pin != "":
		trust, err = pfsense.PinnedKey(c.Appliance.Pin)
	case c.Appliance.CAFile != "":
		trust, err = pfsense.CAFile(c.Appliance.CAFile)
	}
	if err != nil {
		return nil, err
	}
	return pfsense.Connect(pfsense.Config{BaseURL: c.Appliance.URL, TLS: trust, Key: key, Proxy: c.Appliance.Proxy, Clock: clock})
}

// pinned makes the verifier of off-host authorities; nil without any, which
// closes the inbox.
func pinned(c command.Config) (core.Verifier, error) {
	if len(c.Authority) == 0 {
		return nil, nil
	}
	var pins []keys.PinnedKey
	for _, a := range c.Authority {
		pin, err := keys.ParsePin(a.ID, a.Kind, a.Key, a.Active)
		if err != nil {
			return nil, fmt.Errorf("%w: authority %s: %w", command.ErrConfig, a.ID, err)
		}
		pins = append(pins, pin)
	}
	return keys.NewPinned(pins...)
}

// openRing opens the keyring that the configuration names, and no other.
func openRing(ctx context.Context, c command.Config) (keys.Keyring, io.Closer, error) {
	ring, closer, err := keys.OpenRing(ctx, c.Keyring, c.Store.ID, keyringLock(c), c.KeyringPassphrase())
	return ring, closer, command.KeyringError(err)
}

func keyringLock(c command.Config) string { return c.Store.Path + ".keyring-lock" }

// start opens the configured keyring, builds an engine on it and starts it.
// What was begun is finished even where ctx ends meanwhile: a start may move
// contracts to RECONCILIATION.
func start(ctx context.Context, r recipe) (p *parts, report core.StartReport, err error) {
	ring, closer, err := openRing(ctx, r.config)
	if err != nil {
		return &parts{}, report, err
	}
	r.ring, r.clock = ring, core.SystemClock{}
	if p, err = build(ctx, r); err != nil {
		return p, report, errors.Join(err, closer.Close())
	}
	p.closes = append([]func() error{closer.Close}, p.closes...)
	if err = ctx.Err(); err == nil {
		report, err = p.engine.Start(context.WithoutCancel(ctx))
	}
	return p, report, err
}

// Console runs the full-screen program on the configured parts, which are
// opened behind its first frame.
func (wiring) Console(ctx context.Context, c command.Config, o command.ConsoleOptions) error {
	p := &parts{}
	open := func(ctx context.Context, progress func(done, total int)) (_ tui.Engine, report core.StartReport, err error) {
		p, report, err = start(ctx, recipe{config: c, progress: progress})
		return p.engine, report, err
	}
	err := tui.Run(ctx, tui.Options{Open: open, Wait: func() { p.Wait() }, Appliance: c.Appliance.Host(),
		Operator: c.Operator, ASCII: o.ASCII, NoColor: o.NoColor, RequestPath: requestPath(c)})
	return errors.Join(err, p.Close())
}

// requestPath names files for requests that are signed elsewhere; nil where
// no authority is pinned, so that none are offered. They hold values in plain
// text: owner-only, in a folder of their own beside the inbox.
func requestPath(c command.Config) func(core.ProofKind, string) string {
	if len(c.Authority) == 0 {
		return nil
	}
	return func(kind core.ProofKind, name string) string {
		return filepath.Join(requestsFolder(c), string(kind)+"-"+name+".request")
	}
}

func requestsFolder(c command.Config) string { return filepath.Join(filepath.Dir(c.Inbox), "requests") }

// Init tries the firewall, creates keys, store, anchor and the first operator,
// and writes the configuration last: without it nothing of this is used.
func (wiring) Init(ctx context.Context, o command.InitOptions) (err error) {
	c := &o.Config
	if c.Appliance.URL, err = pfsense.NormalizeBaseURL(c.Appliance.URL); err != nil {
		return fmt.Errorf("%w: %w", command.ErrConfig, err)
	}
	if c.Appliance.CAFile == "" {
		if c.Appliance.Pin, err = approvedPin(ctx, c.Appliance.URL, o.Approve); err != nil {
			return err
		}
	}
	apiKey, err := o.APIKey()
	if err == nil {
		err = try(ctx, *c, apiKey)
	}
	if err != nil {
		return err
	}
	passphrase, err := o.Passphrase(keys.CheckPassphrase)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Store.Path), 0o700); err != nil {
		return command.StoreError(err)
	}
	ring, closer, err := keys.InitRing(ctx, c.Keyring, c.Store.ID, keyringLock(*c), c.KeyringPassphrase())
	if err != nil {
		return command.KeyringError(err)
	}
	defer closer.Close()
	if err := provision(ctx, recipe{config: *c, ring: ring, clock: core.SystemClock{}}, apiKey, passphrase); err != nil {
		return err
	}
	if err := c.Write(o.ConfigPath); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "store      %s\nkeyring    %s\noperator   %s\nfirewall   %s\nconfig     %s\nNow run `countersign doctor`, then `countersign`.\n",
		c.Store.Path, c.Keyring, c.Operator, c.Appliance.URL, o.ConfigPath)
	return nil
}

func approvedPin(ctx context.Context, base string, approve func(string) (bool, error)) (string, error) {
	presented, err := pfsense.FetchFingerprint(ctx, base)
	if err != nil {
		return "", err
	}
	fingerprint := presented.Pin.String()
	ok, err := approve(fingerprint)
	if err == nil && !ok {
		err = errors.New("the firewall's public key was not approved; nothing was changed")
	}
	return fingerprint, err
}

// try reads the firewall's version, so that a key it refuses is not kept.
func try(ctx context.Context, c command.Config, apiKey []byte) error {
	firewall, err := connectWith(c, apiKey, core.SystemClock{})
	if err != nil {
		return err
	}
	_, err = firewall.Status(ctx)
	return errors.Join(err, firewall.Close())
}

// provision makes everything a store needs: keys, anchor, store, operator.
// Where it cannot finish, it takes back what it made, so that it can be tried
// again.
func provision(ctx context.Context, r recipe, apiKey, passphrase []byte) (err error) {
	var undo []func() error
	defer func() {
		for i := len(undo) - 1; err != nil && i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	made := func(items ...string) {
		for _, item := range items {
			undo = append(undo, func() error { return r.ring.Delete(context.WithoutCancel(ctx), item) })
		}
	}
	storeKeys, err := keys.InitStoreKeys(ctx, r.ring, keys.StoreKeyConfig{Random: rand.Reader})
	if err != nil {
		return command.KeyringError(err)
	}
	defer storeKeys.Clear()
	made(keys.ItemIntegrityKey, keys.ItemArtifactKey)
	host := r.config.Appliance.Host()
	if err := keys.SetAPIKey(ctx, r.ring, host, apiKey); err != nil {
		return command.KeyringError(err)
	}
	made(keys.ItemAPIKey(host))
	if err := keys.NewRingAnchor(r.ring).Provision(ctx, 0); err != nil {
		return command.KeyringError(err)
	}
	made(keys.ItemAnchor)
	s, err := store.Create(ctx, storeOptions(r.config, storeKeys, r.clock))
	if err != nil {
		return command.StoreError(err)
	}
	undo = append(undo, func() error { return os.Remove(r.config.Store.Path) })
	commitment, err := keys.NewOperators(operatorConfig(r, s)).Enrol(ctx, r.config.Operator, passphrase)
	if err == nil {
		made(keys.ItemOperator(r.config.Operator))
		err = s.PinOperator(ctx, r.config.Operator, commitment)
	}
	return errors.Join(err, s.Close())
}

// Doctor checks every part by itself and changes nothing.
func (wiring) Doctor(ctx context.Context, c command.Config, out io.Writer) error {
	checks := command.Checks{Out: out}
	ring, closer, err := openRing(ctx, c)
	if !checks.Check("keyring", err) {
		return checks.Err()
	}
	defer closer.Close()
	k, err := keys.LoadStoreKeys(ctx, ring)
	if checks.Check("keys", command.KeyringError(err)) {
		_, err = store.Verify(ctx, storeOptions(c, k, core.SystemClock{}), nil)
		checks.Check("store", command.StoreError(err))
	}
	_, err = keys.NewRingAnchor(ring).Read(ctx)
	checks.Check("anchor", command.KeyringError(err))
	firewall, err := connect(ctx, c, ring, core.SystemClock{})
	if err != nil {
		checks.Check("firewall", err)
		return checks.Err()
	}
	defer firewall.Close()
	status, err := firewall.Status(ctx)
	checks.Check("firewall", err)
	for _, w := range status.Warnings {
		checks.Note(w)
	}
	return checks.Err()
}

// Demo runs the story headless, or the console on seeded parts.
func (w wiring) Demo(ctx context.Context, o command.DemoOptions) error {
	if o.Headless {
		var teller story.Teller = &story.TextTeller{W: o.Out}
		if o.JSON {
			teller = story.JSONTeller{W: o.Out}
		}
		return story.Run(ctx, func(ctx context.Context) (story.Bench, error) {
			p, err := newDemo(ctx, 0)
			if err != nil {
				return nil, err
			}
			return story.NewBench(ctx, p)
		}, teller)
	}
	p, err := newDemo(ctx, -story.SeedAge)
	if err != nil {
		return err
	}
	bench, err := story.NewBench(ctx, p)
	if err != nil {
		return errors.Join(err, p.Remove())
	}
	err = story.Seed(ctx, bench, p.Simulator())
	if err == nil {
		err = bench.Reopen(ctx)
	}
	if err == nil {
		err = tui.Run(ctx, tui.Options{Engine: bench.Engine(), Operator: demoOperator, ASCII: o.ASCII,
			Wait: bench.Engine().Wait, RequestPath: requestPath(p.config), Practice: p.sim,
			Banner: "demo: everything here is temporary; the passphrase of " + demoOperator + " is " + demoPassphrase})
	}
	return errors.Join(err, bench.Close())
}

const (
	demoOperator   = "jo"
	demoPassphrase = "correct horse"
	demoAuthority  = "owner"
)

// demo implements story.Parts: real parts in a temporary folder.
type demo struct {
	dir     string
	sim     sim.Practice
	ring    *keys.FileRing
	signer  *keys.SigningKey
	clock   story.Clock
	config  command.Config
	current *parts
}

// demoCost keeps the demo quick; its passphrase is on the screen anyway.
var demoCost = keys.Cost{Time: 1, MemoryKiB: 8 << 10, Threads: 1}

func newDemo(ctx context.Context, offset time.Duration) (*demo, error) {
	dir, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{dir: dir}
	d.clock.Shift(offset)
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

func (d *demo) prepare(ctx context.Context) (err error) {
	if d.sim, err = sim.NewPractice(sim.Options{}); err != nil {
		return err
	}
	c := command.DefaultConfig()
	c.Operator, c.Keyring = demoOperator, "file:"+filepath.Join(d.dir, "keyring")
	c.Appliance = command.ApplianceConfig{URL: d.sim.URL(), Pin: d.sim.Fingerprint()}
	c.Inbox = filepath.Join(d.dir, "inbox")
	c.Store = command.StoreConfig{Path: filepath.Join(d.dir, "store", "contracts.sqlite3"), ID: "demo"}
	ring, err := keys.InitFileRing(ctx, keys.FileRingConfig{Dir: filepath.Join(d.dir, "keyring"), StoreID: c.Store.ID, Random: rand.Reader}, nil)
	if err != nil {
		return err
	}
	d.ring = ring
	d.signer, err = keys.CreateSigningKey(ctx, ring, rand.Reader, demoCost, demoAuthority, []byte(demoPassphrase))
	if err != nil {
		return err
	}
	public, err := d.signer.PublicKey(core.ProofAuthorization)
	if err != nil {
		return err
	}
	c.Authority = []command.PinnedKey{{ID: demoAuthority, Kind: string(core.ProofAuthorization), Key: hex.EncodeToString(public), Active: true}}
	d.config = c
	return provision(ctx, d.recipe(), []byte(d.sim.APIKey()), []byte(demoPassphrase))
}

func (d *demo) recipe() recipe {
	return recipe{config: d.config, ring: d.ring, clock: &d.clock, cost: demoCost}
}

// Open opens the parts and starts an engine.
func (d *demo) Open(ctx context.Context) (*core.Engine, core.StartReport, error) {
	p, err := build(ctx, d.recipe())
	if err != nil {
		return nil, core.StartReport{}, err
	}
	d.current = p
	report, err := p.engine.Start(ctx)
	return p.engine, report, err
}

// Close ends the engine.
func (d *demo) Close() error {
	if d.current == nil {
		return nil
	}
	p := d.current
	d.current = nil
	return p.Close()
}

// Child runs this program once more over the demo's store.
func (d *demo) Child(ctx context.Context, contractID string) (*exec.Cmd, error) {
	base := filepath.Join(d.dir, contractID)
	if err := d.config.Write(base + ".toml"); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, "demo-child", base), nil
}

// DemoChild executes the contract that dir names and is killed by its own
// sender, between the durable acquisition and the first request byte.
func (wiring) DemoChild(ctx context.Context, dir string) error {
	c, err := command.LoadConfig(dir + ".toml")
	if err != nil {
		return err
	}
	p, _, err := start(ctx, recipe{config: c, cost: demoCost,
		sender: func(core.Sender) core.Sender { return story.KillingSender{} }})
	if err != nil {
		return errors.Join(err, p.Close())
	}
	if err := p.engine.Execute(ctx, filepath.Base(dir)); err != nil {
		return err
	}
	return p.Close()
}

// StorePath is where the demo's store is.
func (d *demo) StorePath() string { return d.config.Store.Path }

// OffHost is the authority that authorizes from elsewhere.
func (d *demo) OffHost() core.Authority { return d.signer }

// Clock is the clock of everything but the simulator.
func (d *demo) Clock() *story.Clock { return &d.clock }

// Operator returns the demo's operator; the passphrase is a copy, for whoever
// uses it erases it.
func (d *demo) Operator() (string, []byte) { return demoOperator, []byte(demoPassphrase) }

// Remove ends the simulator and deletes the folder.
func (d *demo) Remove() error {
	if d.signer != nil {
		d.signer.Close()
	}
	var err error
	if d.ring != nil {
		err = d.ring.Close()
	}
	if d.sim.Server != nil {
		d.sim.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Simulator is the appliance of the story.
func (d *demo) Simulator() story.Simulator { return d.sim }

// Sim runs the simulator until it is interrupted.
func (wiring) Sim(ctx context.Context, o command.SimOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, unix.SIGTERM)
	defer stop()
	opts := sim.RunOptions{Options: sim.Options{Profile: o.Profile, Addr: o.Address}, Faults: o.Faults}
	if o.Config != "" {
		var err error
		if opts.Config, err = os.ReadFile(o.Config); err != nil {
			return command.UsageError(err)
		}
	}
	if o.Seed != 0 {
		opts.Rand = mathrand.New(mathrand.NewPCG(uint64(o.Seed), 0))
	}
	return command.UsageError(sim.Run(ctx, o.Out, opts))
}

// signingStore names the keyring items of an off-host signer, which has no store.
const signingStore = "countersign-signing"

// Sign shows a request in full and signs exactly that, or makes the
// authority's key. It opens no store and contacts nothing.
func (wiring) Sign(ctx context.Context, o command.SignOptions) error {
	open := keys.OpenRing
	if o.NewKey {
		open = keys.InitRing
	}
	lock := filepath.Join(os.TempDir(), signingStore+".lock")
	ring, closer, err := open(ctx, o.Keyring, signingStore, lock, nil)
	if err != nil {
		return command.KeyringError(err)
	}
	defer closer.Close()
	if o.NewKey {
		return command.KeyringError(keys.NewAuthority(ctx, ring, rand.Reader, o.Authority, o.Passphrase, o.Out))
	}
	evidence, err := keys.SignFile{Request: o.Request, Evidence: o.Evidence, Authority: o.Authority, Passphrase: o.Passphrase,
		Capabilities: pfsense.Capabilities(), Now: time.Now(), Approve: o.Approve}.Sign(ctx, ring)
	if err == nil {
		fmt.Fprintf(o.Out, "%s: put it into the inbox of the console\n", evidence)
	}
	return err
}

// Verify checks a store or a copy completely, offline.
func (wiring) Verify(ctx context.Context, o command.VerifyOptions) error {
	c := o.Config
	if o.Path != "" {
		c.Store.Path = o.Path
	}
	return withStoreKeys(ctx, o.Config, func(k keys.StoreKeys) error {
		report, err := store.Verify(ctx, storeOptions(c, k, core.SystemClock{}), o.Progress)
		if o.JSON {
			if jsonErr := json.NewEncoder(o.Out).Encode(report); jsonErr != nil {
				return jsonErr
			}
		} else if err == nil {
			fmt.Fprintf(o.Out, "%s: every record and every chain holds (contracts: %d, events: %d)\n", c.Store.Path, report.Contracts, report.Events)
		}
		if err != nil {
			return command.StoreError(fmt.Errorf("%s does not verify: %w", c.Store.Path, err))
		}
		return nil
	})
}

// Export prints the value-free audit trail.
func (wiring) Export(ctx context.Context, c command.Config, out io.Writer) error {
	return withStore(ctx, c, func(s *store.Store) error { return core.ExportAudit(ctx, s, out) })
}

// Backup makes a verified copy while the console may be running.
func (wiring) Backup(ctx context.Context, c command.Config, destination string, out io.Writer) error {
	return withStore(ctx, c, func(s *store.Store) error {
		if err := s.Backup(ctx, destination); err != nil {
			return command.StoreError(err)
		}
		fmt.Fprintf(out, "%s: a verified copy\n", destination)
		return nil
	})
}

// withStoreKeys opens the configured keyring for as long as do needs the keys.
func withStoreKeys(ctx context.Context, c command.Config, do func(keys.StoreKeys) error) error {
	ring, closer, err := openRing(ctx, c)
	if err != nil {
		return err
	}
	defer closer.Close()
	k, err := keys.LoadStoreKeys(ctx, ring)
	if err != nil {
		return command.KeyringError(err)
	}
	defer k.Clear()
	return do(k)
}

func withStore(ctx context.Context, c command.Config, do func(*store.Store) error) error {
	return withStoreKeys(ctx, c, func(k keys.StoreKeys) error {
		s, err := store.Open(ctx, storeOptions(c, k, core.SystemClock{}))
		if err != nil {
			return command.StoreError(err)
		}
		return errors.Join(do(s), s.Close())
	})
}
