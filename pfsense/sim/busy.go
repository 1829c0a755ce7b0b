package sim

import (
	"context"
	"sync"
)

// busy counts what is under way. Unlike a WaitGroup it may be waited for while new work begins.
type busy struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when nothing is under way; nil while nobody waits
}

func (b *busy) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n--
	if b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// wait returns when nothing is under way or the context is done.
func (b *busy) wait(ctx context.Context) error {
	b.mu.Lock()
	if b.n == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
