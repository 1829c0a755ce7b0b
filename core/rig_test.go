package core_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
	"countersign/pfsense/sim"
	"countersign/store"
)

// rig is one set of real parts for a test: store on disk, file keyring,
// simulator over HTTPS, and an engine over them.
type rig struct {
	t      testing.TB
	dir    string
	sim    *sim.Server // nil in a process that only joins
	site   site
	ring   *keys.FileRing
	clock  *movedClock
	opts   rigOptions
	store  *store.Store
	lock   core.Lock
	engine *core.Engine
	report core.StartReport
	sender core.Sender
	reader *pfsense.Reader
	sealer core.Sealer
	anchor core.Anchor
}

// site is the appliance as a console is configured for it. Another process is
// told it together with the rig's folder.
type site struct{ URL, Pin, Key string }

type rigOptions struct {
	limits     *core.Limits
	settle     time.Duration
	deadlines  pfsense.Deadlines
	faultPoint func(string)
	wrapStore  func(core.Store) core.Store
	wrapReader func(core.Reader) core.Reader
	wrapSender func(core.Sender) core.Sender
	wrapLoader func(core.Loader) core.Loader
	ports      func(*core.Ports) // a last word on what the engine gets
	profile    string
	simClock   sim.Clock
	simServer  *sim.Server // an appliance that is already there
	anchor     func(core.Anchor) core.Anchor
	// front stands between the console and the simulator; nil: nothing does.
	front func(*sim.Server) (url, pin string)
	// frozen makes time stand still from there on, until a test moves it.
	frozen time.Time
	// sleep waits for the second look at the neighbours; without it there is
	// none, so that it cannot get in the way of faults.
	sleep func(context.Context, time.Duration)
}

const (
	rigOperator = "jo"
	rigPass     = "correct horse"
	rigAlias    = "trusted_hosts"
	rigValue    = "Trusted admin hosts (CHG-1042)"
	rigStoreID  = "rig"
)

// movedClock is the machine's clock, or a frozen instant, plus what a test
// moved it.
type movedClock struct {
	frozen time.Time
	offset atomic.Int64
}

func (c *movedClock) Now() time.Time {
	now := c.frozen
	if now.IsZero() {
		now = time.Now()
	}
	return core.Instant(now.Add(time.Duration(c.offset.Load())))
}
func (c *movedClock) move(d time.Duration) { c.offset.Add(int64(d)) }

var cheap = keys.Cost{Time: 1, MemoryKiB: 64, Threads: 1}

func newRig(t testing.TB, opts rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), clock: &movedClock{frozen: opts.frozen}, opts: opts, sim: opts.simServer}
	var err error
	if r.sim == nil {
		if r.sim, err = sim.New(sim.Options{Profile: opts.profile, Clock: opts.simClock}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.sim.Close)
	}
	r.site = site{URL: r.sim.URL(), Pin: r.sim.Fingerprint(), Key: r.sim.APIKey()}
	if opts.front != nil {
		r.site.URL, r.site.Pin = opts.front(r.sim)
	}
	ctx := context.Background()
	r.ring, err = keys.InitFileRing(ctx, keys.FileRingConfig{Dir: filepath.Join(r.dir, "keyring"), StoreID: rigStoreID, Random: rand.Reader}, nil)
	r.must(err)
	storeKeys, err := keys.InitStoreKeys(ctx, r.ring, keys.StoreKeyConfig{Random: rand.Reader})
	r.must(err)
	r.must(keys.NewRingAnchor(r.ring).Provision(ctx, 0))
	s, err := store.Create(ctx, store.Options{Path: r.path(), StoreID: rigStoreID, IntegrityKey: storeKeys.Integrity.Bytes()})
	r.must(err)
	commitment, err := r.operators(s).Enrol(ctx, rigOperator, []byte(rigPass))
	r.must(err)
	r.must(s.PinOperator(ctx, rigOperator, commitment))
	r.must(s.Close())
	r.open()
	t.Cleanup(r.close)
	return r
}

