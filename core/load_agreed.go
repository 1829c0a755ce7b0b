package core

import (
	"context"
	"fmt"
)

// Loading that is agreed to in the same confirmation as the change (design
// section 4, rule 7). The operator has seen what else waits to be loaded. It is
// asked for only where right before the send nothing else waited, and nothing
// was seen to change meanwhile; otherwise it stays a step of its own, with a
// review of its own.

// checkAgreement refuses to agree beforehand to loading what was not shown, or
// cannot be known.
func (e *Engine) checkAgreement(ctx context.Context, opened Opened, shown *Waiting) error {
	if shown == nil {
		return nil
	}
	s := opened.Capability.Spec().Loads
	if e.p.Loader == nil || s == LoadsAtOnce {
		return fmt.Errorf("%w: there is nothing to load", ErrConflict)
	}
	now, err := e.waiting(ctx, s, opened.Contract.ID)
	switch {
	case err != nil:
		return err
	case now.Unread:
		return ErrWaitingUnread
	case !covers(shown.digest(), now):
		return ErrWaitingChanged
	}
	return nil
}

// agreeToLoad records the agreement beside the confirmation just made. A
// crash between the two leaves a change that is loaded by a step of its own.
func (e *Engine) agreeToLoad(ctx context.Context, confirmed Opened, shown Waiting, authority Authority) error {
	record, err := e.loadRecord(confirmed, Forward, shown.digest(), authority)
	if err != nil {
		return err
	}
	record.Claim, record.At = LoadAgreed, e.p.Clock.Now()
	return e.p.Store.RecordLoad(ctx, *record)
}

// agreedLoad is the agreement of a contract's confirmation, or nil.
func (e *Engine) agreedLoad(ctx context.Context, opened Opened) (*LoadRecord, error) {
	if opened.Capability.Spec().Loads == LoadsAtOnce {
		return nil, nil
	}
	known, err := e.p.Store.Loads(ctx, opened.Contract.ID)
	if err != nil || len(known) == 0 || known[len(known)-1].Claim != LoadAgreed {
		return nil, err
	}
	return &known[len(known)-1], nil
}

// carry runs one direction of a contract and then, where it was agreed to
// with it, asks to load.
func (e *Engine) carry(ctx context.Context, opened Opened, load *LoadRecord, watch func(Progress),
	send func(func(Progress)) (Result, error)) Result {
	if load == nil {
		done, err := send(watch)
		e.noteAnchor(err)
		return done
	}
	step := &loadStep{clock: e.p.Clock, watch: watch}
	before, unread := e.waiting(ctx, load.Subsystem, load.ContractID)
	done, err := send(step.follow)
	e.noteAnchor(err)
	if s := done.Contract.State; err != nil || (s != Verified && s != RolledBack) {
		step.skip("")
		return done
	}
	if unread == nil {
		unread = e.stillAgreed(ctx, opened, *load, before)
	}
	switch {
	case unread != nil:
		step.skip("not loaded: " + unread.Error())
	case done.Changed > 0:
		step.skip("not loaded: something else changed while this was sent")
	case e.runs.ended():
		step.skip("not loaded: the console was ending")
	default:
		step.begin()
		claim, err := e.askToLoad(ctx, *load)
		step.end(claim, err)
	}
	return done
}

// stillAgreed looks once more right before the question: nothing waited before
// the send that was not shown, and nothing came to it since but the change.
func (e *Engine) stillAgreed(ctx context.Context, opened Opened, load LoadRecord, before Waiting) error {
	now, err := e.waiting(ctx, load.Subsystem, load.ContractID)
	switch {
	case err != nil:
		return err
	case before.Unread || now.Unread:
		return ErrWaitingUnread
	case !covers(load.Pending, before), len(now.beyond(before, opened.Capability.Spec().Marks)) > 0:
		return ErrWaitingChanged
	}
	return nil
}

// loadStep adds the step of loading to a run's progress, and holds the run's
// last word back until that step has ended too.
type loadStep struct {
	clock Clock
	watch func(Progress)
	last  Progress
}

func (s *loadStep) follow(p Progress) {
	p.Steps = append(p.Steps, StepProgress{Name: StepAskLoad})
	if s.last = p; !p.Done {
		s.watch(p)
	}
}

func (s *loadStep) step() *StepProgress { return &s.last.Steps[len(s.last.Steps)-1] }

func (s *loadStep) skip(why string) {
	s.step().Status = StepSkipped
	if why != "" {
		s.last.Sentence += "; " + why
	}
	s.watch(s.last)
}

func (s *loadStep) begin() {
	s.step().Status, s.step().StartedAt = StepRunning, s.clock.Now()
	p := s.last
	p.Steps = append([]StepProgress(nil), p.Steps...)
	p.Done = false
	s.watch(p)
}

func (s *loadStep) end(claim LoadClaim, err error) {
	step := s.step()
	step.Took, step.Status = s.clock.Now().Sub(step.StartedAt), StepStopped
	if claim == LoadClaimed {
		step.Status = StepDone
	}
	step.Detail = "not loaded: nothing was asked"
	if claim != "" {
		step.Detail = loadSentence(claim)
	}
	s.last.Sentence += "; " + step.Detail
	s.last.Err = err
	s.watch(s.last)
}
