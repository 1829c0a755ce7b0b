package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Ports is everything the engine needs from outside; main wires them. A nil
// Verifier, Inbox, RequestWriter or Loader closes what needs it, and says so.
type Ports struct {
	Store        Store
	Reader       Reader
	Sender       Sender
	Loader       Loader
	Anchor       Anchor
	Sealer       Sealer
	Operators    Operators
	OffHost      Verifier // pinned public keys of off-host authorities
	Inbox        Inbox
	Requests     RequestWriter // writes requests for off-host authorities
	Lock         Lock
	Clock        Clock
	Random       io.Reader
	Capabilities SpecSet
	// Sleep waits until a second look at the neighbours is due; injected so
	// that tests need not wait.
	Sleep func(context.Context, time.Duration)
}

// Settings are the operator's choices.
type Settings struct {
	Operator  string // the name offered in forms
	Appliance string // host[:port], for the header
	Windows   Windows
	// OnTheSpot allows an enrolled operator to authorize with a passphrase;
	// otherwise an artifact must come through the inbox (design section 2).
	OnTheSpot bool
}

// Engine is what the console drives: the whole flow of a contract. Reading
// works for everybody; whatever changes something works only for the process
// that holds the executor lock.
type Engine struct {
	p    Ports
	set  Settings
	exec *Executor
	runs *runs

	taking sync.Mutex // held while the executor lock changes hands
	since  time.Time  // when this process became the executor; under mu
	mu     sync.Mutex
	header Header
	status ApplianceStatus
}

// NewEngine wires an engine. It touches nothing until Start.
func NewEngine(p Ports, set Settings) *Engine {
	e := &Engine{p: p, set: set, runs: newRuns()}
	e.exec = &Executor{Store: p.Store, Reader: p.Reader, Sender: p.Sender, Anchor: p.Anchor,
		Sealer: p.Sealer, Capabilities: p.Capabilities, Clock: p.Clock}
	e.header = Header{Appliance: set.Appliance, Operator: set.Operator, Mode: ModeStarting, Closed: "still starting"}
	return e
}

// Start takes the executor lock if it is free, settles the anchor and moves
// interrupted contracts to RECONCILIATION without a resend (design rule 8).
// Without the lock it reads only. It never contacts the appliance.
func (e *Engine) Start(ctx context.Context) (StartReport, error) {
	e.taking.Lock()
	defer e.taking.Unlock()
	held, err := e.p.Lock.TryAcquire()
	if err != nil {
		return StartReport{}, fmt.Errorf("executor lock: %w", err)
	}
	report := StartReport{Mode: ModeObserver}
	if held {
		if report, err = e.takeOver(ctx); err != nil {
			return report, err
		}
	}
	if report.Quarantined, err = e.p.Store.Quarantined(ctx); err != nil {
		return report, err
	}
	e.setMode(report.Mode)
	e.updateHeader(ctx)
	return report, nil
}

// takeOver is done once by whoever gets the executor lock, before anything may
// be sent: later it would take a live run for an interrupted one.
func (e *Engine) takeOver(ctx context.Context) (StartReport, error) {
	report := StartReport{Mode: ModeExecutor}
	e.mu.Lock()
	e.since = e.p.Clock.Now()
	e.mu.Unlock()
	e.setAnchor(e.exec.checkAnchor(ctx))
	moved, err := e.p.Store.RecoverInterrupted(ctx)
	if err != nil {
		return report, err
	}
	for _, c := range moved {
		report.Recovered = append(report.Recovered, e.row(ctx, ListItem{Contract: c, UpdatedAt: e.p.Clock.Now()}))
	}
	return report, nil
}

// succeed makes an observer the executor when the lock has become free, and
// keeps what it found for the header.
func (e *Engine) succeed(ctx context.Context) error {
	e.taking.Lock()
	defer e.taking.Unlock()
	if e.Header().Mode != ModeObserver {
		return nil
	}
	if held, err := e.p.Lock.TryAcquire(); err != nil || !held {
		return nil // the next refresh asks again
	}
	report, err := e.takeOver(ctx)
	if err != nil {
		return err
	}
	if report.Quarantined, err = e.p.Store.Quarantined(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.header.Mode, e.header.TakenOver = report.Mode, &report
	return nil
}

// startedAt is when this process became the executor.
func (e *Engine) startedAt() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.since
}

func (e *Engine) setMode(m Mode) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.header.Mode = m
}

