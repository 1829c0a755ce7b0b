package core

import (
	"context"
	"errors"
	"strings"
)

// secondLook reads the list once more some seconds after a proven success
// (design section 4, rule 5): a lost update or a shifted id of somebody
// else's request shows itself there. It only reads, records and warns.
func (e *Engine) secondLook(opened Opened, done Result) {
	s := done.Contract.State
	if s != Verified && s != RolledBack {
		return
	}
	e.runs.looks.Add(1)
	go func() {
		defer e.runs.looks.Done()
		ctx := e.runs.ending
		e.p.Sleep(ctx, e.set.Windows.SecondLook)
		if ctx.Err() != nil {
			return
		}
		look, warning := e.lookAgain(ctx, opened, done)
		if ctx.Err() != nil {
			return // the console ends; that says nothing about the firewall
		}
		err := e.p.Store.RecordLook(context.WithoutCancel(ctx), look)
		if errors.Is(err, ErrConflict) {
			return // our own rollback has begun meanwhile
		}
		if err != nil && warning == "" {
			warning = "the second reading could not be recorded: " + err.Error()
		}
		e.runs.warn(done, warning)
	}()
}

// lookAgain compares the whole list with what was sealed. The warning may
// name objects; the look does not.
func (e *Engine) lookAgain(ctx context.Context, opened Opened, done Result) (look Look, warning string) {
	c := done.Contract
	look = Look{ContractID: c.ID, StateVersion: c.StateVersion, Found: LookedSame}
	_, now, err := observeNow(ctx, e.p.Reader, opened.Capability, opened.Identity, e.p.Clock)
	look.At = e.p.Clock.Now()
	if err != nil {
		look.Found = LookedInVain
		return look, "the second reading failed: " + err.Error()
	}
	expected := c.TargetFingerprint
	if c.State == Verified && c.VerifiedTargetFingerprint != nil {
		expected = *c.VerifiedTargetFingerprint
	}
	changed := changedNeighbours(done.Neighbours, now.Neighbours)
	look.Neighbours = len(changed)
	if found, err := c.Binding().FingerprintDigest(now.Projection); err != nil || found != expected {
		look.Found = LookedChanged
		return look, "the target is no longer as it was verified: look before you go"
	}
	if len(changed) > 0 {
		warning = "something else changed: " + strings.Join(changed, ", ") + ": look before you go"
	}
	return look, warning
}
