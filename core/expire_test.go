package core_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/core"
)

// poison is every way to the appliance and the anchor; while it is armed, each
// use fails the test. Uses are kept, so that a control can show where it is.
type poison struct {
	t     *testing.T
	armed atomic.Bool
	used  sync.Map // what -> true
}

func (p *poison) use(what string) {
	p.used.Store(what, true)
	if p.armed.Load() {
		p.t.Errorf("%s was used", what)
	}
}

type poisonedReader struct {
	core.Reader
	p *poison
}

func (r poisonedReader) Read(ctx context.Context, path string) (any, error) {
	r.p.use("Reader.Read")
	return r.Reader.Read(ctx, path)
}

func (r poisonedReader) Identify(ctx context.Context) (core.ApplianceIdentity, error) {
	r.p.use("Reader.Identify")
	return r.Reader.Identify(ctx)
}

func (r poisonedReader) Status(ctx context.Context) (core.ApplianceStatus, error) {
	r.p.use("Reader.Status")
	return r.Reader.Status(ctx)
}

type poisonedSender struct {
	core.Sender
	p *poison
}

func (s poisonedSender) Send(ctx context.Context, m core.Mutation) core.Exchange {
	s.p.use("Sender.Send")
	return s.Sender.Send(ctx, m)
}

type poisonedLoader struct {
	core.Loader
	p *poison
}

func (l poisonedLoader) Load(ctx context.Context, s core.Subsystem) (core.LoadClaim, core.Exchange) {
	l.p.use("Loader.Load")
	return l.Loader.Load(ctx, s)
}

type poisonedAnchor struct {
	core.Anchor
	p *poison
}

func (a poisonedAnchor) Read(ctx context.Context) (uint64, error) {
	a.p.use("Anchor.Read")
	return a.Anchor.Read(ctx)
}

func (a poisonedAnchor) Advance(ctx context.Context, expected uint64) (uint64, error) {
	a.p.use("Anchor.Advance")
	return a.Anchor.Advance(ctx, expected)
}

// poisoned puts the poison in front of every port of a rig.
func poisoned(p *poison) rigOptions {
	return rigOptions{frozen: time.Date(2026, 9, 5, 12, 0, 0, 0, time.UTC),
		wrapReader: func(r core.Reader) core.Reader { return poisonedReader{r, p} },
		wrapSender: func(s core.Sender) core.Sender { return poisonedSender{s, p} },
		wrapLoader: func(l core.Loader) core.Loader { return poisonedLoader{l, p} },
		anchor:     func(a core.Anchor) core.Anchor { return poisonedAnchor{a, p} },
	}
}

// A PREPARED contract expires on the store's own clock and record alone: with
// an engine beside it whose appliance and anchor are poisoned, none of the
// four refusals and no success touches either, and a refused contract and its
// chain stay as they were (seed 000, expire_prepared).
func TestExpirePreparedContactsNothing(t *testing.T) {
	p := &poison{t: t}
	r := newRig(t, poisoned(p))
	waiting, sent, confirmed := r.prepared(rigAlias, rigValue), r.verified("blocked_nets", "other"), r.confirmed("web_ports", "third")
	requests, version := r.sim.Wire(), r.load(sent).StateVersion
	p.armed.Store(true)
	refuse := func(why, id string, skew int64) {
		t.Helper()
		row, chain := r.load(id), r.timeline(id)
		_, err := r.store.ExpirePrepared(ctx(), id, row.StateVersion+skew)
		if !errors.Is(err, core.ErrConflict) {
			t.Errorf("%s: got %v, want %v", why, err, core.ErrConflict)
		}
		if !reflect.DeepEqual(r.load(id), row) || !reflect.DeepEqual(r.timeline(id), chain) {
			t.Errorf("%s: the contract or its chain changed", why)
		}
	}
	refuse("its window is open", waiting, 0)
	r.clock.move(r.load(waiting).ExpiresAt.Sub(r.clock.Now()) + time.Hour)
	refuse("another version was seen", waiting, 1)
	refuse("it is VERIFIED", sent, 0)
	refuse("it was confirmed", confirmed, 0)
	c, err := r.store.ExpirePrepared(ctx(), waiting, r.load(waiting).StateVersion)
	if err != nil || c.State != core.Expired {
		t.Fatalf("got %s, %v", c.State, err)
	}
	if now := r.sim.Wire(); !reflect.DeepEqual(now, requests) {
		t.Errorf("the appliance was contacted: %+v, before %+v", now, requests)
	}
	if version != r.load(sent).StateVersion {
		t.Error("another contract changed")
	}
	// The poison is where the engine's ways are, or nothing was shown.
	p.armed.Store(false)
	p.used.Clear()
	r.verified(rigAlias, rigValue)
	for _, what := range []string{"Reader.Read", "Reader.Identify", "Sender.Send", "Anchor.Read", "Anchor.Advance"} {
		if _, met := p.used.Load(what); !met {
			t.Errorf("a whole execution does not meet the poison of %s", what)
		}
	}
}
