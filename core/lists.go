package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"countersign/canon"
)

// ExpiringSoon is how near its expiry a PREPARED contract needs a person.
const ExpiringSoon = 3 * time.Minute

// List returns one page of rows, newest first. Rows whose artifacts cannot be
// opened are shown with their id.
func (e *Engine) List(ctx context.Context, list ListName, after string, limit int) (Page, error) {
	page, err := e.p.Store.List(ctx, ListQuery{List: list, After: after, Limit: limit})
	if err != nil {
		return Page{}, err
	}
	if after == "" {
		e.recount(ctx)
	}
	out := Page{List: list, Next: page.Next}
	if after == "" && list != ListActive {
		bad, err := e.p.Store.Quarantined(ctx)
		if err != nil {
			return Page{}, err
		}
		for _, q := range bad {
			out.Rows = append(out.Rows, Row{ContractID: q.ContractID, Quarantined: q.Reason, Sentence: q.Explain})
		}
	}
	for _, item := range page.Items {
		out.Rows = append(out.Rows, e.row(ctx, item))
	}
	return out, nil
}

// recount keeps the header's sizes of the lists true without a probe: time
// alone moves contracts into Needs you and out of it.
func (e *Engine) recount(ctx context.Context) {
	counts, err := e.p.Store.Counts(ctx)
	if err != nil {
		return // what is wrong with the store is told by what reads it next
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.header.Counts = counts
}

func (e *Engine) row(ctx context.Context, item ListItem) Row {
	c := item.Contract
	r := Row{ContractID: c.ID, State: c.State, Actor: item.Actor, Confirmed: c.Confirmed(), Attributed: item.Attributed,
		CreatedAt: c.CreatedAt, UpdatedAt: item.UpdatedAt, ExpiresAt: c.ExpiresAt, Load: loadNow(item), Target: c.ID}
	if c.State == Reconciliation {
		r.SettleUntil = settleUntil(item.Note, item.UpdatedAt, e.set.Windows.Settle)
	}
	if capability, ok := e.p.Capabilities.Find(c.Binding()); ok {
		spec := capability.Spec()
		r.Noun, r.Change, r.Loads = spec.Noun, changeWords(spec), spec.Loads
		if identity, err := e.openIdentity(ctx, c); err == nil {
			r.Target = capability.Label(identity)
		}
	}
	r.Sentence = e.sentence(r, item.Note, item.Look)
	return r
}

// loadNow is what is known about loading the state that a contract is in: what
// was loaded forward says nothing about what was put back since.
func loadNow(item ListItem) LoadClaim {
	dir := Forward
	if item.Contract.State == RolledBack {
		dir = Backward
	}
	if item.LoadDirection != dir {
		return ""
	}
	return item.Load
}

// openIdentity decrypts only what a row shows.
func (e *Engine) openIdentity(ctx context.Context, c Contract) (Object, error) {
	plain, err := e.p.Sealer.Open(ctx, c.ID, RoleTargetIdentity, c.ProtectedTarget)
	if err != nil {
		return nil, err
	}
	return canon.ParseObject(plain)
}

// changeWords is a capability's title without its noun: "description".
func changeWords(s Spec) string { return strings.TrimSpace(strings.TrimPrefix(s.Title, s.Noun)) }

// sealedWords says what else was seen to change around a proven success: the
// later of the two looks counts.
func sealedWords(success string, n *Note, l *Look) string {
	switch {
	case l != nil && l.Found == LookedChanged:
		return success + "; soon after, the target was changed: look before you go"
	case l != nil && l.Neighbours > 0:
		return fmt.Sprintf("%s; other objects that changed meanwhile: %d", success, l.Neighbours)
	case n != nil && n.Neighbours > 0:
		return fmt.Sprintf("%s; other objects that changed meanwhile: %d", success, n.Neighbours)
	}
	return success
}

// attributedWords says why a confirmed contract is never sent, and the way on.
func attributedWords() string { return ErrAttributed.Error() + "; decline it and prepare it afresh" }

// sentence explains a row in one line.
func (e *Engine) sentence(r Row, n *Note, l *Look) string {
	if n != nil && n.Outcome != "" && !r.State.InFlight() && r.State != Reconciliation {
		return conclusionWords(n.Outcome)
	}
	now := e.p.Clock.Now()
	switch r.State {
	case Prepared:
		switch {
		case !now.Before(r.ExpiresAt):
			return "window closed; it still blocks this change, and releasing it is the owner's decision"
		case r.Attributed:
			return attributedWords()
		case r.Confirmed:
			return "confirmed, not sent yet"
		}
		return "waits for confirmation"
	case Executing:
		return "a request may be in flight"
	case RollingBack:
		return "a rollback may be in flight"
	case Reconciliation:
		what := "the outcome is not proven"
		if n != nil && n.Failure != FailureNone {
			what = n.Failure.Words()
		}
		if now.Before(r.SettleUntil) {
			return what + " · the firewall may still be writing"
		}
		return what + " · decide from a fresh reading"
	case RollbackFailed:
		return "the rollback failed for certain; the target stays reserved until the owner decides"
	case Verified:
		return sealedWords("sent once, read back and verified", n, l)
	case Failed:
		if n != nil && n.Knowledge == Ambiguous {
			return n.Failure.Words()
		}
		if n != nil && n.Failure != FailureNone {
			return "not changed, proven: " + n.Failure.Words()
		}
		return "not changed, proven"
	case RolledBack:
		return sealedWords("the old value was read back", n, l)
	case Expired:
		return "expired before anything was sent"
	}
	return ""
}

// Detail returns everything about one contract.
func (e *Engine) Detail(ctx context.Context, contractID string) (Detail, error) {
	c, err := e.p.Store.Load(ctx, contractID)
	if err != nil {
		return Detail{}, err
	}
	events, err := e.p.Store.Timeline(ctx, contractID)
	if err != nil {
		return Detail{}, err
	}
	looks, err := e.p.Store.Looks(ctx, contractID)
	if err != nil {
		return Detail{}, err
	}
	loads, err := e.p.Store.Loads(ctx, contractID)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Contract: c, Events: events, Loads: loads, Looks: looks, Appliance: e.set.Appliance}
	item := itemOf(c, events, loads, looks)
	if c.State == Prepared {
		if item.Attributed, err = e.p.Store.Attributed(ctx, contractID); err != nil {
			return Detail{}, err
		}
	}
	d.Row = e.row(ctx, item)
	if opened, err := OpenContract(ctx, c, e.p.Capabilities, e.p.Sealer); err != nil {
		d.Unreadable = err.Error()
	} else {
		d.Summary = opened.Capability.Summary(opened.Snapshot)
		d.Changes = opened.Capability.Changes(opened.Request, opened.Snapshot)
		d.WayBack = opened.Capability.Spec().WayBack
	}
	d.Actions = e.actions(d)
	return d, nil
}

func itemOf(c Contract, events []AuditEvent, loads []LoadRecord, looks []Look) ListItem {
	item := ListItem{Contract: c, UpdatedAt: c.CreatedAt}
	if len(events) > 0 {
		last := events[len(events)-1]
		item.UpdatedAt, item.Note = last.RecordedAt, last.Note
		if n := events[0].Note; n != nil {
			item.Actor = n.Actor
		}
	}
	if n := len(looks); n > 0 && looks[n-1].StateVersion == c.StateVersion {
		item.Look = &looks[n-1]
	}
	if len(loads) > 0 {
		last := loads[len(loads)-1]
		item.Load, item.LoadDirection, item.LoadAt = last.Claim, last.Direction, last.At
	}
	return item
}
