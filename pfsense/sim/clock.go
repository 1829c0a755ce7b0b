package sim

import (
	"context"
	"sync"
	"time"
)

// Clock gives the simulator its time. Waits of the appliance (write lock, web server, reloads, latency) go through it.
type Clock interface {
	// Now is the appliance's time.
	Now() time.Time
	// Sleep waits for d or until the context is done, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the machine's clock.
func RealClock() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ManualClock stands still until Advance is called, so that waits of minutes take no time in tests.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps map[*manualSleep]struct{}
}

type manualSleep struct {
	until time.Time
	done  chan struct{}
}

// NewManualClock starts a clock that shows the given time.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start, sleeps: map[*manualSleep]struct{}{}}
}

// Now is the time the clock was last moved to.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and wakes everybody whose wait has ended.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for s := range c.sleeps {
		if !s.until.After(c.now) {
			close(s.done)
			delete(c.sleeps, s)
		}
	}
}

// Sleepers is the number of waits in progress.
func (c *ManualClock) Sleepers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sleeps)
}

// Sleep waits until the clock has been advanced by d.
func (c *ManualClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	s := &manualSleep{done: make(chan struct{})}
	c.mu.Lock()
	s.until = c.now.Add(d)
	c.sleeps[s] = struct{}{}
	c.mu.Unlock()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.sleeps, s)
		c.mu.Unlock()
		return ctx.Err()
	}
}
