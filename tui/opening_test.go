package tui

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// door is an Open that a test lets through, or refuses.
type door struct {
	progress chan func(done, total int) // given when Open is called
	result   chan opened
	left     chan struct{} // closed when Open has returned
}

func newDoor() *door {
	return &door{progress: make(chan func(int, int), 1), result: make(chan opened, 1), left: make(chan struct{})}
}

func (d *door) open(ctx context.Context, progress func(done, total int)) (Engine, core.StartReport, error) {
	defer close(d.left)
	d.progress <- progress
	select {
	case o := <-d.result:
		return o.engine, o.report, o.err
	case <-ctx.Done():
		return nil, core.StartReport{}, ctx.Err()
	}
}

func beginOpening(t *testing.T, prepare func(*fake)) (*robot, *door) {
	t.Helper()
	clock := newTestClock()
	engine, d := newFake(clock), newDoor()
	if prepare != nil {
		prepare(engine)
	}
	return beginWith(t, 80, 24, engine, clock, func(o *Options) { o.Open, o.Appliance = d.open, "fw1.example.net" }), d
}

// The first frame does not wait for the store. While it is verified nothing
// but help and leaving works, and every other key says so; then the list
// comes, and what the start found is said.
func TestOpening(t *testing.T) {
	r, d := beginOpening(t, func(f *fake) { f.add(askID, core.Reconciliation, "web_servers") })
	r.sees("fw1.example.net", "STARTING", "opening the store", "q quit", "? help").lacks("n new change", "Needs you")
	progress := <-d.progress
	progress(12_000, 100_000)
	r.awaits("verifying 12,000 of 100,000").sees("█████░")
	r.press("n").sees("n new change: not now, the store is being verified")
	r.press("enter", "tab", ":", "i").sees("i inbox: not now, the store is being verified")
	r.press("?").sees("Keys that work now", "leave the console").press("pgdown").sees("not now: the store is being verified")
	progress(100_000, 100_000)
	r.press("esc").awaits("verified 100,000 contracts, starting")
	if len(r.engine.calls) != 0 {
		t.Fatalf("the engine was called with %q before it was there", r.engine.calls)
	}
	d.result <- opened{engine: r.engine, report: core.StartReport{
		Recovered: make([]core.Row, 2), Quarantined: make([]core.QuarantinedRecord, 1)}}
	r.awaits("EXECUTOR").sees("2 contracts under way when the console last ended", "nothing was sent again", "1 record quarantined",
		"[Needs you 1]", "? RECONCILIATION")
	r.press("n").sees("alias description")
}

// Help that is open when the scan has passed stays open above the list.
func TestOpeningKeepsHelp(t *testing.T) {
	r, d := beginOpening(t, nil)
	r.press("?").sees("Keys that work now")
	d.result <- opened{engine: r.engine}
	r.awaits("EXECUTOR").sees("Keys that work now").press("esc").sees("[Active 0]")
}

// A console that cannot be opened says why and the way on, and only leaves.
func TestOpeningRefused(t *testing.T) {
	r, d := beginOpening(t, nil)
	d.result <- opened{err: fmt.Errorf("opening: %w", core.ErrRolledBackStore)}
	r.awaits("could not be opened").sees("NOT OPEN", "older than its anchor", "reading works", "Nothing was sent. q leaves.")
	r.press("n").sees("n new change: not now, the console could not be opened")
	r.tm.Send(keyNamed("q"))
	r.left()
}

// Leaving while the store is verified cancels that, and waits until it has
// given up.
func TestLeavingWhileOpening(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		r, d := beginOpening(t, nil)
		<-d.progress
		r.tm.Send(keyNamed(key))
		r.left()
		<-d.left
	}
}

// Run waits for an Open that was cancelled by leaving or by a signal, and that
// is no error.
func TestRunCancelsOpening(t *testing.T) {
	for name, leave := range map[string]func(signal func(), keys io.Writer){
		"a signal": func(signal func(), _ io.Writer) { signal() },
		"a key":    func(_ func(), keys io.Writer) { fmt.Fprint(keys, "\x03") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			d := newDoor()
			reader, writer := io.Pipe()
			defer writer.Close()
			returned := make(chan error)
			go func() {
				returned <- Run(ctx, Options{Open: d.open, Clock: newTestClock(), Plain: true, Input: reader, Output: discard{},
					Environ: func(string) string { return "" }})
			}()
			<-d.progress
			leave(cancel, writer)
			select {
			case err := <-returned:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Run does not return")
			}
			select {
			case <-d.left:
			default:
				t.Fatal("Run returned before Open had given up")
			}
		})
	}
}

// A command that bubbletea starts after Run has waited does nothing.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	m := New(Options{Engine: newFake(newTestClock()), Clock: newTestClock(), Plain: true, Environ: func(string) string { return "" }})
	called, passphrase := false, []byte(testPassphrase)
	late := m.agree(passphrase, func(context.Context) tea.Msg { called = true; return nil })
	m.cancel()
	m.unsubscribe()
	m.underWay.wait()
	if msg := late(); msg != nil || called {
		t.Fatal("a decision was made after the program had ended")
	}
	for _, b := range passphrase {
		if b != 0 {
			t.Fatal("its passphrase is still in memory")
		}
	}
}

// An observer that takes over says so, and what it found.
func TestTakingOverIsSaid(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.header.Mode, f.header.LockHolder, f.header.Closed = core.ModeObserver, "jo@jump1", "this console only observes"
	})
	r.sees("OBSERVER")
	r.engine.mu.Lock()
	r.engine.header.Mode, r.engine.header.Closed = core.ModeExecutor, ""
	r.engine.header.TakenOver = &core.StartReport{}
	r.engine.mu.Unlock()
	r.press("ctrl+r").sees("EXECUTOR", "this console has taken over and may act now").lacks("now;", "under way when")
}

// What was under way in the other console is said with it.
func TestTakingOverSaysWhatWasUnderWay(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.header.Mode = core.ModeObserver })
	r.engine.mu.Lock()
	r.engine.header.Mode = core.ModeExecutor
	r.engine.header.TakenOver = &core.StartReport{Recovered: make([]core.Row, 1)}
	r.engine.mu.Unlock()
	r.press("ctrl+r").sees("EXECUTOR", "this console has taken over", "1 contract", "other console ended: now in RECONCILIATION", "nothing was sent again")
	r.press("ctrl+r").lacks("taken over")
}
