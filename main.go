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
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
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
	os.Exit(command.Execute(context.Background(), wiring{}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// wiring implements command.Wiring.
type wiring struct{}

// recipe is what one set of parts is made from.
type recipe struct {
	config command.Config
	ring   keys.Keyring
	clock  core.Clock
	sender func(core.Sender) core.Sender // nil: as it is
	cost   keys.Cost
}

// parts are the real ports behind one engine.
type parts struct {
	engine *core.Engine
	store  *store.Store
	closes []func() error
}

// Close waits for what is under way and releases in reverse order.
func (p *parts) Close() error {
	if p.engine != nil {
		p.engine.Wait()
	}
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
		return p, keyringError(err)
	}
	p.store, err = store.Open(ctx, storeOptions(c, storeKeys, r.clock))
	if err != nil {
		return p, storeError(err)
	}
	p.closes = append(p.closes, p.store.Close)
	lock, err := store.NewLock(c.Store.Path)
	if err != nil {
		return p, storeError(err)
	}
	p.closes = append(p.closes, lock.Release)
	sealer, err := keys.NewSealer(storeKeys.Artifact, storeKeys.ArtifactKeyID, rand.Reader)
	if err != nil {
		return p, keyringError(err)
	}
	appliance, err := applianceConfig(ctx, c, r.ring, r.clock)
	if err != nil {
		return p, err
	}
	ports, err := p.appliancePorts(appliance)
	if err != nil {
		return p, err
	}
	if r.sender != nil {
		ports.Sender = r.sender(ports.Sender)
	}
	ports.OffHost, err = pinned(c)
	if err != nil {
		return p, err
	}
	ports.Store, ports.Lock, ports.Sealer, ports.Clock, ports.Random = p.store, lock, sealer, r.clock, rand.Reader
	ports.Anchor, ports.Capabilities = keys.NewRingAnchor(r.ring), pfsense.Capabilities()
	ports.Operators = keys.NewOperators(operatorConfig(r, p.store))
	ports.Sleep = func(ctx context.Context, d time.Duration) { _ = keys.Sleep(ctx, d) }
	p.engine = core.NewEngine(ports, core.Settings{Operator: c.Operator, Appliance: hostOf(c.Appliance.URL),
		Windows: c.Policy.Windows(), OnTheSpot: c.Policy.AllowsOnTheSpot()})
	return p, nil
}

func storeOptions(c command.Config, k keys.StoreKeys, clock core.Clock) store.Options {
	return store.Options{Path: c.Store.Path, StoreID: c.Store.ID, IntegrityKey: k.Integrity.Bytes(), Clock: clock,
		Limits: c.Policy.Limits(), Settle: c.Policy.Windows().Settle}
}

func operatorConfig(r recipe, s *store.Store) keys.OperatorConfig {
	return keys.OperatorConfig{Ring: r.ring, StoreID: r.config.Store.ID, Pins: s, Clock: r.clock,
		Sleep: keys.Sleep, Random: rand.Reader, Cost: r.cost}
}

// appliancePorts opens the three ways to the firewall: reading, sending,
// loading. They are different types.
func (p *parts) appliancePorts(c pfsense.Config) (core.Ports, error) {
	reader, err := pfsense.NewReader(c)
	if err != nil {
		return core.Ports{}, err
	}
	p.closes = append(p.closes, func() error { reader.Close(); return nil })
	sender, err := pfsense.NewSender(c)
	if err != nil {
		return core.Ports{}, err
	}
	loader, err := pfsense.NewLoader(c)
	if err != nil {
		return core.Ports{}, err
	}
	p.closes = append(p.closes, func() error { loader.Close(); return nil })
	return core.Ports{Reader: reader, Sender: sender, Loader: loader}, nil
}

func applianceConfig(ctx context.Context, c command.Config, ring keys.Keyring, clock core.Clock) (pfsense.Config, error) {
	secret, err := keys.LoadAPIKey(ctx, ring, apiKeyName(c))
	if err != nil {
		return pfsense.Config{}, keyringError(err)
	}
	defer secret.Clear()
	key, err := pfsense.NewAPIKey(string(secret.Bytes()))
	if err != nil {
		return pfsense.Config{}, err
	}
	trust := pfsense.SystemRoots()
	switch {
	case c.Appliance.Pin != "":
		trust, err = pfsense.PinnedKey(c.Appliance.Pin)
	case c.Appliance.CAFile != "":
		trust, err = pfsense.CAFile(c.Appliance.CAFile)
	}
	return pfsense.Config{BaseURL: c.Appliance.URL, TLS: trust, Key: key, Proxy: c.Appliance.Proxy, Clock: clock}, err
}

// apiKeyName: one key a firewall, whatever the spelling of its address.
func apiKeyName(c command.Config) string { return hostOf(c.Appliance.URL) }

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	return strings.ToLower(u.Host)
}

