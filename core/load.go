package core

import (
	"context"
	"fmt"
)

// Load asks the appliance to load what is stored, as a step of its own after
// VERIFIED or ROLLED_BACK (design section 4, rule 7). It is sent once and
// never repeated by itself; only the appliance's own answer counts, and what
// it claims is recorded, not believed.
func (e *Engine) Load(ctx context.Context, contractID, operator string, passphrase []byte) error {
	if err := e.maySend(ctx); err != nil {
		return err
	}
	if e.p.Loader == nil {
		return fmt.Errorf("%w: nothing can load", ErrPolicy)
	}
	if e.InFlight() > 0 {
		return fmt.Errorf("%w: something is being sent", ErrBusy)
	}
	opened, err := e.open(ctx, contractID)
	if err != nil {
		return err
	}
	c, capability := opened.Contract, opened.Capability
	if capability.Spec().Loads == LoadsAtOnce || (c.State != Verified && c.State != RolledBack) {
		return fmt.Errorf("%w: there is nothing to load", ErrConflict)
	}
	if err := checkAppliance(ctx, e.p.Reader, opened); err != nil {
		return err
	}
	authority, err := e.p.Operators.Unlock(ctx, operator, passphrase)
	if err != nil {
		return err
	}
	defer authority.Close()
	a, err := e.approve(c, ApproveLoad, authority)
	if err != nil {
		return err
	}
	record := LoadRecord{ContractID: c.ID, Direction: Forward, Subsystem: capability.Spec().Loads,
		Actor: operator, Evidence: a.ProofDigest()}
	if c.State == RolledBack {
		record.Direction = Backward
	}
	return e.start(ctx, contractID, func(work context.Context, watch func(Progress)) func() {
		e.load(work, record, watch)
		return nil
	})
}

// load records the question durably, asks once, and records the answer.
func (e *Engine) load(ctx context.Context, record LoadRecord, watch func(Progress)) {
	p := Progress{ContractID: record.ContractID, Direction: record.Direction, StartedAt: e.p.Clock.Now()}
	p.Sentence = "asking the firewall to load what is stored"
	watch(p)
	record.Claim, record.At = LoadAsked, e.p.Clock.Now()
	if p.Err = e.p.Store.RecordLoad(ctx, record); p.Err == nil {
		record.Claim, _ = e.p.Loader.Load(ctx, record.Subsystem)
		record.At = e.p.Clock.Now()
		p.Err = e.p.Store.RecordLoad(ctx, record)
		p.Sentence = loadSentence(record.Claim)
	}
	p.Done = true
	watch(p)
}

func loadSentence(c LoadClaim) string {
	switch c {
	case LoadClaimed:
		return "stored; the firewall says that it is loaded"
	case LoadRefused:
		return "stored, not loaded: the firewall refused"
	}
	return "stored; whether it is loaded is not known"
}
