package tui

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"countersign/canon"
	"countersign/core"
)

const (
	testPassphrase = "correct horse"
	testOperator   = "jo"
)

// testClock stands still unless a test moves it.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newTestClock() *testClock {
	return &testClock{now: time.Date(2026, 9, 5, 14, 3, 40, 0, time.UTC)}
}

// fake is an engine in memory: it knows the states and refusals that the
// screens show, and nothing about firewalls. Runs go on step by step when the
// test says so.
type fake struct {
	mu       sync.Mutex
	clock    core.Clock
	header   core.Header
	details  map[string]*core.Detail
	order    []string // newest first
	compared core.Comparison
	drift    string
	pending  []string // other people's unloaded changes
	noLoads  bool     // an agreement to load cannot be recorded
	inFlight int
	last     map[string]core.Progress
	watchers []chan core.Progress
	runs     map[string]*fakeRun
	calls    []string
	passes   [][]byte // every passphrase slice that was handed over
	inbox    []core.InboxFile
	specs    []core.Spec
	targets  []core.Target
	fields   []core.Field
	history  int // extra rows made up for long lists
	lists    int // how many pages were read
}

type fakeRun struct {
	progress core.Progress
	final    core.State
}

func newFake(clock core.Clock) *fake {
	f := &fake{clock: clock, details: map[string]*core.Detail{}, last: map[string]core.Progress{}, runs: map[string]*fakeRun{}}
	f.header = core.Header{
		Appliance: "fw1.example.net", Version: "2.8.1", APIVersion: "2.7.1",
		Pin:      "4f2ab0c1d2e3f40516273849aabbccddeeff00112233445566778899aabbcc91",
		Operator: testOperator, Mode: core.ModeExecutor, StoreOK: true, AnchorOK: true,
		VerifiedAt: clock.Now().Add(-100 * time.Second),
	}
	f.specs = []core.Spec{
		{Capability: "ALIAS_WRITE", EndpointSymbol: "FIREWALL_ALIAS_DESCRIPTION", Method: "PATCH", Title: "alias description", Noun: "alias",
			WayBack: "the old description is written back"},
		{Capability: "FIREWALL_WRITE", EndpointSymbol: "FIREWALL_RULE_ENABLED", Method: "PATCH", Title: "rule enabled or disabled", Noun: "rule",
			Loads: core.Firewall, WayBack: "the rule is switched back"},
	}
	f.targets = []core.Target{
		{Fields: core.Object{"alias_name": "web_servers"}, Label: "web_servers", Summary: "host, 3 addresses", Locator: 4},
		{Fields: core.Object{"alias_name": "office_nets"}, Label: "office_nets", Summary: "network, 2 networks", Locator: 5},
		{Fields: core.Object{"alias_name": "feed"}, Label: "feed", Summary: "urltable", Locator: 6, Refused: "the API cannot change an alias of type urltable; use the firewall's own page"},
	}
	f.fields = []core.Field{{Name: "description", Label: "Description", Kind: core.TextField,
		Help: "May be empty. Up to 1024 bytes.", Current: "Public web, old DC", Limit: 1024}}
	f.compared = core.Comparison{
		StateVersion: 4, ReadAt: clock.Now(), Locator: 4, SameLocator: true, Unchanged: 12, NowIntended: true,
		Fields: []core.ComparedField{
			{Name: "address", Snapshot: "3: 192.0.2.1, 192.0.2.2, 192.0.2.3", Intended: "3: 192.0.2.1, 192.0.2.2, 192.0.2.3", Now: "3: 192.0.2.1, 192.0.2.2, 192.0.2.3"},
			{Name: "descr", Snapshot: "Public web, old DC", Intended: "Public web, new DC (CHG-1042)", Now: "Public web, new DC (CHG-1042)"},
			{Name: "name", Snapshot: "web_servers", Intended: "web_servers", Now: "web_servers"},
			{Name: "type", Snapshot: "host", Intended: "host", Now: "host"},
		},
	}
	return f
}

func digestOf(s string) canon.Digest { return sha256.Sum256([]byte(s)) }

