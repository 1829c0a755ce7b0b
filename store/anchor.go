package store

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	"countersign/canon"
	"countersign/core"
)

// The two rows of anchor_state (conformance anchor cases).
const (
	keyMark         = "high_water_mark"
	keyProvisioning = "anchor_provisioning_complete"
)

// The steps of an advance in cs_advances. Planned is written before the
// anchor moves; each of the others closes the planned advance of the same
// mark and contract (design section 6).
const (
	stepPlanned    = "planned"
	stepAcquired   = "acquired"   // mark and EXECUTING were committed together
	stepAttributed = "attributed" // the anchor had moved, and the process that moved it is gone
	stepWithdrawn  = "withdrawn"  // the anchor had moved, and its mover says that nothing was acquired
)

// anchorState is what this process knows of the anchor: the last comparison
// with the mark.
type anchorState struct {
	mu   sync.Mutex
	err  error
	done bool
}

func (a *anchorState) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err, a.done = err, true
}

// refused is why nothing may be sent, or nil.
func (a *anchorState) refused() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func (a *anchorState) describe() (ok bool, note string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.done:
		return false, "the anchor was not compared yet"
	case a.err != nil:
		return false, a.err.Error()
	}
	return true, ""
}

// mark reads the authenticated high-water mark; a missing one counts as 0.
func (t *tx) mark() (uint64, error) {
	value, found, err := t.anchorValue(keyMark, labelMark)
	if err != nil || !found {
		return 0, err
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || !validMark(value) {
		return 0, refuse(ReasonAnchorValue)
	}
	return n, nil
}

// validMark: plain decimal digits as a writer makes them, nothing else
// (design lesson 14).
func validMark(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || (s != "" && s[0] != '0')
}

// anchorValue reads one authenticated row of anchor_state.
func (t *tx) anchorValue(key, label string) (value string, found bool, err error) {
	rows, err := t.QueryContext(t.ctx, "SELECT value, mac FROM anchor_state WHERE key = ?", key)
	if err != nil {
		return "", false, classify(err)
	}
	defer rows.Close()
	if !rows.Next() {
		return "", false, classify(rows.Err())
	}
	var v, mac text
	if err := rows.Scan(&v, &mac); err != nil {
		return "", false, classify(err)
	}
	if !v.ok || !mac.ok || !t.macs.labelled(label, v.s).equal(mac.s) {
		return "", true, refuse(ReasonAnchorMAC)
	}
	return v.s, true, nil
}

func (t *tx) setMark(n uint64) error {
	t.touched = true
	value := strconv.FormatUint(n, 10)
	mac := string(t.macs.labelled(labelMark, value).finish())
	_, err := t.exec(`INSERT INTO anchor_state (key, value, mac) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, mac = excluded.mac`, keyMark, value, mac)
	return err
}

// advance is a planned advance of the anchor that nothing has closed yet.
type advance struct {
	contractID string
	version    int64
}

// openAdvances returns the advances from mark that are not closed.
func (t *tx) openAdvances(mark uint64) ([]advance, error) {
	rows, err := t.rows(tableAdvances, "WHERE mark = ? ORDER BY sequence", strconv.FormatUint(mark, 10))
	if err != nil {
		return nil, err
	}
	var open []advance
	for _, r := range rows {
		a := advance{r.text(2), r.number(3)}
		kept := open[:0]
		for _, o := range open {
			if o.contractID != a.contractID {
				kept = append(kept, o)
			}
		}
		if open = kept; r.text(4) == stepPlanned {
			open = append(open, a)
		}
	}
	return open, nil
}

func (t *tx) insertAdvance(mark uint64, a advance, step string) error {
	return t.appendRow(tableAdvances, []any{strconv.FormatUint(mark, 10), a.contractID, a.version,
		step, core.FormatInstant(t.now)})
}

// planAdvance writes that the anchor is about to move for l.
func (t *tx) planAdvance(mark uint64, l loaded) error {
	if mark == math.MaxUint64 {
		return fmt.Errorf("%w: the counter is exhausted", core.ErrAnchor)
	}
	open, err := t.openAdvances(mark)
	if err != nil {
		return err
	}
	want := advance{l.ID, l.StateVersion}
	for _, o := range open {
		if o == want {
			return nil
		}
		if o.contractID != l.ID {
			return fmt.Errorf("%w: %w", core.ErrAnchor, core.ErrNumberTaken)
		}
	}
	return t.insertAdvance(mark, want, stepPlanned)
}

// acquireAdvance closes l's planned advance and raises the mark.
func (t *tx) acquireAdvance(l loaded) error {
	mark, err := t.mark()
	if err != nil {
		return err
	}
	open, err := t.openAdvances(mark)
	if err != nil {
		return err
	}
	want := advance{l.ID, l.StateVersion}
	if len(open) != 1 || open[0] != want {
		return fmt.Errorf("%w: no advance of the anchor was planned for this contract", core.ErrConflict)
	}
	if err := t.insertAdvance(mark, want, stepAcquired); err != nil {
		return err
	}
	return t.setMark(mark + 1)
}

// SettleAnchor compares the anchor with the high-water mark: equal is well; one
// ahead with exactly one planned advance is attributed to that contract and
// recorded; anything else is core.ErrRolledBackStore, and nothing is sent until
// a later call passes (design section 6). Only the executor calls it, and never
// between its own PlanAcquisition and Acquire.
//
// What was attributed counts as an ambiguous send, and its contract is never
// acquired (core.ErrAttributed): a console that ended right here looks the same
// as a copy of the database from before a send. A planned advance that the
// anchor has not come to stays open: its number is its contract's, in every
// copy (decision 13).
func (s *Store) SettleAnchor(ctx context.Context, anchor uint64) error {
	return s.settleAnchor(ctx, anchor, stepAttributed)
}

// WithdrawAdvance is SettleAnchor for the process that moved the anchor itself
// and knows that nothing was acquired after it.
func (s *Store) WithdrawAdvance(ctx context.Context, anchor uint64) error {
	return s.settleAnchor(ctx, anchor, stepWithdrawn)
}

func (s *Store) settleAnchor(ctx context.Context, anchor uint64, step string) error {
	err := s.write(ctx, "settle anchor", func(t *tx) error {
		mark, err := t.mark()
		if err != nil || anchor == mark {
			return err
		}
		open, err := t.openAdvances(mark)
		if err != nil {
			return err
		}
		if mark == math.MaxUint64 || anchor != mark+1 || len(open) != 1 {
			return core.ErrRolledBackStore
		}
		if err := t.insertAdvance(mark, open[0], step); err != nil {
			return err
		}
		return t.setMark(anchor)
	})
	s.anchor.set(err)
	return err
}

// ProvisionAnchor writes the baseline of an anchor once: its handle (a name,
// no secret) and the value it showed. A second time is core.ErrConflict.
func (s *Store) ProvisionAnchor(ctx context.Context, handle string, value uint64) error {
	return s.write(ctx, "provision anchor", func(t *tx) error {
		n, err := t.count("SELECT count(*) FROM anchor_state")
		if err != nil {
			return err
		}
		if n != 0 {
			return fmt.Errorf("%w: the anchor is already provisioned", core.ErrConflict)
		}
		text, err := canon.Encode(core.Object{"handle": handle, "provisioned_at": core.FormatInstant(t.now),
			"verified_value": int64(value)})
		if err != nil || value > math.MaxInt64 {
			return fmt.Errorf("%w: the anchor's handle or value", core.ErrInvalid)
		}
		if err := t.setMark(value); err != nil {
			return err
		}
		mac := string(t.macs.labelled(labelProvisioning, string(text)).finish())
		_, err = t.exec("INSERT INTO anchor_state (key, value, mac) VALUES (?, ?, ?)", keyProvisioning, string(text), mac)
		return err
	})
}
