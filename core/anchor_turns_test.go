package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/core"
)

// ruledAnchor does what a test says instead of the real step, once.
type ruledAnchor struct {
	core.Anchor
	advance func(real core.Anchor, expected uint64) (uint64, error) // nil: the real one
	read    func(real core.Anchor) (uint64, error)
	reads   int
}

func (a *ruledAnchor) Advance(ctx context.Context, expected uint64) (uint64, error) {
	if rule := a.advance; rule != nil {
		a.advance = nil
		return rule(a.Anchor, expected)
	}
	return a.Anchor.Advance(ctx, expected)
}

func (a *ruledAnchor) Read(ctx context.Context) (uint64, error) {
	a.reads++
	if rule := a.read; rule != nil {
		a.read = nil
		return rule(a.Anchor)
	}
	return a.Anchor.Read(ctx)
}

var errLost = errors.New("no answer")

// ruled is a rig whose anchor obeys a test.
func ruled(t *testing.T, limits *core.Limits) (*rig, *ruledAnchor) {
	a := &ruledAnchor{}
	r := newRig(t, rigOptions{limits: limits, anchor: func(real core.Anchor) core.Anchor { a.Anchor = real; return a }})
	return r, a
}

// A lost answer of the anchor is settled by reading it again. Whatever
// happened to it, nobody is locked out afterwards (design lesson 1).
func TestLostAnswersOfTheAnchor(t *testing.T) {
	moved := func(real core.Anchor, expected uint64) (uint64, error) {
		_, err := real.Advance(context.Background(), expected)
		return 0, errors.Join(errLost, err)
	}
	stayed := func(core.Anchor, uint64) (uint64, error) { return 0, errLost }
	unreadable := func(core.Anchor) (uint64, error) { return 0, errLost }
	for _, c := range []struct {
		name    string
		advance func(core.Anchor, uint64) (uint64, error)
		blind   bool // it cannot be read afterwards either
		want    error
		spent   bool // another console cannot know that nothing was acquired
	}{
		{"moved, answer lost", moved, false, nil, false},
		{"not moved", stayed, false, core.ErrAnchor, false},
		{"moved, and unreadable", moved, true, core.ErrAnchor, true},
		{"not moved, and unreadable", stayed, true, core.ErrAnchor, false},
	} {
		for _, next := range []string{"the same contract", "another contract", "another console", "a rollback"} {
			t.Run(c.name+", then "+next, func(t *testing.T) {
				t.Parallel()
				r, a := ruled(t, nil)
				done := ""
				if next == "a rollback" {
					done = r.verified(rigOther, rigOtherValue)
				}
				id := r.confirmed(rigAlias, rigValue)
				sent := r.sends()
				a.advance = func(real core.Anchor, expected uint64) (uint64, error) {
					if c.blind {
						a.read = unreadable
					}
					return c.advance(real, expected)
				}
				p := r.execute(id)
				if !errors.Is(p.Err, c.want) {
					t.Fatalf("got %v, want %v", p.Err, c.want)
				}
				if c.want == nil {
					r.mustBe(id, core.Verified)
					r.mustBeAnchored()
					return
				}
				r.mustBe(id, core.Prepared)
				if r.sends() != sent {
					t.Fatal("something was sent")
				}
				r.afterwards(next, id, done, c.spent)
			})
		}
	}
}

// afterwards does the next thing that is sent, which must work.
func (r *rig) afterwards(next, id, done string, spent bool) {
	r.t.Helper()
	switch next {
	case "another contract":
		id = r.confirmed(rigOther, rigOtherValue)
	case "another console":
		r.restart()
		if spent {
			id = r.replaceAttributed(id)
		}
	case "a rollback":
		if p := r.rollback(done); p.Err != nil {
			r.t.Fatal(p.Err)
		}
		r.mustBe(done, core.RolledBack)
	}
	if p := r.execute(id); p.Err != nil {
		r.t.Fatal(p.Err)
	}
	r.mustBe(id, core.Verified)
	r.mustBeAnchored()
}

