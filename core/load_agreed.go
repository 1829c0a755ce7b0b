package core

import (
	"context"
	"fmt"
	"strings"
)

// Loading that is agreed to in the same confirmation as the change (design
// section 4, rule 7). It can be agreed to where nothing else is waiting to be
// loaded, and it is asked for only where that still holds right before the
// send and nothing else was seen to change; otherwise it stays a step of its
// own, with a review of its own.

// mayAgreeToLoad refuses an agreement that would cover other people's changes.
func (e *Engine) mayAgreeToLoad(ctx context.Context, c Capability) error {
	if e.p.Loader == nil || c.Spec().Loads == LoadsAtOnce {
		return fmt.Errorf("%w: there is nothing to load", ErrConflict)
	}
	pending, err := e.pending(ctx, c.Spec().Loads)
	if err != nil {
		return err
	}
	return othersPending(pending)
}

func othersPending(pending []string) error {
	if len(pending) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOthersPending, strings.Join(pending, ", "))
}

func (e *Engine) pending(ctx context.Context, s Subsystem) ([]string, error) {
	status, err := e.p.Reader.Status(ctx)
	return status.Pending[s], err
}

// agreeToLoad records the agreement beside the confirmation just made. A
// crash between the two leaves a change that is loaded by a step of its own.
func (e *Engine) agreeToLoad(ctx context.Context, confirmed Opened, authority Authority) error {
	record, err := e.loadRecord(confirmed, Forward, authority)
	if err != nil {
		return err
	}
	record.Claim, record.At = LoadAgreed, e.p.Clock.Now()
	if err := e.p.Store.RecordLoad(ctx, *record); err != nil {
		return fmt.Errorf("the change is confirmed, loading is a step of its own: %w", err)
	}
	return nil
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
func (e *Engine) carry(ctx context.Context, load *LoadRecord, watch func(Progress),
	send func(func(Progress)) (Result, error)) Result {
	if load == nil {
		done, err := send(watch)
		e.noteAnchor(err)
		return done
	}
	step := &loadStep{clock: e.p.Clock, watch: watch}
	before, unread := e.pending(ctx, load.Subsystem)
	done, err := send(step.follow)
	e.noteAnchor(err)
	switch s := done.Contract.State; {
	case err != nil || (s != Verified && s != RolledBack):
		step.skip("")
	case unread != nil:
		step.skip("not loaded: what else was pending could not be read")
	case len(before) > 0:
		step.skip("not loaded: " + othersPending(before).Error())
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