// add puts a contract into a state, as if it had got there.
func (f *fake) add(id string, state core.State, target string) *core.Detail {
	now := f.clock.Now()
	verified := digestOf("verified")
	d := &core.Detail{
		Row: core.Row{ContractID: id, State: state, Noun: "alias", Target: target, Change: "description", Actor: testOperator,
			CreatedAt: now.Add(-148 * time.Second), UpdatedAt: now.Add(-time.Second), ExpiresAt: now.Add(7*time.Minute + 58*time.Second)},
		Contract: core.Contract{ID: id, OperationID: "op-" + id, Capability: "ALIAS_WRITE", EndpointSymbol: "FIREWALL_ALIAS_DESCRIPTION",
			Method: "PATCH", IntentDigest: digestOf("intent" + id), TargetFingerprint: digestOf("fp"), TargetIdentityDigest: digestOf(target),
			SnapshotDigest: digestOf("snap"), IdempotencyKey: digestOf("key" + id), LifecycleLocator: 4, State: state,
			CreatedAt: now.Add(-148 * time.Second), ExpiresAt: now.Add(7*time.Minute + 58*time.Second),
			Provenance: &core.Provenance{AuthorityID: testOperator, AuthorizationID: "authz-1"}},
		Appliance: "fw1.example.net", Summary: "host, 3 addresses", WayBack: "the old description is written back",
		Changes: []core.Change{{Field: "description", Before: "Public web, old DC", After: "Public web, new DC (CHG-1042)"}},
	}
	if state == core.Verified {
		d.Contract.VerifiedTargetFingerprint = &verified
	}
	d.Events = []core.AuditEvent{
		{Type: core.EventCreated, Current: core.Preparing, RecordedAt: d.Contract.CreatedAt, Note: &core.Note{Actor: testOperator}},
		{Type: core.EventTransition, Previous: core.Preparing, Current: core.Prepared, RecordedAt: d.Contract.CreatedAt},
	}
	f.details[id] = d
	f.order = append([]string{id}, f.order...)
	f.settle(d)
	return d
}

// settle recomputes what follows from the state.
func (f *fake) settle(d *core.Detail) {
	d.Contract.State = d.Row.State
	d.Row.Confirmed = d.Contract.ConfirmationDigest != nil
	d.Actions = nil
	add := func(n core.ActionName) { d.Actions = append(d.Actions, core.Action{Name: n, Reason: f.header.Closed}) }
	switch d.Row.State {
	case core.Prepared:
		d.Row.Sentence = "waits for confirmation"
		if d.Row.Confirmed {
			d.Row.Sentence = "confirmed, not sent yet"
			add(core.ActExecute)
		} else {
			add(core.ActConfirm)
		}
		add(core.ActDecline)
	case core.Verified:
		d.Row.Sentence = "sent once, read back and verified"
		add(core.ActRollback)
		if d.Row.Loads != core.LoadsAtOnce {
			add(core.ActLoad)
		}
	case core.Reconciliation:
		d.Row.Sentence = "the connection broke before an answer came · decide from a fresh reading"
		add(core.ActReconcile)
	case core.Failed:
		d.Row.Sentence = "not changed, proven"
	case core.RolledBack:
		d.Row.Sentence = "the old value was read back"
	case core.Executing, core.RollingBack:
		d.Row.Sentence = "a request may be in flight"
	}
	f.count()
}

func (f *fake) count() {
	c := core.Counts{History: len(f.order) + f.history}
	for _, d := range f.details {
		if d.Row.State.NeedsPerson() {
			c.NeedsYou++
		}
		if !d.Row.State.Terminal() {
			c.Active++
		}
	}
	f.header.Counts = c
}

func (f *fake) called(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fake) Header() core.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.header
}

func (f *fake) Refresh(context.Context) (core.Header, error) { return f.Header(), nil }

func (f *fake) Capabilities() []core.Spec { return f.specs }

func (f *fake) Operators(context.Context) ([]string, error) {
	return []string{testOperator, "mika"}, nil
}

