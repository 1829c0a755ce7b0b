package tui

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals gives a context that ends with the first SIGHUP (a lost terminal),
// SIGTERM or SIGINT. Until release is called, further signals are taken and
// dropped, so that none can end the process while a step in flight is being
// finished and recorded (design section 4, rule 14).
func Signals(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(parent)
	came := make(chan os.Signal, 4)
	signal.Notify(came, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-came:
				cancel()
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		close(done)
		cancel()
	}
}
