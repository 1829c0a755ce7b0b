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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
	"countersign/pfsense/sim"
	"countersign/store"
	"countersign/tui/command"
	"countersign/tui/story"
)

func main() {
	keys.NoCoreDump()
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

// build opens everything an engine needs. Where a part cannot be opened, all
// of p is released.
func build(ctx context.Context, p *command.Parts, r recipe) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	c := r.config
	storeKeys, err := keys.LoadStoreKeys(ctx, r.ring)
	if err != nil {
		return command.KeyringError(err)
	}
	options := storeOptions(c, storeKeys, r.clock)
	options.Progress = r.progress
	s, err := store.Open(ctx, options)
	if err != nil {
		return command.StoreError(err)
	}
	p.Defer(s.Close)
	lock, err := store.NewLock(c.Store.Path)
	if err != nil {
		return command.StoreError(err)
	}
	p.Defer(lock.Release)
	sealer, err := keys.NewSealer(storeKeys.Artifact, storeKeys.ArtifactKeyID, rand.Reader)
	if err != nil {
		return command.KeyringError(err)
	}
	appliance, err := connect(ctx, c, r.ring, r.clock)
	if err != nil {
		return err
	}
	p.Defer(appliance.Close)
	ports := core.Ports{Reader: appliance, Sender: appliance.Sender, Loader: appliance.Loader}
	if r.sender != nil {
		ports.Sender = r.sender(ports.Sender)
	}
	if err := offHost(c, &ports); err != nil {
		return err
	}
	ports.Store, ports.Lock, ports.Sealer, ports.Clock, ports.Random = s, lock, sealer, r.clock, rand.Reader
	ports.Anchor, ports.Capabilities = keys.NewRingAnchor(r.ring), pfsense.Capabilities()
	ports.Operators = operators(r, s)
	ports.Sleep = func(ctx context.Context, d time.Duration) { _ = keys.Sleep(ctx, d) }
	p.Engine = core.NewEngine(ports, core.Settings{Operator: c.Operator, Appliance: c.Appliance.Host(),
		Windows: c.Policy.Windows(), OnTheSpot: c.Policy.AllowsOnTheSpot()})
	return nil
}

// storeOptions are those of a store that exists: only init makes one, and a
// file that was emptied must not begin again without its history.
func storeOptions(c command.Config, k keys.StoreKeys, clock core.Clock) store.Options {
	return store.Options{Path: c.Store.Path, StoreID: c.Store.ID, IntegrityKey: k.Integrity.Bytes(), Clock: clock, Existing: true,
		Limits: c.Policy.Limits(), Settle: c.Policy.Windows().Settle}
}

func operators(r recipe, s *store.Store) *keys.Operators {
	return keys.NewOperators(keys.OperatorConfig{Ring: r.ring, StoreID: r.config.Store.ID, Pins: s, Register: s.PinOperator,
		Attempts: keys.StoredAttempts(s), Clock: r.clock, Sleep: keys.Sleep, Random: rand.Reader, Cost: r.cost})
}

