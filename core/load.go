package core

import (
	"context"
	"fmt"
)

// Load asks the appliance to load what is stored, as a step of its own after
// VERIFIED or ROLLED_BACK (design section 4, rule 7). shown is what the review
// showed as waiting; ErrWaitingChanged where something else waits now. It is
// sent once and never repeated by itself; only the appliance's own answer
// counts, and what it claims is recorded, not believed.
func (e *Engine) Load(ctx context.Context, contractID, operator string, passphrase []byte, shown Waiting) error {
	if err := e.maySend(ctx); err != nil {
		return err
	}
	opened, err := e.loadable(ctx, contractID, shown)
	if err != nil {
		return err
	}
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	defer authority.Close()
	dir := Forward
	if opened.Contract.State == RolledBack {
		dir = Backward
	}
	record, err := e.loadRecord(opened, dir, shown.digest(), authority)
	if err != nil {
		return err
	}
	return e.start(ctx, contractID, func(work context.Context, watch func(Progress)) func() {
		e.load(work, *record, opened.Contract.StateVersion, watch)
		return nil
	})
}

// loadable opens a contract whose change can be loaded now, over what was shown.
func (e *Engine) loadable(ctx context.Context, contractID string, shown Waiting) (Opened, error) {
	if e.p.Loader == nil {
		return Opened{}, fmt.Errorf("%w: nothing can load", ErrPolicy)
	}
	if e.InFlight() > 0 {
		return Opened{}, fmt.Errorf("%w: something is being sent", ErrBusy)
	}
	opened, err := e.open(ctx, contractID)
	if err != nil {
		return Opened{}, err
	}
	c, s := opened.Contract, opened.Capability.Spec().Loads
	if s == LoadsAtOnce || (c.State != Verified && c.State != RolledBack) {
		return Opened{}, fmt.Errorf("%w: there is nothing to load", ErrConflict)
	}
	if err := checkAppliance(ctx, e.p.Reader, opened); err != nil {
		return Opened{}, err
	}
	now, err := e.waiting(ctx, s, contractID)
	if err == nil && !covers(shown.digest(), now) {
		err = ErrWaitingChanged
	}
	return opened, err
}

// loadRecord is what an operator agrees to when something is to be loaded.
func (e *Engine) loadRecord(opened Opened, dir Direction, pending string, authority Authority) (*LoadRecord, error) {
	a, err := e.approve(opened.Contract, ApproveLoad, authority)
	if err != nil {
		return nil, err
	}
	return &LoadRecord{ContractID: opened.Contract.ID, Direction: dir, Subsystem: opened.Capability.Spec().Loads,
		Actor: authority.ID(), Evidence: a.ProofDigest(), Pending: pending}, nil
}

// load is a run that only loads what was agreed to: exactly this version.
func (e *Engine) load(ctx context.Context, record LoadRecord, version int64, watch func(Progress)) {
	p := Progress{ContractID: record.ContractID, Direction: record.Direction, StartedAt: e.p.Clock.Now()}
	p.Sentence = "asking the firewall to load what is stored"
	watch(p)
	c, err := e.p.Store.Load(ctx, record.ContractID)
	if err == nil && c.StateVersion != version {
		err = ErrConflict
	}
	var claim LoadClaim
	if err == nil {
		claim, err = e.askToLoad(ctx, record)
	}
	if p.Err = err; err == nil {
		p.Sentence = "stored; " + loadSentence(claim)
	}
	p.Done = true
	watch(p)
}

// askToLoad records the question durably, asks once, and records the answer.
func (e *Engine) askToLoad(ctx context.Context, record LoadRecord) (LoadClaim, error) {
	if !e.runs.keepAlone() {
		return "", fmt.Errorf("%w: something is being sent", ErrBusy)
	}
	record.Claim, record.At = LoadAsked, e.p.Clock.Now()
	if err := e.p.Store.RecordLoad(ctx, record); err != nil {
		return "", err
	}
	record.Claim, _ = e.p.Loader.Load(ctx, record.Subsystem)
	record.At = e.p.Clock.Now()
	return record.Claim, e.p.Store.RecordLoad(ctx, record)
}

func loadSentence(c LoadClaim) string {
	switch c {
	case LoadClaimed:
		return "the firewall says that it is loaded"
	case LoadRefused:
		return "not loaded: the firewall refused"
	}
	return "whether it is loaded is not known"
}
