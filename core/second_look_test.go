package core_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense/sim"
)

// The list is read once more after a success. What that finds is recorded,
// shown in the row and the timeline, and told to whoever still watches.
func TestSecondLook(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(*sim.Server)
		found     core.LookFinding
		others    int
		sentence  string // of the row
		warning   string
	}{
		{"nothing else happens", func(*sim.Server) {}, core.LookedSame, 0, "sent once, read back and verified", ""},
		{"a lost update puts the old text back",
			func(s *sim.Server) { s.Admin().SetAliasDescription(rigAlias, "put back by somebody's old copy") },
			core.LookedChanged, 0, "soon after, the target was changed", "no longer as it was verified"},
		{"somebody changes another alias", func(s *sim.Server) { s.Admin().SetAliasDescription(rigOther, "another text") },
			core.LookedSame, 1, "other objects that changed meanwhile: 1", "something else changed: " + rigOther},
		{"the firewall cannot be read", func(s *sim.Server) { s.Inject(sim.Fault{Kind: sim.Status500, Method: "GET"}) },
			core.LookedInVain, 0, "sent once, read back and verified", "the second reading failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			looking, look := make(chan struct{}), make(chan struct{})
			r := newRig(t, rigOptions{sleep: func(context.Context, time.Duration) { close(looking); <-look }})
			id := r.confirmed(rigAlias, rigValue)
			r.execute(id)
			<-looking
			c.meanwhile(r.sim)
			close(look)
			seen := r.looked(id)
			if seen.Found != c.found || seen.Neighbours != c.others || seen.StateVersion != r.load(id).StateVersion {
				t.Fatalf("recorded %+v", seen)
			}
			r.engine.Wait()
			if p, _ := r.engine.Progress(id); !strings.Contains(p.Warning, c.warning) || (c.warning == "") != (p.Warning == "") {
				t.Fatalf("warned %q", p.Warning)
			}
			r.must(r.sim.ClearFaults())
			r.opts.sleep = nil
			r.restart()
			detail, err := r.engine.Detail(ctx(), id)
			r.must(err)
			page, err := r.engine.List(ctx(), core.ListHistory, "", 1)
			r.must(err)
			for _, row := range []core.Row{detail.Row, page.Rows[0]} {
				if !strings.Contains(row.Sentence, c.sentence) {
					t.Fatalf("the row says %q", row.Sentence)
				}
			}
			if len(detail.Looks) != 1 || detail.Looks[0] != seen {
				t.Fatalf("the detail shows %+v", detail.Looks)
			}
			if c.found == core.LookedSame {
				r.rollback(id) // what was seen of VERIFIED says nothing about ROLLED_BACK
				if detail, err = r.engine.Detail(ctx(), id); err != nil || detail.Row.Sentence != "the old value was read back" {
					t.Fatalf("after the rollback the row says %q (%v)", detail.Row.Sentence, err)
				}
			}
		})
	}
}

// looked waits for the second look to be on disk.
func (r *rig) looked(id string) core.Look {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		looks, err := r.store.Looks(ctx(), id)
		r.must(err)
		if len(looks) > 0 {
			return looks[0]
		}
	}
	r.t.Fatal("the second look was not recorded")
	return core.Look{}
}

// held lets a test decide when the first look is made, and makes no other.
type held struct {
	looking chan struct{}
	look    chan struct{}
	first   sync.Once
}

func newHeld() *held { return &held{looking: make(chan struct{}), look: make(chan struct{})} }

func (h *held) sleep(ctx context.Context, _ time.Duration) {
	mine := false
	h.first.Do(func() { mine = true })
	if !mine {
		<-ctx.Done()
		return
	}
	close(h.looking)
	<-h.look
}

// A look that comes after our own rollback has begun says nothing: neither in
// the record nor about the rollback.
func TestSecondLookAfterOurOwnRollback(t *testing.T) {
	h := newHeld()
	r := newRig(t, rigOptions{sleep: h.sleep})
	id := r.confirmed(rigAlias, rigValue)
	r.execute(id)
	<-h.looking
	gate := sim.NewGate()
	r.sim.Inject(writes(sim.Fault{Kind: sim.Block, At: sim.BeforeAnswer, Gate: gate}))
	r.must(r.engine.Rollback(ctx(), id, rigOperator, pass()))
	<-gate.Arrived()
	close(h.look)
	gate.Open()
	p := r.wait(id)
	r.engine.Wait()
	if last, _ := r.engine.Progress(id); p.Final != core.RolledBack || last.Warning != "" || !last.Done {
		t.Fatalf("the rollback ended in %s; its last word: done %v, warning %q", p.Final, last.Done, last.Warning)
	}
	if looks, err := r.store.Looks(ctx(), id); err != nil || len(looks) != 0 {
		t.Fatalf("recorded %+v (%v)", looks, err)
	}
}

// A console that ends while it looks learned nothing about the firewall.
func TestSecondLookGivenUpAtTheEnd(t *testing.T) {
	h := newHeld()
	r := newRig(t, rigOptions{sleep: h.sleep})
	id := r.confirmed(rigAlias, rigValue)
	r.execute(id)
	<-h.looking
	gate := sim.NewGate()
	r.sim.Inject(sim.Fault{Kind: sim.Block, Method: "GET", At: sim.BeforeAnswer, Gate: gate})
	close(h.look)
	<-gate.Arrived()
	r.engine.Wait()
	gate.Open()
	if looks, err := r.store.Looks(ctx(), id); err != nil || len(looks) != 0 {
		t.Fatalf("recorded %+v (%v)", looks, err)
	}
	if p, _ := r.engine.Progress(id); p.Warning != "" {
		t.Fatalf("warned %q", p.Warning)
	}
}
