package keys

import (
	"context"
	"errors"
	"sync"
	"time"

	"countersign/core"
)

// AttemptResult is what a passphrase led to.
type AttemptResult string

// The results of an attempt. What the keyring could not answer is none.
const (
	AttemptOpened          AttemptResult = "opened"
	AttemptWrongPassphrase AttemptResult = "wrong_passphrase"
	AttemptWrongKey        AttemptResult = "wrong_key" // ErrCommitment
)

// Failures are an operator's failed attempts since the last good one.
type Failures struct {
	Count int
	Last  time.Time
}

// Attempts counts and audits passphrases (design section 7). Nothing of a
// passphrase is in it. One that can't be read or written closes the way in.
type Attempts interface {
	// Failures returns what is counted against an operator.
	Failures(ctx context.Context, operator string) (Failures, error)
	// Record adds an attempt; AttemptOpened ends the count.
	Record(ctx context.Context, operator string, result AttemptResult, at time.Time) error
}

const (
	firstDelay = time.Second
	longDelay  = 30 * time.Second
)

// delayAfter doubles from one second, after one failure, up to thirty.
func delayAfter(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	return min(firstDelay<<min(failures-1, 10), longDelay)
}

// RetryAfter is how long Unlock would wait for this operator now; a screen can
// say so before it asks.
func (o *Operators) RetryAfter(ctx context.Context, operator string) (time.Duration, error) {
	failures, err := o.Attempts.Failures(ctx, operator)
	if err != nil {
		return 0, err
	}
	delay := delayAfter(failures.Count)
	// A clock that went backwards must not make anyone wait longer.
	return max(0, min(delay, delay-o.Clock.Now().Sub(failures.Last))), nil
}

// attempt runs one try at a passphrase: alone, after the delay, and counted.
// Its result is recorded even if the caller has gone meanwhile.
func (o *Operators) attempt(ctx context.Context, operator string, try func() error) error {
	select {
	case o.slot <- struct{}{}:
		defer func() { <-o.slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	wait, err := o.RetryAfter(ctx, operator)
	if err != nil {
		return err
	}
	if wait > 0 {
		if err := o.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	err = try()
	if result := resultOf(err); result != "" {
		recorded := o.Attempts.Record(context.WithoutCancel(ctx), operator, result, o.Clock.Now())
		return errors.Join(err, recorded)
	}
	return err
}

func resultOf(err error) AttemptResult {
	switch {
	case err == nil:
		return AttemptOpened
	case errors.Is(err, core.ErrWrongPassphrase):
		return AttemptWrongPassphrase
	case errors.Is(err, ErrCommitment):
		return AttemptWrongKey
	}
	return ""
}

// Sleep waits for d or for ctx; the production OperatorConfig.Sleep.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// MemoryAttempts counts until the process ends.
type MemoryAttempts struct {
	mu    sync.Mutex
	count map[string]Failures
}

// NewMemoryAttempts counts from zero.
func NewMemoryAttempts() *MemoryAttempts { return &MemoryAttempts{count: map[string]Failures{}} }

// Failures implements Attempts.
func (m *MemoryAttempts) Failures(_ context.Context, operator string) (Failures, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count[operator], nil
}

// Record implements Attempts.
func (m *MemoryAttempts) Record(_ context.Context, operator string, result AttemptResult, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if result == AttemptOpened {
		delete(m.count, operator)
		return nil
	}
	m.count[operator] = Failures{m.count[operator].Count + 1, at}
	return nil
}