// A number that was planned for a contract that goes second is used up first.
// However that step of the anchor ends, nobody is locked out: at the worst,
// where the console ends right after it, the contract whose number it was is
// given up like every other that the anchor has moved for (design lesson 1).
func TestUsingUpANumberLocksNobodyOut(t *testing.T) {
	stayed := func(core.Anchor, uint64) (uint64, error) { return 0, errLost }
	moved := func(real core.Anchor, expected uint64) (uint64, error) {
		_, err := real.Advance(context.Background(), expected)
		return 0, errors.Join(errLost, err)
	}
	for _, c := range []struct {
		name            string
		advance         func(core.Anchor, uint64) (uint64, error)
		blind, restarts bool
		want            error
		spent           bool
	}{
		{"all is well", nil, false, false, nil, false},
		{"moved, answer lost", moved, false, false, nil, false},
		{"not moved", stayed, false, false, core.ErrAnchor, false},
		{"not moved, then another console", stayed, false, true, core.ErrAnchor, false},
		{"moved, and unreadable", moved, true, false, core.ErrAnchor, false},
		{"moved, and unreadable, then another console", moved, true, true, core.ErrAnchor, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, a := ruled(t, nil)
			first, id := r.confirmed(rigAlias, rigValue), r.confirmed(rigOther, rigOtherValue)
			a.advance = stayed
			r.execute(first)
			r.restart()
			if c.advance != nil {
				a.advance = func(real core.Anchor, expected uint64) (uint64, error) {
					if c.blind {
						a.read = func(core.Anchor) (uint64, error) { return 0, errLost }
					}
					return c.advance(real, expected)
				}
			}
			if p := r.execute(id); !errors.Is(p.Err, c.want) {
				t.Fatalf("got %v, want %v", p.Err, c.want)
			}
			if c.restarts {
				r.restart()
			}
			if c.spent {
				first = r.replaceAttributed(first)
			}
			if c.want != nil {
				r.mustBe(id, core.Prepared)
				r.execute(id)
			}
			r.mustBe(id, core.Verified)
			r.execute(first)
			r.mustBe(first, core.Verified)
			r.mustBeAnchored()
			r.verifyClosed()
		})
	}
}

// Two runs of one console take turns at the anchor: while one is between its
// advance and its acquisition, another neither takes the open advance for one
// that was given up nor calls the database old.
func TestRunsTakeTurnsAtTheAnchor(t *testing.T) {
	for _, other := range []string{"execute", "roll back"} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			limits := core.DefaultLimits()
			limits.MaxInFlight = 2
			r, a := ruled(t, &limits)
			second := r.confirmed(rigOther, rigOtherValue)
			if other == "roll back" {
				r.execute(second)
			}
			first := r.confirmed(rigAlias, rigValue)
			moved, goOn := make(chan struct{}), make(chan struct{})
			a.advance = func(real core.Anchor, expected uint64) (uint64, error) {
				next, err := real.Advance(context.Background(), expected)
				close(moved)
				<-goOn
				return next, err
			}
			r.must(r.engine.Execute(ctx(), first))
			<-moved
			if other == "roll back" {
				r.must(r.engine.Rollback(ctx(), second, rigOperator, pass()))
			} else {
				r.must(r.engine.Execute(ctx(), second))
			}
			r.untilStep(second, core.StepAnchor)
			close(goOn)
			for _, id := range []string{first, second} {
				if p := r.wait(id); p.Err != nil {
					t.Fatalf("%s: %v", id, p.Err)
				}
			}
			r.mustBe(first, core.Verified)
			r.mustBeAnchored()
		})
	}
}

// untilStep waits until a run has come to a step, or has ended.
func (r *rig) untilStep(id string, name core.StepName) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		p, _ := r.engine.Progress(id)
		for _, s := range p.Steps {
			if s.Name == name && s.Status != core.StepWaiting {
				return
			}
		}
		if time.Now().After(end) {
			r.t.Fatal("the run does not come to: ", name)
		}
	}
}
