package tui

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/core"
	"countersign/tui/ptytest"
)

func runOn(ctx context.Context, term *ptytest.Terminal, d *door) <-chan error {
	returned := make(chan error, 1)
	go func() {
		returned <- Run(ctx, Options{Open: d.open, Clock: newTestClock(), Plain: true, Appliance: "fw1.example.net",
			Input: term.Program, Output: term.Program, Environ: func(string) string { return "" }})
	}()
	return returned
}

// A refused Open is Run's error once the operator has seen it, so that the
// exit code is right.
func TestRunReturnsWhyItDidNotOpen(t *testing.T) {
	term, d := ptytest.Open(t, 80, 24), newDoor()
	returned := runOn(context.Background(), term, d)
	term.Await("STARTING")
	d.result <- opened{err: core.ErrAnchor}
	term.Await("could not be opened")
	term.Press("q")
	if err := <-returned; !errors.Is(err, core.ErrAnchor) {
		t.Fatalf("Run returned %v", err)
	}
}

// BenchmarkFirstFrame measures from the start to the first frame on a real
// terminal device, while the store is still being opened: ms, and the share of
// the 150 ms that the design allows (section 10).
func BenchmarkFirstFrame(b *testing.B) {
	var total time.Duration
	for range b.N {
		term, d := ptytest.Open(b, 120, 40), newDoor()
		ctx, leave := context.WithCancel(context.Background())
		start := time.Now()
		returned := runOn(ctx, term, d)
		term.Await("STARTING")
		total += time.Since(start)
		leave()
		if err := <-returned; err != nil {
			b.Fatal(err)
		}
		term.Close()
	}
	each := total / time.Duration(b.N)
	b.ReportMetric(float64(each)/float64(time.Millisecond), "ms/frame")
	b.ReportMetric(float64(each)/float64(150*time.Millisecond), "x-allowed")
}