// offHost wires what authorities on other machines need: the verifier of their
// pinned keys, the inbox, and requests. Without any of them all of it is closed.
func offHost(c command.Config, ports *core.Ports) (err error) {
	if len(c.Authority) == 0 {
		return nil
	}
	var pins []keys.PinnedKey
	for _, a := range c.Authority {
		pin, err := keys.ParsePin(a.ID, a.Kind, a.Key, a.Active)
		if err != nil {
			return fmt.Errorf("%w: authority %s: %w", command.ErrConfig, a.ID, err)
		}
		pins = append(pins, pin)
	}
	if ports.OffHost, err = keys.NewPinned(pins...); err != nil {
		return err
	}
	if ports.Inbox, err = keys.InitInbox(c.Inbox); err != nil {
		return err
	}
	ports.Requests = keys.RequestFiles{}
	return os.MkdirAll(c.RequestsFolder(), 0o700)
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

// ringOpener is keys.OpenRing or keys.InitRing.
type ringOpener func(ctx context.Context, spec, storeID, lockPath string, passphrase []byte) (keys.Keyring, io.Closer, error)

// openRing opens the keyring that the configuration names, and no other.
func openRing(ctx context.Context, c command.Config, open ringOpener) (keys.Keyring, io.Closer, error) {
	passphrase := c.KeyringPassphrase()
	if c.KeyringCredential != "" {
		var err error
		if passphrase, err = keys.ReadCredential(os.Getenv("CREDENTIALS_DIRECTORY"), c.KeyringCredential); err != nil {
			return nil, nil, command.KeyringError(err)
		}
	}
	ring, closer, err := open(ctx, c.Keyring, c.Store.ID, c.KeyringLock(), passphrase)
	return ring, closer, command.KeyringError(err)
}

// withRing opens a keyring for as long as do needs it, and says which errors
// of do are the keyring's.
func withRing(ctx context.Context, c command.Config, open ringOpener, do func(keys.Keyring) error) error {
	ring, closer, err := openRing(ctx, c, open)
	if err != nil {
		return err
	}
	err = do(ring)
	var ringError *keys.RingError
	if errors.As(err, &ringError) {
		err = command.KeyringError(err)
	}
	return errors.Join(err, closer.Close())
}

// withStoreKeys opens the configured keyring for as long as do needs the keys.
func withStoreKeys(ctx context.Context, c command.Config, do func(keys.Keyring, keys.StoreKeys) error) error {
	return withRing(ctx, c, keys.OpenRing, func(ring keys.Keyring) error {
		k, err := keys.LoadStoreKeys(ctx, ring)
		if err != nil {
			return err
		}
		defer k.Clear()
		return do(ring, k)
	})
}

func withStore(ctx context.Context, c command.Config, do func(keys.Keyring, *store.Store) error) error {
	return withStoreKeys(ctx, c, func(ring keys.Keyring, k keys.StoreKeys) error {
		options := storeOptions(c, k, core.SystemClock{})
		s, err := store.Open(ctx, options)
		if err != nil {
			return command.StoreError(err)
		}
		return errors.Join(do(ring, s), command.StoreError(s.Close()))
	})
}

// Start opens the configured parts and starts an engine on them. What was
// begun is finished even where ctx ends meanwhile: a start may move contracts
// to RECONCILIATION.
func (wiring) Start(ctx context.Context, c command.Config, progress func(done, total int)) (*command.Parts, core.StartReport, error) {
	return start(ctx, recipe{config: c, progress: progress})
}

func start(ctx context.Context, r recipe) (p *command.Parts, report core.StartReport, err error) {
	p = &command.Parts{}
	ring, closer, err := openRing(ctx, r.config, keys.OpenRing)
	if err != nil {
		return p, report, err
	}
	p.Defer(closer.Close)
	r.ring, r.clock = ring, core.SystemClock{}
	if err = build(ctx, p, r); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		report, err = p.Engine.Start(context.WithoutCancel(ctx))
	}
	return p, report, err
}

// demoCost keeps the demo quick; its passphrase is on the screen anyway.
var demoCost = keys.Cost{Time: 1, MemoryKiB: 8 << 10, Threads: 1}

// Practice puts real parts over a simulated firewall into a demo's folder.
func (wiring) Practice(ctx context.Context, d *command.Demo) error {
	practice, err := sim.NewPractice(sim.Options{})
	if err != nil {
		return err
	}
	d.Practice = practice
	d.Kept.Defer(func() error { practice.Close(); return nil })
	ring, err := keys.InitFileRing(ctx, keys.FileRingConfig{Dir: d.KeyringDir(), StoreID: d.Config.Store.ID, Random: rand.Reader}, nil)
	if err != nil {
		return err
	}
	d.Kept.Defer(ring.Close)
	signer, err := keys.CreateSigningKey(ctx, ring, rand.Reader, demoCost, command.DemoAuthority, []byte(command.DemoPassphrase))
	if err != nil {
		return err
	}
	d.Authority = signer
	d.Kept.Defer(func() error { signer.Close(); return nil })
	public, err := signer.PublicKey(core.ProofAuthorization)
	if err != nil {
		return err
	}
	d.Config.Authority = []command.PinnedKey{{ID: command.DemoAuthority, Kind: string(core.ProofAuthorization), Key: hex.EncodeToString(public), Active: true}}
	d.Config.Appliance = command.ApplianceConfig{URL: practice.URL(), Pin: practice.Fingerprint()}
	r := recipe{config: d.Config, ring: ring, clock: d.Clock(), cost: demoCost}
	d.Build = func(ctx context.Context, p *command.Parts) error { return build(ctx, p, r) }
	return provision(ctx, r, []byte(practice.APIKey()), []byte(command.DemoPassphrase))
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
	if err == nil {
		err = p.Engine.Execute(ctx, filepath.Base(dir))
	}
	return errors.Join(err, p.Close())
}

