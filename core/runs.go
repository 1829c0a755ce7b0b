package core

import (
	"context"
	"sync"
)

// runs are the executions under way. They are owned by the engine, not by a
// screen: a screen only observes, and main waits (design section 4, rule 14).
type runs struct {
	mu       sync.Mutex
	wg       sync.WaitGroup
	last     map[string]Progress
	active   map[string]bool
	watchers map[int]chan Progress
	nextID   int
	closed   bool
	alone    bool // the one run under way asks to load

	// looks are second readings that may be given up at the end.
	looks  sync.WaitGroup
	ending context.Context
	end    context.CancelFunc
}

func newRuns() *runs {
	ending, end := context.WithCancel(context.Background())
	return &runs{last: map[string]Progress{}, active: map[string]bool{}, watchers: map[int]chan Progress{},
		ending: ending, end: end}
}

// claim reserves a contract for one run of this process.
func (r *runs) claim(contractID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.alone || r.active[contractID] {
		return ErrBusy
	}
	r.active[contractID] = true
	r.wg.Add(1)
	return nil
}

// keepAlone keeps every other run away until the one under way has ended:
// what is sent beside a request to load would be loaded with it, unseen. It
// reports false where there is another already.
func (r *runs) keepAlone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alone = len(r.active) == 1
	return r.alone
}

// ended reports whether the process is about to end: no new step starts.
func (r *runs) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// finish ends a run and only then tells its last snapshot, so that whoever
// hears that it is done can act on the contract at once.
func (r *runs) finish(contractID string, last *Progress) {
	r.mu.Lock()
	delete(r.active, contractID)
	r.alone = false
	r.mu.Unlock()
	if last != nil {
		r.publish(*last)
	}
}

// publish keeps the newest snapshot and offers it to every watcher; a slow
// watcher misses intermediate snapshots, never the newest.
func (r *runs) publish(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(p)
}

// tell is publish for who holds mu.
func (r *runs) tell(p Progress) {
	r.last[p.ContractID] = p
	for _, w := range r.watchers {
		select {
		case w <- p:
		default:
			select {
			case <-w:
			default:
			}
			select {
			case w <- p:
			default:
			}
		}
	}
}

// warn adds a warning to the last word of a run, if it still is the last word
// about its contract.
func (r *runs) warn(done Result, warning string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.last[done.Contract.ID]
	if warning == "" || !ok || !p.Done || !p.StartedAt.Equal(done.StartedAt) {
		return
	}
	p.Warning = warning
	r.tell(p)
}

// start runs f in the background under a context that no key press can
// cancel. What f returns is done after the run has been told to be over.
func (e *Engine) start(ctx context.Context, contractID string, f func(context.Context, func(Progress)) (after func())) error {
	if err := e.runs.claim(contractID); err != nil {
		return err
	}
	work := context.WithoutCancel(ctx)
	go func() {
		defer e.runs.wg.Done()
		var last *Progress
		after := f(work, func(p Progress) {
			if p.Done {
				last = &p
				return
			}
			e.runs.publish(p)
		})
		e.updateHeader(work)
		e.runs.finish(contractID, last)
		if after != nil {
			after()
		}
	}()
	return nil
}

// Execute starts sending a confirmed contract; Progress and Subscribe tell
// how far it is. The typed request is the one the contract's protected intent
// holds, compared with every digest before anything happens.
func (e *Engine) Execute(ctx context.Context, contractID string) error {
	if err := e.maySend(ctx); err != nil {
		return err
	}
	opened, err := e.open(ctx, contractID)
	if err != nil {
		return err
	}
	return e.start(ctx, contractID, func(work context.Context, watch func(Progress)) func() {
		load, err := e.agreedLoad(work, opened)
		if err != nil {
			watch(Progress{ContractID: contractID, Done: true, Err: err, Sentence: finalSentence(opened.Contract, err)})
			return nil
		}
		done := e.carry(work, opened, load, e.labelled(opened, watch), func(watch func(Progress)) (Result, error) {
			return e.exec.Execute(work, contractID, opened.Request, watch)
		})
		return func() { e.secondLook(opened, done) }
	})
}