// joinRig names the parts that another process has made; open opens them.
func joinRig(t testing.TB, dir string, at site, opts rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, dir: dir, site: at, clock: &movedClock{frozen: opts.frozen}, opts: opts}
	var err error
	r.ring, err = keys.OpenFileRing(context.Background(), keys.FileRingConfig{Dir: filepath.Join(dir, "keyring"), StoreID: rigStoreID, Random: rand.Reader}, nil)
	r.must(err)
	return r
}

func (r *rig) path() string { return filepath.Join(r.dir, "store", "contracts.sqlite3") }

func (r *rig) operators(s *store.Store) *keys.Operators {
	return keys.NewOperators(keys.OperatorConfig{Ring: r.ring, StoreID: rigStoreID, Pins: s, Clock: r.clock,
		Sleep: func(context.Context, time.Duration) error { return nil }, Random: rand.Reader, Cost: cheap})
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// open opens the parts and starts an engine, as a console would.
func (r *rig) open() {
	r.t.Helper()
	ctx := context.Background()
	k, err := keys.LoadStoreKeys(ctx, r.ring)
	r.must(err)
	limits := core.DefaultLimits()
	if r.opts.limits != nil {
		limits = *r.opts.limits
	}
	r.store, err = store.Open(ctx, store.Options{Path: r.path(), StoreID: rigStoreID, IntegrityKey: k.Integrity.Bytes(),
		Clock: r.clock, Limits: limits, Settle: r.settle(), FaultPoint: r.opts.faultPoint})
	r.must(err)
	r.lock, err = store.NewLock(r.path())
	r.must(err)
	r.sealer, err = keys.NewSealer(k.Artifact, k.ArtifactKeyID, rand.Reader)
	r.must(err)
	trust, err := pfsense.PinnedKey(r.site.Pin)
	r.must(err)
	key, err := pfsense.NewAPIKey(r.site.Key)
	r.must(err)
	cfg := pfsense.Config{BaseURL: r.site.URL, TLS: trust, Key: key, Deadlines: r.opts.deadlines, Clock: r.clock}
	r.reader, err = pfsense.NewReader(cfg)
	r.must(err)
	sender, err := pfsense.NewSender(cfg)
	r.must(err)
	r.sender = wrapped[core.Sender](sender, r.opts.wrapSender)
	loader, err := pfsense.NewLoader(cfg)
	r.must(err)
	r.anchor = wrapped[core.Anchor](keys.NewRingAnchor(r.ring), r.opts.anchor)
	sleep := r.opts.sleep
	if sleep == nil {
		sleep = func(ctx context.Context, _ time.Duration) { <-ctx.Done() }
	}
	windows := core.DefaultWindows()
	windows.Settle, windows.SecondLook = r.settle(), time.Millisecond
	ports := core.Ports{Store: wrapped[core.Store](r.store, r.opts.wrapStore),
		Reader: wrapped[core.Reader](r.reader, r.opts.wrapReader), Sender: r.sender,
		Loader: wrapped[core.Loader](loader, r.opts.wrapLoader), Anchor: r.anchor,
		Sealer: r.sealer, Operators: r.operators(r.store), Lock: r.lock, Clock: r.clock, Random: rand.Reader,
		Capabilities: pfsense.Capabilities(), Sleep: sleep}
	if r.opts.ports != nil {
		r.opts.ports(&ports)
	}
	r.engine = core.NewEngine(ports,
		core.Settings{Operator: rigOperator, Appliance: "fw1.example.net", Windows: windows, OnTheSpot: true})
	r.report, err = r.engine.Start(ctx)
	r.must(err)
}

// wrapped puts a test's own port in front of a real one, if it has any.
func wrapped[P any](port P, wrap func(P) P) P {
	if wrap == nil {
		return port
	}
	return wrap(port)
}

func (r *rig) settle() time.Duration {
	if r.opts.settle > 0 {
		return r.opts.settle
	}
	return core.MinimumSettle
}

func (r *rig) close() {
	if r.store == nil {
		return
	}
	r.engine.Wait()
	r.reader.Close()
	r.must(r.lock.Release())
	r.must(r.store.Close())
	r.store = nil
}

// restart is a console that ends and another that starts.
func (r *rig) restart() {
	r.t.Helper()
	r.close()
	r.open()
}

func pass() []byte { return []byte(rigPass) }

// prepared makes a PREPARED contract for a new description of an alias.
func (r *rig) prepared(alias, text string) string {
	r.t.Helper()
	d, err := r.engine.Prepare(context.Background(), "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": alias, "description": text}, "")
	r.must(err)
	id, err := r.engine.Authorize(context.Background(), d, rigOperator, pass())
	r.must(err)
	return id
}

