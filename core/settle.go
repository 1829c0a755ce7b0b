package core

import "time"

// The settle window (design section 4, rule 4): after an ambiguous send the
// appliance may still write, and then puts back the whole configuration that
// it had read at its start. Until the window is over no reading supports "not
// applied" (compare.go), and nothing new is sent to that appliance (maySend in
// engine.go; the store decides again, store/settle.go).

// MinimumSettle is the shortest settle window that may be configured: the
// web server lets a request run for 180 seconds.
const MinimumSettle = 180 * time.Second

// settleUntil is when no late write of an ambiguous send is to be expected
// any more (design section 4, rule 4). Without a recorded last byte it counts
// from the event that entered RECONCILIATION, which is later.
func settleUntil(n *Note, entered time.Time, window time.Duration) time.Time {
	if n != nil && n.LastByteAt != nil {
		return n.LastByteAt.Add(window)
	}
	return entered.Add(window)
}

// settling says why no new send goes to this appliance now, or "".
func (e *Engine) settling() string {
	if e.p.Clock.Now().Before(e.Header().SettleUntil) {
		return "an ambiguous send may still be writing"
	}
	return ""
}