// Sim runs the simulator until ctx ends.
func (wiring) Sim(ctx context.Context, o command.SimOptions) error {
	return sim.Run(ctx, o.Out, sim.RunOptions{Faults: o.Faults,
		Options: sim.Options{Profile: o.Profile, Addr: o.Address, Config: o.Config, Rand: o.Rand}})
}

// Address spells a firewall's web address in one way.
func (wiring) Address(url string) (string, error) { return pfsense.NormalizeBaseURL(url) }

// Fingerprint looks at the public key that a server shows.
func (wiring) Fingerprint(ctx context.Context, url string) (string, error) {
	presented, err := pfsense.FetchFingerprint(ctx, url)
	return presented.Pin.String(), err
}

// TryAPIKey reads the firewall's status with a key.
func (wiring) TryAPIKey(ctx context.Context, c command.Config, key []byte) (status core.ApplianceStatus, err error) {
	firewall, err := connectWith(c, key, core.SystemClock{})
	if err != nil {
		return status, err
	}
	status, err = firewall.Status(ctx)
	return status, errors.Join(err, firewall.Close())
}

// SetAPIKey keeps another API key for the configured firewall.
func (wiring) SetAPIKey(ctx context.Context, c command.Config, choose func() ([]byte, error)) error {
	return withRing(ctx, c, keys.OpenRing, func(ring keys.Keyring) error {
		key, err := choose()
		if err != nil {
			return err
		}
		defer clear(key)
		return keys.SetAPIKey(ctx, ring, c.Appliance.Host(), key)
	})
}

// Install makes the keyring and everything a store needs.
func (wiring) Install(ctx context.Context, c command.Config, apiKey, passphrase []byte) error {
	if err := os.MkdirAll(filepath.Dir(c.Store.Path), 0o700); err != nil {
		return command.StoreError(err)
	}
	return withRing(ctx, c, keys.InitRing, func(ring keys.Keyring) error {
		return provision(ctx, recipe{config: c, ring: ring, clock: core.SystemClock{}}, apiKey, passphrase)
	})
}

// provision makes keys, anchor, store and first operator. Where it cannot
// finish, it takes back what it made, so that it can be tried again.
func provision(ctx context.Context, r recipe, apiKey, passphrase []byte) (err error) {
	storeKeys, takeBack, err := keys.Provision(ctx, r.ring, rand.Reader, r.config.Appliance.Host(), apiKey)
	if err != nil {
		return err
	}
	defer storeKeys.Clear()
	options := storeOptions(r.config, storeKeys, r.clock)
	options.Existing = false
	s, err := store.Create(ctx, options)
	if err != nil {
		return errors.Join(command.StoreError(err), takeBack())
	}
	people, operator := operators(r, s), r.config.Operator
	newcomer := errors.Is(people.Present(ctx, operator), keys.ErrNotFound)
	err = people.Admit(ctx, operator, passphrase)
	if err = errors.Join(err, command.StoreError(s.Close())); err == nil {
		return nil
	}
	err = errors.Join(err, store.Discard(r.config.Store.Path))
	if newcomer {
		err = errors.Join(err, people.Withdraw(ctx, operator))
	}
	return errors.Join(err, takeBack())
}

