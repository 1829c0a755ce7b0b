package core

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"countersign/canon"
)

// Loading that is agreed to in the same confirmation as the change (design
// section 4, rule 7). The operator has seen what else waits to be loaded. It is
// asked for only where right before the send nothing else waited, and nothing
// was seen to change meanwhile; otherwise it stays a step of its own, with a
// review of its own.

// loadAgreement is what an operator agrees to besides a change.
type loadAgreement struct {
	pending []string // shown as waiting to be loaded
}

// digest stands for what was shown, in any order; "" for nothing.
func (a loadAgreement) digest() string {
	if len(a.pending) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(a.pending))
	return canon.Digest(sha256.Sum256([]byte(strings.Join(sorted, "\x00")))).String()
}

// covers reports whether nothing waits now that was not shown then.
func covers(agreed string, now []string) bool {
	return len(now) == 0 || loadAgreement{now}.digest() == agreed
}

// checkAgreement refuses to agree to loading what was not shown.
func (e *Engine) checkAgreement(ctx context.Context, c Capability, load *loadAgreement) error {
	if load == nil {
		return nil
	}
	if e.p.Loader == nil || c.Spec().Loads == LoadsAtOnce {
		return fmt.Errorf("%w: there is nothing to load", ErrConflict)
	}
	now, err := e.pending(ctx, c.Spec().Loads)
	if err != nil {
		return err
	}
	if !covers(load.digest(), now) {
		return ErrPendingChanged
	}
	return nil
}

func (e *Engine) pending(ctx context.Context, s Subsystem) ([]string, error) {
	status, err := e.p.Reader.Status(ctx)
	return status.waiting(s), err
}

// agreeToLoad records the agreement beside the confirmation just made. A
// crash between the two leaves a change that is loaded by a step of its own.
func (e *Engine) agreeToLoad(ctx context.Context, confirmed Opened, load loadAgreement, authority Authority) error {
	record, err := e.loadRecord(confirmed, Forward, load.digest(), authority)
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
	case !covers(load.Pending, before):
		step.skip("not loaded: " + ErrPendingChanged.Error())
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
