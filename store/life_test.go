package store

import (
	"testing"

	"countersign/core"
)

// A whole life, forward and back, with every step verified and the file
// sound after a restart.
func TestLifeOfAContract(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("c-1", "t-1", "i-1")
	c = r.seal(r.acquire(r.confirm(c)))
	r.check()
	c = r.rollBack(c)
	c, err := r.SealRolledBack(r.ctx, c.ID, c.StateVersion, c.LifecycleLocator, core.Note{Actor: "jo"})
	r.must(err)
	r.reopen()
	report := r.check()
	if report.Contracts != 1 || report.Events != 7 {
		t.Fatalf("%+v", report)
	}
	events, err := r.Timeline(r.ctx, c.ID)
	r.must(err)
	if len(events) != 7 || events[6].Current != core.RolledBack || events[6].Note == nil || events[6].Note.Actor != "jo" {
		t.Fatalf("timeline %+v", events)
	}
}