// CheckPassphrase says whether a new passphrase would be taken.
func (wiring) CheckPassphrase(passphrase []byte) error { return keys.CheckPassphrase(passphrase) }

// Operators opens the people of the store. As everywhere, only the holder of
// the executor lock changes a store (design section 4, rule 8).
func (wiring) Operators(ctx context.Context, c command.Config, change bool, do func(command.Operators) error) error {
	return withStore(ctx, c, func(ring keys.Keyring, s *store.Store) error {
		if change {
			lock, err := store.NewLock(c.Store.Path)
			if err != nil {
				return command.StoreError(err)
			}
			defer func() { _ = lock.Release() }()
			if err := command.Exclusive(lock); err != nil {
				return err
			}
		}
		return do(operators(recipe{config: c, ring: ring, clock: core.SystemClock{}}, s))
	})
}

// Doctor checks every part by itself and changes nothing.
func (wiring) Doctor(ctx context.Context, c command.Config, checks *command.Checks) {
	ring, closer, err := openRing(ctx, c, keys.OpenRing)
	if !checks.Check("keyring", err) {
		return
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
		return
	}
	defer firewall.Close()
	status, err := firewall.Status(ctx)
	checks.Check("firewall", err)
	for _, w := range status.Warnings {
		checks.Note(w)
	}
}

// Unfinished counts the contracts that could still be acted on.
func (wiring) Unfinished(ctx context.Context, c command.Config) (n int, err error) {
	err = withStore(ctx, c, func(_ keys.Keyring, s *store.Store) error {
		counts, err := s.Counts(ctx)
		n = counts.Active
		return command.StoreError(err)
	})
	return n, err
}

// Verify checks a store or a copy completely, offline.
func (wiring) Verify(ctx context.Context, o command.VerifyOptions) error {
	return withStoreKeys(ctx, o.Config, func(_ keys.Keyring, k keys.StoreKeys) error {
		options := storeOptions(o.Config, k, core.SystemClock{})
		options.Path = o.Path
		report, err := store.Verify(ctx, options, o.Progress)
		return o.Report(report, report.Contracts, report.Events, err)
	})
}

// Export prints the value-free audit trail.
func (wiring) Export(ctx context.Context, c command.Config, out io.Writer) error {
	return withStore(ctx, c, func(_ keys.Keyring, s *store.Store) error {
		to := &noted{Writer: out}
		if err := core.ExportAudit(ctx, s, to); to.failed == nil {
			return command.StoreError(err)
		}
		return to.failed
	})
}

// noted keeps why nothing more could be written.
type noted struct {
	io.Writer
	failed error
}

func (n *noted) Write(p []byte) (written int, err error) {
	written, n.failed = n.Writer.Write(p)
	return written, n.failed
}

// Backup makes a verified copy while the console may be running.
func (wiring) Backup(ctx context.Context, c command.Config, destination string) error {
	return withStore(ctx, c, func(_ keys.Keyring, s *store.Store) error {
		return command.CopyError(s.Backup(ctx, destination))
	})
}

// Sign shows a request in full and signs exactly that. It opens no store and
// contacts nothing.
func (wiring) Sign(ctx context.Context, o command.SignOptions) (evidence string, err error) {
	err = withRing(ctx, o.Config, keys.OpenRing, func(ring keys.Keyring) error {
		evidence, err = keys.SignFile{Request: o.Request, Evidence: o.Evidence, Authority: o.Authority, Passphrase: o.Passphrase,
			Capabilities: pfsense.Capabilities(), Now: time.Now(), Approve: o.Approve}.Sign(ctx, ring)
		return err
	})
	return evidence, err
}

// NewAuthority makes an off-host authority's key, and its keyring if need be.
func (wiring) NewAuthority(ctx context.Context, o command.SignOptions, out io.Writer) error {
	return withRing(ctx, o.Config, keys.InitRing, func(ring keys.Keyring) error {
		return keys.NewAuthority(ctx, ring, rand.Reader, o.Authority, o.Passphrase, out)
	})
}
