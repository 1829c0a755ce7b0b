package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"

	"countersign/core"
)

// robot is an operator: it presses keys and looks at the screen. After each
// key it waits until nothing is under way, so it never reads an old screen.
type robot struct {
	t      *testing.T
	tm     *teatest.TestModel
	engine *fake
	clock  *testClock
}

// begin opens the console of a fake engine in a terminal of this size.
func begin(t *testing.T, width, height int, prepare func(*fake)) *robot {
	t.Helper()
	clock := newTestClock()
	engine := newFake(clock)
	if prepare != nil {
		prepare(engine)
	}
	return beginWith(t, width, height, engine, clock, func(o *Options) { o.Engine = engine })
}

// beginWith opens the console with options of the test's own.
func beginWith(t *testing.T, width, height int, engine *fake, clock *testClock, choose func(*Options)) *robot {
	t.Helper()
	opts := Options{Operator: testOperator, Clock: clock, Zone: time.UTC, Plain: true, Output: discard{},
		NewKey:      func() string { return "request-1" },
		RequestPath: func(kind core.ProofKind, name string) string { return "requests/" + string(kind) + "-" + name }, Environ: func(string) string { return "" }}
	choose(&opts)
	r := &robot{t: t, engine: engine, clock: clock}
	r.tm = teatest.NewTestModel(t, New(opts), teatest.WithInitialTermSize(width, height))
	t.Cleanup(func() { r.tm.Send(stopped{}); r.tm.WaitFinished(t, teatest.WithFinalTimeout(10*time.Second)) })
	r.idle()
	return r
}

// idle waits until every message is handled and no engine call is under way.
func (r *robot) idle() string {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		reply := make(chan glance, 1)
		r.tm.Send(peek(reply))
		select {
		case g := <-reply:
			if g.busy == 0 {
				return g.view
			}
		case <-time.After(5 * time.Second):
			r.t.Fatal("the console does not answer")
		}
		time.Sleep(time.Millisecond)
	}
	r.t.Fatal("the console never became idle")
	return ""
}

// press presses keys by name; a name that is no key is typed letter by letter.
func (r *robot) press(names ...string) *robot {
	r.t.Helper()
	for _, name := range names {
		if msg := keyNamed(name); len([]rune(name)) == 1 || msg.String() == name {
			r.tm.Send(msg)
		} else {
			r.typed(name)
		}
		r.idle()
	}
	return r
}

// typed types text, one key each.
func (r *robot) typed(text string) *robot {
	for _, c := range text {
		r.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}})
	}
	return r
}

// sees requires texts on the screen.
func (r *robot) sees(texts ...string) *robot {
	r.t.Helper()
	view := r.idle()
	for _, text := range texts {
		if !strings.Contains(view, text) {
			r.t.Fatalf("the screen does not show %q:\n%s", text, view)
		}
	}
	return r
}

// lacks requires that texts are not on the screen.
func (r *robot) lacks(texts ...string) *robot {
	r.t.Helper()
	view := r.idle()
	for _, text := range texts {
		if strings.Contains(view, text) {
			r.t.Fatalf("the screen shows %q:\n%s", text, view)
		}
	}
	return r
}

// awaits waits for a text that no earlier screen shows: for what a widget's
// own command or a run brings.
func (r *robot) awaits(text string) *robot {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	view := ""
	for time.Now().Before(deadline) {
		if view = r.idle(); strings.Contains(view, text) {
			return r
		}
		time.Sleep(2 * time.Millisecond)
	}
	r.t.Fatalf("the screen never shows %q:\n%s", text, view)
	return r
}

// called requires that the engine was called like this.
func (r *robot) called(call string) *robot {
	r.t.Helper()
	if n := r.calls(call); n == 0 {
		r.t.Fatalf("the engine was not called with %q: %q", call, r.engine.calls)
	}
	return r
}

func (r *robot) calls(call string) int {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	n := 0
	for _, c := range r.engine.calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

// state requires a contract's state.
func (r *robot) state(id string, want core.State) *robot {
	r.t.Helper()
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	if got := r.engine.details[id].Row.State; got != want {
		r.t.Fatalf("%s is %s, want %s", id, got, want)
	}
	return r
}

// wiped requires that every passphrase that was handed over is overwritten.
func (r *robot) wiped() *robot {
	r.t.Helper()
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	if len(r.engine.passes) == 0 {
		r.t.Fatal("no passphrase was handed over")
	}
	for _, p := range r.engine.passes {
		for _, b := range p {
			if b != 0 {
				r.t.Fatal("a passphrase is still in memory")
			}
		}
	}
	return r
}

// paste pastes text, as a terminal with bracketed paste does.
func (r *robot) paste(text string) *robot {
	r.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
	r.idle()
	return r
}