func (f *fake) List(_ context.Context, list core.ListName, after string, limit int) (core.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	var rows []core.Row
	for _, id := range f.order {
		s := f.details[id].Row.State
		if list == core.ListHistory || (list == core.ListNeedsYou && s.NeedsPerson()) || (list == core.ListActive && !s.Terminal()) {
			rows = append(rows, f.details[id].Row)
		}
	}
	start := 0
	if list == core.ListHistory && f.history > 0 {
		return f.longPage(rows, after, limit), nil
	}
	for i, r := range rows {
		if r.ContractID == after {
			start = i + 1
		}
	}
	rows = rows[start:]
	p := core.Page{List: list, Rows: rows}
	if len(rows) > limit {
		p.Rows, p.Next = rows[:limit], rows[limit-1].ContractID
	}
	return p, nil
}

// longPage makes rows up, so that a list can be very long without memory.
func (f *fake) longPage(head []core.Row, after string, limit int) core.Page {
	start := 0
	if after != "" {
		_, _ = fmt.Sscanf(after, "old-%d", &start)
		start++
		head = nil
	}
	p := core.Page{List: core.ListHistory, Rows: head}
	for i := start; i < f.history && len(p.Rows) < limit; i++ {
		p.Rows = append(p.Rows, core.Row{ContractID: fmt.Sprintf("old-%06d", i), State: core.Verified, Noun: "alias",
			Target: fmt.Sprintf("alias_%06d", i), Change: "description", Actor: "mika", Sentence: "sent once, read back and verified"})
	}
	if n := len(p.Rows); n > 0 && p.Rows[n-1].ContractID != fmt.Sprintf("old-%06d", f.history-1) {
		p.Next = p.Rows[n-1].ContractID
	}
	return p
}

func (f *fake) get(id string) (*core.Detail, error) {
	d, ok := f.details[id]
	if !ok {
		return nil, core.ErrNotFound
	}
	return d, nil
}

func (f *fake) Detail(_ context.Context, id string) (core.Detail, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.get(id)
	if err != nil {
		return core.Detail{}, err
	}
	copied := *d
	copied.Events = append([]core.AuditEvent(nil), d.Events...)
	return copied, nil
}

func (f *fake) Targets(context.Context, string) ([]core.Target, error) { return f.targets, nil }

func (f *fake) Form(context.Context, string, core.Target) ([]core.Field, error) { return f.fields, nil }

func (f *fake) Prepare(_ context.Context, symbol string, fields core.Object, key string) (core.Draft, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("prepare %s %v %s", symbol, fields, key)
	if fields["description"] == "Public web, old DC" {
		return core.Draft{}, fmt.Errorf("%w: the description is already that", core.ErrNoChange)
	}
	return core.Draft{RequestKey: key, Operator: testOperator, Spec: f.specs[0], PreparedAt: f.clock.Now(),
		Observation:           core.Observation{Label: fmt.Sprint(fields["alias_name"]), Summary: "host, 3 addresses", Locator: 4},
		Changes:               []core.Change{{Field: "description", Before: "Public web, old DC", After: fmt.Sprint(fields["description"])}},
		ExecutionIntentDigest: digestOf("execution intent"), PlanDigest: digestOf("plan")}, nil
}

// unlock checks a passphrase as an engine would.
func (f *fake) unlock(operator string, passphrase []byte) error {
	f.passes = append(f.passes, passphrase)
	if operator != testOperator {
		return core.ErrUnknownOperator
	}
	if string(passphrase) != testPassphrase {
		return core.ErrWrongPassphrase
	}
	return nil
}

func (f *fake) Authorize(_ context.Context, d core.Draft, operator string, passphrase []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("authorize by %s", operator)
	if err := f.unlock(operator, passphrase); err != nil {
		return "", err
	}
	id := "aliasdescr-7c1e0000000000000000000000000001"
	created := f.add(id, core.Prepared, d.Observation.Label)
	created.Changes = d.Changes
	return id, nil
}

func (f *fake) AuthorizeFromInbox(_ context.Context, d core.Draft, a core.Authorization, operator string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("authorize from inbox %s", a.AuthorizationID)
	id := "aliasdescr-7c1e0000000000000000000000000001"
	f.add(id, core.Prepared, d.Observation.Label)
	return id, nil
}

func (f *fake) Review(_ context.Context, id string) (core.Review, error) {
	d, err := f.Detail(context.Background(), id)
	if err != nil {
		return core.Review{}, err
	}
	return core.Review{Detail: d, Pin: f.header.Pin, Target: d.Row.Target, Waiting: core.Waiting{Names: f.pending}, ReadAt: f.clock.Now().Add(-9 * time.Second), Drift: f.drift}, nil
}