func (e *Engine) setAnchor(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.header.AnchorOK, e.header.AnchorNote = err == nil, ""
	if err != nil {
		e.header.AnchorNote = err.Error()
	}
}

// noteAnchor keeps for the header that a run found the anchor not in order.
func (e *Engine) noteAnchor(err error) {
	if errors.Is(err, ErrAnchor) || errors.Is(err, ErrRolledBackStore) {
		e.setAnchor(err)
	}
}

// Header is the last known state of everything the first lines show. It does
// no I/O.
func (e *Engine) Header() Header {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.header
}

// Refresh probes the appliance, counts again, takes over when the executor
// lock has become free (Header.TakenOver says what was found), and compares an
// anchor again that was not in order.
func (e *Engine) Refresh(ctx context.Context) (Header, error) {
	if err := e.succeed(ctx); err != nil {
		return e.Header(), err
	}
	if h := e.Header(); h.Mode == ModeExecutor && !h.AnchorOK {
		e.setAnchor(e.exec.checkAnchor(ctx))
	}
	e.updateHeader(ctx)
	status, err := e.p.Reader.Status(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.status = status
		e.header.Version, e.header.APIVersion, e.header.Pin = status.Version, status.APIVersion, status.Pin
	}
	return e.header, err
}

// updateHeader reads what the header shows of the store.
func (e *Engine) updateHeader(ctx context.Context) {
	counts, countErr := e.p.Store.Counts(ctx)
	health, healthErr := e.p.Store.Health(ctx)
	at, contract, ambiguousErr := e.p.Store.LastAmbiguous(ctx)
	err := errors.Join(countErr, healthErr, ambiguousErr)

	e.mu.Lock()
	defer e.mu.Unlock()
	h := &e.header
	h.LockHolder = e.p.Lock.Holder()
	h.StoreOK, h.StoreNote = err == nil, ""
	if err != nil {
		h.StoreNote = err.Error()
	}
	h.Counts, h.VerifiedAt = counts, health.Verified
	h.SettleUntil, h.SettleContract = time.Time{}, ""
	if until := at.Add(e.set.Windows.Settle); !at.IsZero() && e.p.Clock.Now().Before(until) {
		h.SettleUntil, h.SettleContract = until, contract
	}
	h.Closed = closedReason(*h)
}

func closedReason(h Header) string {
	switch {
	case h.Mode == ModeStarting:
		return "still starting"
	case h.Mode == ModeObserver:
		return "this console only observes: " + h.LockHolder
	case !h.StoreOK:
		return "the store cannot be used: " + h.StoreNote
	case !h.AnchorOK:
		return h.AnchorNote
	}
	return ""
}

// mayChange refuses whatever changes something from a console that may not:
// one without the lock, and one that has it and has not taken over yet.
func (e *Engine) mayChange() error {
	switch h := e.Header(); {
	case h.Mode == ModeStarting:
		return fmt.Errorf("%w: still starting", ErrObserver)
	case h.Mode != ModeExecutor || !e.p.Lock.Held():
		return ErrObserver
	}
	return nil
}

// maySend refuses a new send while an ambiguous one may still be writing
// (design rule 4), or while the anchor is not in order. The store decides
// again inside its transaction.
func (e *Engine) maySend(ctx context.Context) error {
	if err := e.mayChange(); err != nil {
		return err
	}
	at, _, err := e.p.Store.LastAmbiguous(ctx)
	if err != nil {
		return err
	}
	if !at.IsZero() && e.p.Clock.Now().Before(at.Add(e.set.Windows.Settle)) {
		return ErrSettling
	}
	if h := e.Header(); !h.AnchorOK {
		err := e.exec.checkAnchor(ctx)
		e.setAnchor(err)
		return err
	}
	return nil
}

// Capabilities lists the kinds of change this build can make.
func (e *Engine) Capabilities() []Spec {
	var specs []Spec
	for _, c := range e.p.Capabilities {
		specs = append(specs, c.Spec())
	}
	return specs
}

// Operators lists the enrolled operators.
func (e *Engine) Operators(ctx context.Context) ([]string, error) { return e.p.Operators.Enrolled(ctx) }

// StoreHealth describes the store for the health screen.
func (e *Engine) StoreHealth(ctx context.Context) (StoreHealth, error) { return e.p.Store.Health(ctx) }

// ApplianceStatus is what the last probe found.
func (e *Engine) ApplianceStatus() ApplianceStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}
