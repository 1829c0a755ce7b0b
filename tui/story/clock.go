package story

import (
	"sync/atomic"
	"time"

	"countersign/core"
)

// Clock is the machine's clock, shifted: a day of history can be made in a
// second, and a cool-down need not be waited for.
type Clock struct{ offset atomic.Int64 }

// Now returns the shifted present.
func (c *Clock) Now() time.Time { return core.Instant(time.Now().Add(time.Duration(c.offset.Load()))) }

// Shift moves the clock.
func (c *Clock) Shift(d time.Duration) { c.offset.Add(int64(d)) }
