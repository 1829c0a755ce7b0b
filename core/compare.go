package core

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"
)

// Observe reads afresh and puts snapshot, intended and now side by side. It
// only reads (seed 003: manual reconciliation re-reads by natural identity and
// compares snapshot, intent and current semantic state).
func (e *Engine) Observe(ctx context.Context, contractID string) (Comparison, error) {
	c, err := e.p.Store.Load(ctx, contractID)
	if err != nil {
		return Comparison{}, err
	}
	events, err := e.p.Store.Timeline(ctx, contractID)
	if err != nil {
		return Comparison{}, err
	}
	opened, err := OpenContract(ctx, c, e.p.Capabilities, e.p.Sealer)
	if err != nil {
		return Comparison{}, err
	}
	if err := e.sameAppliance(ctx, opened); err != nil {
		return Comparison{}, err
	}
	cmp := e.newComparison(c, events)
	cmp.Noun, cmp.Target = opened.Capability.Spec().Noun, opened.Capability.Label(opened.Identity)
	cmp.Changes = opened.Capability.Changes(opened.Request, opened.Snapshot)
	// What the firewall says may be as old as the moment it was asked.
	asked := e.p.Clock.Now()
	_, o, err := observeNow(ctx, e.p.Reader, opened.Capability, opened.Identity, e.p.Clock)
	cmp.ReadAt = e.p.Clock.Now()
	switch {
	case err == nil:
		if err := cmp.fill(opened, o); err != nil {
			return Comparison{}, err
		}
	case errors.Is(err, ErrTargetMissing), errors.Is(err, ErrTargetDuplicate), errors.Is(err, ErrTargetUnsupported):
		cmp.Problem = err.Error()
		cmp.fillWithout(opened)
	default:
		return Comparison{}, err
	}
	cmp.offer(opened, asked, e.Header().SettleUntil)
	return cmp, nil
}

func (e *Engine) sameAppliance(ctx context.Context, opened Opened) error {
	id, err := e.p.Reader.Identify(ctx)
	if err != nil {
		return err
	}
	if d, err := id.Digest(); err != nil || d != opened.Appliance {
		return ErrApplianceMismatch
	}
	return nil
}

// newComparison takes from the chain where certainty was lost and how long
// to wait.
func (e *Engine) newComparison(c Contract, events []AuditEvent) Comparison {
	cmp := Comparison{ContractID: c.ID, StateVersion: c.StateVersion, Origin: Origin(events), SettleWindow: e.set.Windows.Settle}
	for i := len(events) - 1; i >= 0; i-- {
		ev := events[i]
		if ev.Current != Reconciliation || ev.Previous == Reconciliation {
			continue
		}
		if ev.Note != nil {
			cmp.Boundary, cmp.Failure = ev.Note.Boundary, ev.Note.Failure
		}
		cmp.SettleUntil = settleUntil(ev.Note, ev.RecordedAt, e.set.Windows.Settle)
		break
	}
	return cmp
}

func (cmp *Comparison) fill(opened Opened, o Observation) error {
	c := opened.Contract
	fingerprint, err := c.Binding().FingerprintDigest(o.Projection)
	if err != nil {
		return fmt.Errorf("fingerprint of the reading: %w", err)
	}
	cmp.Fingerprint, cmp.found = fingerprint.String(), o.Projection
	cmp.Locator, cmp.SameLocator = o.Locator, o.Locator == c.LifecycleLocator
	cmp.NowSnapshot = fingerprint == c.TargetFingerprint
	cmp.NowIntended = opened.Capability.Applied(opened.Request, opened.Snapshot, o)
	cmp.Unchanged = len(o.Neighbours)
	cmp.compareFields(opened, o.Projection)
	return nil
}

func (cmp *Comparison) fillWithout(opened Opened) { cmp.compareFields(opened, nil) }