func (f *fake) Confirm(_ context.Context, id, typed, operator string, passphrase []byte) error {
	return f.confirm("confirm", id, typed, operator, passphrase)
}

func (f *fake) ConfirmAndLoad(_ context.Context, id, typed, operator string, passphrase []byte, shown core.Waiting) error {
	err := f.confirm(fmt.Sprintf("confirm and load %q", shown.Names), id, typed, operator, passphrase)
	if err == nil && f.noLoads {
		return fmt.Errorf("%w: the disk is full", core.ErrLoadingLeftOut)
	}
	return err
}

func (f *fake) confirm(call, id, typed, operator string, passphrase []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("%s %s as %s", call, typed, operator)
	d, err := f.get(id)
	if err != nil {
		return err
	}
	if typed != d.Row.Target {
		return core.ErrTypedTarget
	}
	if err := f.unlock(operator, passphrase); err != nil {
		return err
	}
	digest := digestOf("confirmation")
	d.Contract.ConfirmationDigest = &digest
	d.Events = append(d.Events, core.AuditEvent{Type: core.EventConfirmed, Previous: core.Prepared, Current: core.Prepared,
		RecordedAt: f.clock.Now(), Note: &core.Note{Actor: operator}})
	f.settle(d)
	return nil
}

func (f *fake) Decline(_ context.Context, id, operator string, passphrase []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("decline as %s", operator)
	if err := f.unlock(operator, passphrase); err != nil {
		return err
	}
	f.move(id, core.Failed)
	return nil
}

func (f *fake) move(id string, to core.State) {
	d := f.details[id]
	d.Events = append(d.Events, core.AuditEvent{Type: core.EventTransition, Previous: d.Row.State, Current: to, RecordedAt: f.clock.Now()})
	d.Row.State = to
	f.settle(d)
}

func (f *fake) RollbackPreview(ctx context.Context, id string) (core.Comparison, error) {
	return f.Observe(ctx, id)
}

func (f *fake) Observe(_ context.Context, id string) (core.Comparison, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("observe")
	c := f.compared
	c.ContractID, c.ReadAt = id, f.clock.Now().Add(-4*time.Second)
	if d := f.details[id]; d != nil {
		c.Noun, c.Target, c.Changes = d.Row.Noun, d.Row.Target, d.Changes
	}
	return c, nil
}

func (f *fake) Reconcile(_ context.Context, id string, o core.Outcome, _ core.Comparison, operator string, passphrase []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("reconcile %s as %s", o, operator)
	if err := f.unlock(operator, passphrase); err != nil {
		return err
	}
	to, ok := o.Target()
	if !ok {
		return core.ErrOutcome
	}
	if o == core.ResumeRollback {
		f.begin(id, core.Backward, core.RolledBack)
		return nil
	}
	f.move(id, to)
	return nil
}

func (f *fake) Execute(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("execute")
	d, err := f.get(id)
	if err != nil {
		return err
	}
	if !d.Row.Confirmed {
		return core.ErrUnconfirmed
	}
	f.begin(id, core.Forward, core.Verified)
	return nil
}

func (f *fake) Rollback(_ context.Context, id, operator string, passphrase []byte) error {
	return f.rollBack("rollback", id, operator, passphrase)
}

func (f *fake) RollbackAndLoad(_ context.Context, id, operator string, passphrase []byte, shown core.Waiting) error {
	return f.rollBack(fmt.Sprintf("rollback and load %q", shown.Names), id, operator, passphrase)
}

func (f *fake) rollBack(call, id, operator string, passphrase []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("%s as %s", call, operator)
	if err := f.unlock(operator, passphrase); err != nil {
		return err
	}
	f.begin(id, core.Backward, core.RolledBack)
	return nil
}

func (f *fake) Load(_ context.Context, id, operator string, passphrase []byte, _ core.Waiting) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("load as %s", operator)
	return f.unlock(operator, passphrase)
}

// addLoading adds a contract whose change has to be loaded.
func (f *fake) addLoading(id string, state core.State) {
	d := f.add(id, state, "blocklist")
	d.Row.Loads = core.Firewall
	f.settle(d)
}

