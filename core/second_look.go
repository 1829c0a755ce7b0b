package core

import (
	"context"
	"strings"
)

// secondLook reads the list once more some seconds after a proven success
// (design section 4, rule 5): a lost update or a shifted id of somebody
// else's request shows itself there. It only reads and warns.
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
		if warning := e.lookAgain(ctx, opened, done); warning != "" {
			if p, ok := e.Progress(done.Contract.ID); ok {
				p.Warning = warning
				e.runs.publish(p)
			}
		}
	}()
}

// lookAgain compares the whole list with what was sealed.
func (e *Engine) lookAgain(ctx context.Context, opened Opened, done Result) string {
	_, now, err := observeNow(ctx, e.p.Reader, opened.Capability, opened.Identity, e.p.Clock)
	if err != nil {
		return "the second reading failed: " + err.Error()
	}
	c := done.Contract
	expected := c.TargetFingerprint
	if c.State == Verified && c.VerifiedTargetFingerprint != nil {
		expected = *c.VerifiedTargetFingerprint
	}
	if found, err := c.Binding().FingerprintDigest(now.Projection); err != nil || found != expected {
		return "the target is no longer as it was verified: look before you go"
	}
	if changed := changedNeighbours(done.Neighbours, now.Neighbours); len(changed) > 0 {
		return "something else changed: " + strings.Join(changed, ", ") + ": look before you go"
	}
	return ""
}