func (cmp *Comparison) compareFields(opened Opened, now Object) {
	intended := opened.Capability.Intended(opened.Request, opened.Snapshot)
	if cmp.Origin == RollingBack {
		intended = opened.Snapshot
	}
	names := make([]string, 0, len(opened.Snapshot))
	for name := range opened.Snapshot {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		f := ComparedField{Name: name, Snapshot: displayValue(opened.Snapshot[name]),
			Intended: displayValue(intended[name]), Now: "?"}
		if now != nil {
			f.Now = displayValue(now[name])
		}
		f.Differs = f.Now != f.Intended
		cmp.Fields = append(cmp.Fields, f)
	}
}

// offer says which conclusions this reading and the boundary allow (design
// section 4, rule 4; section 8). Nothing that supports "not applied" is
// offered before the settle window has passed.
func (cmp *Comparison) offer(opened Opened, asked, nothingBefore time.Time) {
	settling := asked.Before(cmp.SettleUntil)
	for _, o := range OutcomesFor(cmp.Origin) {
		offer := OutcomeOffer{Outcome: o, Reason: cmp.against(o, opened.Contract)}
		waits := o != ConfirmedApplied && o != ConfirmedRollbackApplied
		if offer.Reason == "" && waits && settling {
			offer.Reason, offer.At = "a late write is still possible", cmp.SettleUntil
		}
		if offer.Reason == "" && o == ResumeRollback && asked.Before(nothingBefore) {
			offer.Reason, offer.At = "another ambiguous send may still be writing", nothingBefore
		}
		cmp.Offers = append(cmp.Offers, offer)
	}
}

// against says why a reading does not support an outcome, or "".
func (cmp *Comparison) against(o Outcome, c Contract) string {
	if cmp.Problem != "" && o != ConfirmedNotApplied && o != ConfirmedRollbackNotApplied {
		return cmp.Problem
	}
	switch o {
	case ConfirmedApplied:
		return supports(cmp.NowIntended, cmp.SameLocator, "NOW is not the intended state")
	case ConfirmedNotApplied:
		if cmp.NowIntended {
			return "NOW is the intended state"
		}
		if cmp.Failure == FailurePartial && !cmp.NowSnapshot {
			return "NOW is neither the old nor the intended state: set the target to one of them first"
		}
	case ConfirmedRollbackApplied:
		return supports(cmp.NowSnapshot, cmp.SameLocator, "NOW is not the snapshot")
	case ConfirmedRollbackNotApplied:
		if cmp.NowSnapshot {
			return "NOW is the snapshot"
		}
	case ResumeRollback:
		verified := c.VerifiedTargetFingerprint != nil && c.VerifiedTargetFingerprint.String() == cmp.Fingerprint
		return supports(verified, cmp.SameLocator, "NOW is not the state that was verified")
	}
	return ""
}

func supports(state, sameLocator bool, otherwise string) string {
	switch {
	case !state:
		return otherwise
	case !sameLocator:
		return "the target's position has changed"
	}
	return ""
}

// rollbackConflict refuses a rollback that could only end in ROLLBACK_FAILED.
func (cmp Comparison) rollbackConflict() error {
	switch {
	case cmp.Problem != "":
		return fmt.Errorf("%w: %s", ErrDrift, cmp.Problem)
	case !cmp.NowIntended:
		return fmt.Errorf("%w since it was verified; it is never forced", ErrDrift)
	case !cmp.SameLocator:
		return fmt.Errorf("%w: its position", ErrDrift)
	}
	return nil
}

// RollbackPreview is what the rollback screen shows before it asks.
func (e *Engine) RollbackPreview(ctx context.Context, contractID string) (Comparison, error) {
	cmp, err := e.Observe(ctx, contractID)
	if err != nil {
		return Comparison{}, err
	}
	opened, err := e.open(ctx, contractID)
	if err != nil {
		return Comparison{}, err
	}
	if cmp.Loads = opened.Capability.Spec().Loads; cmp.Loads == LoadsAtOnce {
		return cmp, nil
	}
	cmp.Waiting, err = e.waiting(ctx, cmp.Loads, contractID)
	return cmp, err
}