// labelled adds the target's name to what watchers see.
func (e *Engine) labelled(opened Opened, watch func(Progress)) func(Progress) {
	label := opened.Capability.Label(opened.Identity)
	return func(p Progress) {
		p.Target = label
		watch(p)
	}
}

// Rollback starts restoring a VERIFIED contract's snapshot. A conflict that
// can already be seen is refused here, and the contract stays VERIFIED; one
// that appears after the acquisition ends in ROLLBACK_FAILED.
func (e *Engine) Rollback(ctx context.Context, contractID, operator string, passphrase []byte) error {
	return e.rollBack(ctx, contractID, operator, passphrase, nil)
}

// RollbackAndLoad rolls back, and agrees with the same passphrase that the
// appliance is asked to load the old state right after it was read back
// (design section 4, rule 7). shown is as in ConfirmAndLoad.
func (e *Engine) RollbackAndLoad(ctx context.Context, contractID, operator string, passphrase []byte, shown Waiting) error {
	return e.rollBack(ctx, contractID, operator, passphrase, &shown)
}

func (e *Engine) rollBack(ctx context.Context, contractID, operator string, passphrase []byte, load *Waiting) error {
	if err := e.maySend(ctx); err != nil {
		return err
	}
	preview, err := e.Observe(ctx, contractID)
	if err != nil {
		return err
	}
	if err := preview.rollbackConflict(); err != nil {
		return err
	}
	return e.startBackward(ctx, contractID, backward{ApproveRollback, load, e.exec.Rollback}, operator, passphrase)
}

// backward is one of the two ways to a rollback run.
type backward struct {
	kind  ApprovalKind
	load  *Waiting // shown when loading was agreed to; nil: it is a step of its own
	begin func(context.Context, string, Approval, Verifier, func(Progress)) (Result, error)
}

// startBackward takes an operator's approval and starts a rollback run. The
// authority stays open until the store has verified the approval, inside the run.
func (e *Engine) startBackward(ctx context.Context, contractID string, b backward, operator string, passphrase []byte) error {
	opened, err := e.open(ctx, contractID)
	if err != nil {
		return err
	}
	if err := e.checkAgreement(ctx, opened, b.load); err != nil {
		return err
	}
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	a, err := e.approve(opened.Contract, b.kind, authority)
	var load *LoadRecord
	if err == nil && b.load != nil {
		load, err = e.loadRecord(opened, Backward, b.load.digest(), authority)
	}
	if err != nil {
		authority.Close()
		return err
	}
	err = e.start(ctx, contractID, func(work context.Context, watch func(Progress)) func() {
		defer authority.Close()
		done := e.carry(work, opened, load, e.labelled(opened, watch), func(watch func(Progress)) (Result, error) {
			return b.begin(work, contractID, a, authority, watch)
		})
		return func() { e.secondLook(opened, done) }
	})
	if err != nil {
		authority.Close()
	}
	return err
}

// Progress returns the newest snapshot of a contract's run in this process.
func (e *Engine) Progress(contractID string) (Progress, bool) {
	e.runs.mu.Lock()
	defer e.runs.mu.Unlock()
	p, ok := e.runs.last[contractID]
	return p, ok
}

// Subscribe returns snapshots of every run from now on, and a function that
// ends the subscription.
func (e *Engine) Subscribe() (<-chan Progress, func()) {
	r := e.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ch := r.nextID, make(chan Progress, 16)
	r.nextID++
	r.watchers[id] = ch
	return ch, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, ok := r.watchers[id]; ok {
			delete(r.watchers, id)
			close(ch)
		}
	}
}

// InFlight is how many runs are under way in this process.
func (e *Engine) InFlight() int {
	e.runs.mu.Lock()
	defer e.runs.mu.Unlock()
	return len(e.runs.active)
}

// Wait refuses new runs and returns when those under way have ended and been
// recorded. main calls it before the process ends.
func (e *Engine) Wait() {
	e.runs.mu.Lock()
	e.runs.closed = true
	e.runs.mu.Unlock()
	e.runs.wg.Wait()
	e.runs.end()
	e.runs.looks.Wait()
}