// pinned makes the verifier of off-host authorities; nil without any, which
// closes the inbox.
func pinned(c command.Config) (core.Verifier, error) {
	if len(c.Authority) == 0 {
		return nil, nil
	}
	var list []keys.PinnedKey
	for _, a := range c.Authority {
		key, err := keys.ParsePublicKey(a.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: authority %s: %w", command.ErrConfig, a.ID, err)
		}
		list = append(list, keys.PinnedKey{AuthorityID: a.ID, Kind: core.ProofKind(a.Kind), PublicKey: key, Active: a.Active})
	}
	return keys.NewPinned(list...)
}

// openRing opens the keyring that the configuration names, and no other.
func openRing(ctx context.Context, c command.Config, passphrase []byte) (keys.Keyring, func() error, error) {
	if dir, ok := strings.CutPrefix(c.Keyring, "file:"); ok {
		ring, err := keys.OpenFileRing(ctx, keys.FileRingConfig{Dir: dir, StoreID: c.Store.ID, Random: rand.Reader}, passphrase)
		if err != nil {
			return nil, nil, keyringError(err)
		}
		return ring, ring.Close, nil
	}
	ring, err := keys.NewOSRing(keys.OSRingConfig{StoreID: c.Store.ID, LockPath: c.Store.Path + ".keyring-lock"})
	if err != nil {
		return nil, nil, keyringError(err)
	}
	return ring, func() error { return nil }, nil
}

// Console runs the full-screen program on the configured parts.
func (wiring) Console(ctx context.Context, c command.Config, o command.ConsoleOptions) error {
	ring, closeRing, err := openRing(ctx, c, o.KeyringSecret)
	if err != nil {
		return err
	}
	defer closeRing()
	p, err := build(ctx, recipe{config: c, ring: ring, clock: core.SystemClock{}})
	if err != nil {
		return err
	}
	err = tui.Run(ctx, tui.Options{Engine: p.engine, Operator: c.Operator, ASCII: o.ASCII, NoColor: o.NoColor})
	return errors.Join(err, p.Close())
}

