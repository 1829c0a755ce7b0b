package core_test

import (
	"testing"
	"time"

	"countersign/core"
)

// Time alone moves a contract into Needs you and out of it; the header's
// count follows the list without a probe.
func TestCountsFollowTheClock(t *testing.T) {
	r := newRig(t, rigOptions{frozen: aTuesday})
	id := r.prepared(rigAlias, rigValue)
	window := core.DefaultWindows().Contract
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 0}, {window - core.ExpiringSoon, 1}, {core.ExpiringSoon, 0}} {
		r.clock.move(step.pass)
		page, err := r.engine.List(ctx(), core.ListNeedsYou, "", 10)
		r.must(err)
		if counted := r.engine.Header().Counts.NeedsYou; len(page.Rows) != step.want || counted != step.want {
			t.Errorf("%s before its expiry: %d rows, %d counted, want %d", r.load(id).ExpiresAt.Sub(r.clock.Now()), len(page.Rows), counted, step.want)
		}
	}
}