// begin starts a run, which then waits for step and finish.
func (f *fake) begin(id string, dir core.Direction, final core.State) {
	p := core.Progress{ContractID: id, Direction: dir, Target: f.details[id].Row.Target, StartedAt: f.clock.Now()}
	for _, name := range core.Steps() {
		p.Steps = append(p.Steps, core.StepProgress{Name: name})
	}
	f.runs[id] = &fakeRun{progress: p, final: final}
	f.inFlight++
	state := core.Executing
	if dir == core.Backward {
		state = core.RollingBack
	}
	f.move(id, state)
	f.publish(id)
}

// step lets a run go on to a step: everything before it is done.
func (f *fake) step(id string, name core.StepName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	steps := f.runs[id].progress.Steps
	for i := range steps {
		if steps[i].Name == name {
			steps[i].Status, steps[i].StartedAt = core.StepRunning, f.clock.Now()
			break
		}
		steps[i].Status, steps[i].Took = core.StepDone, 2*time.Millisecond
		if steps[i].Name == core.StepAnchor {
			steps[i].Detail = "118"
		}
	}
	f.publish(id)
}

// finish ends a run in a state.
func (f *fake) finish(id string, final core.State, sentence string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.runs[id]
	for i := range r.progress.Steps {
		if s := &r.progress.Steps[i]; s.Status != core.StepDone {
			s.Status, s.Took = core.StepDone, 3*time.Millisecond
		}
	}
	r.progress.Done, r.progress.Final, r.progress.Sentence = true, final, sentence
	f.inFlight--
	f.move(id, final)
	f.publish(id)
}

// warn is what a second look finds after the end of a run.
func (f *fake) warn(id, warning string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[id].progress.Warning = warning
	f.publish(id)
}

func (f *fake) publish(id string) {
	p := f.runs[id].progress
	p.Steps = append([]core.StepProgress(nil), p.Steps...)
	f.last[id] = p
	for _, w := range f.watchers {
		w <- p
	}
}

func (f *fake) Progress(id string) (core.Progress, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.last[id]
	return p, ok
}

func (f *fake) Subscribe() (<-chan core.Progress, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan core.Progress, 64)
	f.watchers = append(f.watchers, ch)
	var once sync.Once
	return ch, func() {
		once.Do(func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.watchers = nil
			close(ch)
		})
	}
}

func (f *fake) InFlight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inFlight
}

func (f *fake) Inbox(context.Context) ([]core.InboxFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inbox, nil
}

func (f *fake) StoreHealth(context.Context) (core.StoreHealth, error) {
	return core.StoreHealth{Path: "store.db", StoreID: "tier1-production-anchor", Schema: 8, Verified: f.header.VerifiedAt,
		Contracts: 6, Events: 21, Mark: 118, AnchorOK: true}, nil
}

func (f *fake) ApplianceStatus() core.ApplianceStatus {
	return core.ApplianceStatus{Version: "2.8.1", APIVersion: "2.7.1", ReadOnlyKnown: true}
}

func (f *fake) export(kind, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("export %s to %s", kind, path)
	return nil
}

func (f *fake) ExportAuthorizationRequest(_ context.Context, _ core.Draft, path string) error {
	return f.export("authorization", path)
}

func (f *fake) ExportConfirmationRequest(_ context.Context, _, path string) error {
	return f.export("confirmation", path)
}

func (f *fake) ExportReconciliationRequest(_ context.Context, _ string, o core.Outcome, _ core.Comparison, path string) error {
	return f.export(string(o), path)
}

func (f *fake) ConfirmWith(_ context.Context, id, typed string, ev core.ConfirmationEvidence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("confirm %s with evidence of %s", typed, ev.AuthorityID)
	digest := digestOf("confirmation")
	f.details[id].Contract.ConfirmationDigest = &digest
	f.settle(f.details[id])
	return nil
}

func (f *fake) ReconcileWith(_ context.Context, id string, ev core.ReconciliationEvidence, _ core.Comparison) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called("reconcile %s with evidence of %s", ev.Outcome, ev.AuthorityID)
	to, _ := ev.Outcome.Target()
	f.move(id, to)
	return nil
}