// Init creates keys, store, anchor and the first operator, in this order, and
// writes the configuration last: without it nothing of this is used.
func (wiring) Init(ctx context.Context, o command.InitOptions) error {
	c := &o.Config
	if _, err := os.Stat(o.ConfigPath); err == nil {
		return fmt.Errorf("%w: %s exists already; nothing was changed", command.ErrConfig, o.ConfigPath)
	}
	base, err := pfsense.NormalizeBaseURL(c.Appliance.URL)
	if err != nil {
		return fmt.Errorf("%w: %w", command.ErrConfig, err)
	}
	c.Appliance.URL = base
	if c.Appliance.CAFile == "" {
		if c.Appliance.Pin, err = approvedPin(ctx, base, o.Approve); err != nil {
			return err
		}
	}
	ring, closeRing, err := initRing(ctx, *c)
	if err != nil {
		return err
	}
	defer closeRing()
	if err := provision(ctx, recipe{config: *c, ring: ring, clock: core.SystemClock{}}, o.APIKey, o.Passphrase); err != nil {
		return err
	}
	if err := c.Write(o.ConfigPath); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "store      %s\nkeyring    %s\noperator   %s\nfirewall   %s\nconfig     %s\n",
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

func initRing(ctx context.Context, c command.Config) (keys.Keyring, func() error, error) {
	if dir, ok := strings.CutPrefix(c.Keyring, "file:"); ok {
		ring, err := keys.InitFileRing(ctx, keys.FileRingConfig{Dir: dir, StoreID: c.Store.ID, Random: rand.Reader}, nil)
		if err != nil {
			return nil, nil, keyringError(err)
		}
		return ring, ring.Close, nil
	}
	return openRing(ctx, c, nil)
}

// provision makes everything a store needs: keys, anchor, store, operator.
func provision(ctx context.Context, r recipe, apiKey, passphrase []byte) error {
	storeKeys, err := keys.InitStoreKeys(ctx, r.ring, keys.StoreKeyConfig{Random: rand.Reader})
	if err != nil {
		return keyringError(err)
	}
	defer storeKeys.Clear()
	if err := keys.SetAPIKey(ctx, r.ring, apiKeyName(r.config), apiKey); err != nil {
		return keyringError(err)
	}
	if err := keys.NewRingAnchor(r.ring).Provision(ctx, 0); err != nil {
		return keyringError(err)
	}
	if err := os.MkdirAll(filepath.Dir(r.config.Store.Path), 0o700); err != nil {
		return storeError(err)
	}
	s, err := store.Create(ctx, storeOptions(r.config, storeKeys, r.clock))
	if err != nil {
		return storeError(err)
	}
	commitment, err := keys.NewOperators(operatorConfig(r, s)).Enrol(ctx, r.config.Operator, passphrase)
	if err == nil {
		err = s.PinOperator(ctx, r.config.Operator, commitment)
	}
	return errors.Join(err, s.Close())
}

// Doctor checks every part by itself and changes nothing.
func (wiring) Doctor(ctx context.Context, c command.Config, out io.Writer) error {
	check := func(what string, err error) error {
		if err != nil {
			fmt.Fprintf(out, "x %-10s %v\n", what, err)
			return err
		}
		fmt.Fprintf(out, "+ %-10s ok\n", what)
		return nil
	}
	ring, closeRing, err := openRing(ctx, c, nil)
	if check("keyring", err) != nil {
		return err
	}
	defer closeRing()
	k, err := keys.LoadStoreKeys(ctx, ring)
	failed := check("keys", err)
	if err == nil {
		_, err = store.Verify(ctx, storeOptions(c, k, core.SystemClock{}), nil)
		failed = errors.Join(failed, check("store", err))
	}
	_, err = keys.NewRingAnchor(ring).Read(ctx)
	failed = errors.Join(failed, check("anchor", err))
	appliance, err := applianceConfig(ctx, c, ring, core.SystemClock{})
	if err == nil {
		err = checkFirewall(ctx, appliance, out)
	}
	return errors.Join(failed, check("firewall", err))
}

func checkFirewall(ctx context.Context, c pfsense.Config, out io.Writer) error {
	reader, err := pfsense.NewReader(c)
	if err != nil {
		return err
	}
	defer reader.Close()
	status, err := reader.Status(ctx)
	for _, w := range status.Warnings {
		fmt.Fprintf(out, "  %-10s %s\n", "", w)
	}
	return err
}

func keyringError(err error) error {
	return &command.Classified{Code: command.ExitKeyring, Err: err, Hint: "run `countersign doctor` to see which part of the keyring does not answer"}
}

func storeError(err error) error {
	return &command.Classified{Code: command.ExitStore, Err: err, Hint: "nothing was changed; `countersign verify` says what is wrong in full"}
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
	sim     *sim.Server
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
	if d.sim, err = sim.New(sim.Options{}); err != nil {
		return err
	}
	admin := d.sim.Admin()
	admin.InsertAlias(3, "web_servers")
	admin.SetAliasAddresses("web_servers", []string{"192.0.2.10", "192.0.2.11", "192.0.2.12"}, []string{"web1", "web2", "standby"})
	admin.SetAliasDescription("web_servers", "Public web, old DC")
	admin.InsertAlias(4, "office_hosts")
	admin.SetAliasAddresses("office_hosts", []string{"198.51.100.40", "198.51.100.41"}, []string{"reception", "print server"})
	admin.SetAliasDescription("office_hosts", "Office hosts")
	admin.SetAliasAddresses("dns_ports", []string{"53", "853"}, []string{"DNS", "DNS over TLS"})

	c := command.DefaultConfig()
	c.Operator, c.Keyring = demoOperator, "file:"+filepath.Join(d.dir, "keyring")
	c.Appliance = command.ApplianceConfig{URL: d.sim.URL(), Pin: d.sim.Fingerprint()}
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
	ring, closeRing, err := openRing(ctx, c, nil)
	if err != nil {
		return err
	}
	defer closeRing()
	p, err := build(ctx, recipe{config: c, ring: ring, clock: core.SystemClock{}, cost: demoCost,
		sender: func(core.Sender) core.Sender { return story.KillingSender{} }})
	if err != nil {
		return err
	}
	if _, err := p.engine.Start(ctx); err != nil {
		return err
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
	if d.sim != nil {
		d.sim.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Simulator is the appliance of the story.
func (d *demo) Simulator() story.Simulator { return appliance{d.sim} }

// appliance implements story.Simulator.
type appliance struct{ *sim.Server }

const aliasWrites = "/firewall/alias"

func (a appliance) Sends() int { return a.Wire().Mutations }
func (a appliance) AliasDescription(name string) string {
	entry, _ := a.Alias(name)
	return entry.Descr
}
func (a appliance) EditAlias(name, text string) { a.Admin().SetAliasDescription(name, text) }
func (a appliance) LoseNextAnswer() {
	a.Inject(sim.Fault{Kind: sim.CommitThenDrop, Method: http.MethodPatch, Path: aliasWrites})
}
func (a appliance) EditAliasAfterReadings(readings int, name, text string) {
	a.Inject(sim.Fault{Kind: sim.Call, Method: http.MethodGet, Path: "/firewall/aliases", Skip: readings,
		At: sim.BeforeProcessing, Func: func(admin *sim.Admin) { admin.SetAliasDescription(name, text) }})
}

// Sim runs the simulator until it is interrupted.
func (wiring) Sim(ctx context.Context, o command.SimOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, unix.SIGTERM)
	defer stop()
	opts := sim.Options{Profile: o.Profile, Addr: o.Address}
	if o.Config != "" {
		text, err := os.ReadFile(o.Config)
		if err != nil {
			return err
		}
		opts.Config = text
	}
	if o.Seed != 0 {
		opts.Rand = mathrand.New(mathrand.NewPCG(uint64(o.Seed), 0))
	}
	server, err := sim.New(opts)
	if err != nil {
		return err
	}
	defer server.Close()
	for _, text := range o.Faults {
		fault, err := sim.ParseFault(text)
		if err != nil {
			return err
		}
		server.Inject(fault)
	}
	fmt.Fprintf(o.Out, "url          %s\napi key      %s\nfingerprint  %s\nprofile      %s\n", server.URL(), server.APIKey(), server.Fingerprint(), server.Profile())
	<-ctx.Done()
	return nil
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
			fmt.Fprintf(o.Out, "%s: %d contracts, %d events, every record and every chain holds\n", c.Store.Path, report.Contracts, report.Events)
		}
		if err != nil {
			return storeError(fmt.Errorf("%s does not verify: %w", c.Store.Path, err))
		}
		return nil
	})
}

// Export prints the value-free audit trail.
func (wiring) Export(ctx context.Context, c command.Config, out io.Writer) error {
	return withStore(ctx, c, func(s *store.Store) error { return core.ExportAudit(ctx, s, out) })
}

// withStoreKeys opens the configured keyring for as long as do needs the keys.
func withStoreKeys(ctx context.Context, c command.Config, do func(keys.StoreKeys) error) error {
	ring, closeRing, err := openRing(ctx, c, nil)
	if err != nil {
		return err
	}
	defer closeRing()
	k, err := keys.LoadStoreKeys(ctx, ring)
	if err != nil {
		return keyringError(err)
	}
	defer k.Clear()
	return do(k)
}

func withStore(ctx context.Context, c command.Config, do func(*store.Store) error) error {
	return withStoreKeys(ctx, c, func(k keys.StoreKeys) error {
		s, err := store.Open(ctx, storeOptions(c, k, core.SystemClock{}))
		if err != nil {
			return storeError(err)
		}
		return errors.Join(do(s), s.Close())
	})
}