func (r *rig) confirmed(alias, text string) string {
	r.t.Helper()
	id := r.prepared(alias, text)
	r.must(r.engine.Confirm(context.Background(), id, alias, rigOperator, pass()))
	return id
}

// verified carries a change all the way to VERIFIED.
func (r *rig) verified(alias, text string) string {
	r.t.Helper()
	id := r.confirmed(alias, text)
	r.execute(id)
	r.mustBe(id, core.Verified)
	return id
}

// execute runs an execution to its end.
func (r *rig) execute(id string) core.Progress {
	r.t.Helper()
	return r.run(id, func() error { return r.engine.Execute(context.Background(), id) })
}

func (r *rig) rollback(id string) core.Progress {
	r.t.Helper()
	return r.run(id, func() error { return r.engine.Rollback(context.Background(), id, rigOperator, pass()) })
}

func (r *rig) run(id string, start func() error) core.Progress {
	r.t.Helper()
	progress, stop := r.engine.Subscribe()
	defer stop()
	r.must(start())
	timeout := time.After(30 * time.Second)
	for {
		select {
		case p := <-progress:
			if p.ContractID == id && p.Done {
				for r.engine.InFlight() > 0 { // it says that it is done a moment before it is
					time.Sleep(time.Millisecond)
				}
				return p
			}
		case <-timeout:
			r.t.Fatal("the run did not end")
		}
	}
}

func (r *rig) load(id string) core.Contract {
	r.t.Helper()
	c, err := r.store.Load(context.Background(), id)
	r.must(err)
	return c
}

func (r *rig) mustBe(id string, want core.State) {
	r.t.Helper()
	if got := r.load(id).State; got != want {
		r.t.Fatalf("the contract is %s, want %s", got, want)
	}
}

func (r *rig) sends() int { return r.sim.Wire().Mutations }

func (r *rig) description(alias string) string {
	entry, _ := r.sim.Alias(alias)
	return entry.Descr
}

// writes matches the mutation of an alias description.
func writes(f sim.Fault) sim.Fault {
	f.Method, f.Path = http.MethodPatch, "/firewall/alias"
	return f
}

// executor is a second executor over the same parts, for tests that must not
// have the engine's own readings before the acquisition.
func (r *rig) executor() *core.Executor {
	return &core.Executor{Store: r.store, Reader: r.reader, Sender: r.sender, Anchor: r.anchor, Sealer: r.sealer,
		Capabilities: pfsense.Capabilities(), Clock: r.clock}
}

// approval is an operator's signed decision about a contract as it is now.
func (r *rig) approval(id string, kind core.ApprovalKind) (core.Approval, core.Authority) {
	r.t.Helper()
	authority, err := r.operators(r.store).Unlock(context.Background(), rigOperator, pass())
	r.must(err)
	c := r.load(id)
	a := core.Approval{Kind: kind, AuthorityID: authority.ID(), Algorithm: authority.Algorithm(core.ProofApproval), Nonce: "nonce-1",
		ContractID: c.ID, OperationID: c.OperationID, StateVersion: c.StateVersion, IntentDigest: c.IntentDigest, IssuedAt: r.clock.Now()}
	payload, err := a.SigningPayload()
	r.must(err)
	a.Proof, err = authority.Sign(core.ProofApproval, payload)
	r.must(err)
	return a, authority
}
