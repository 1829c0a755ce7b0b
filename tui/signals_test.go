package tui

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// A lost terminal, a kill and an interrupt each end the context once; the
// second one does not end the process while it finishes what is in flight.
func TestSignalsEndTheContextAndNothingElse(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		ctx, release := Signals(context.Background())
		for range 3 { // the test process would die of any that is not taken
			if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Fatalf("%v does not end the context", sig)
		}
		time.Sleep(20 * time.Millisecond) // the others arrive
		release()
	}
}

// Run closes the screen on the first signal and then waits for what is in
// flight before it returns.
func TestRunWaitsForWhatIsInFlight(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	finish, waiting := make(chan struct{}), make(chan struct{})
	returned := make(chan error)
	go func() {
		returned <- Run(ctx, Options{Engine: newFake(newTestClock()), Clock: newTestClock(), Plain: true,
			Input: neverRead{}, Output: discard{}, Environ: func(string) string { return "" },
			Wait: func() { close(waiting); <-finish }})
	}()
	cancel() // as a signal does
	select {
	case <-waiting:
	case <-time.After(10 * time.Second):
		t.Fatal("the console does not end")
	}
	select {
	case <-returned:
		t.Fatal("Run returned while a run was in flight")
	default:
	}
	close(finish)
	if err := <-returned; err != nil {
		t.Fatal(err)
	}
}

// neverRead is a keyboard that nobody touches.
type neverRead struct{}

func (neverRead) Read([]byte) (int, error) { select {} }

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
