package store

import (
	"context"
	"errors"
	"fmt"
	"math"

	"countersign/core"
)

// pageLimit is the most rows of one page.
const pageLimit = 200

// List returns one page, newest first, or oldest first of core.ListOldest. Pages are found by position, never by
// counting rows; every row shown is verified, and a quarantined record is
// left out (Quarantined lists it).
func (s *Store) List(ctx context.Context, q core.ListQuery) (core.ListPage, error) {
	limit := min(max(q.Limit, 1), pageLimit)
	var page core.ListPage
	err := s.read(ctx, func(t *tx) error {
		from, err := t.positionOf(q)
		if err != nil {
			return err
		}
		attributed, err := t.attributed()
		if err != nil {
			return err
		}
		for len(page.Items) < limit {
			// Rows of quarantined contracts are left out, never all of a page.
			places, err := t.nextPlaces(q, from, limit-len(page.Items)+len(s.flaws.all()))
			if err != nil || len(places) == 0 {
				page.Next = ""
				return err
			}
			for _, r := range places {
				if len(page.Items) == limit {
					return nil
				}
				from, page.Next = r.number(0), r.text(1)
				if err := t.addItem(&page, r, attributed); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return page, err
}

// addItem verifies one contract and adds it to the page, unless it is quarantined.
func (t *tx) addItem(page *core.ListPage, r ownRow, attributed map[string]bool) error {
	id := r.text(1)
	l, err := t.load(id)
	if err == nil {
		err = t.addNotes(id, l.events)
	}
	if errors.Is(err, core.ErrQuarantined) || errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	item := core.ListItem{Contract: l.Contract, UpdatedAt: l.last().RecordedAt, Note: l.last().Note,
		Attributed: l.State == core.Prepared && attributed[id]}
	if n := l.events[0].Note; n != nil {
		item.Actor = n.Actor
	}
	loads, err := t.rows(tableLoads, "WHERE contract_id = ? ORDER BY sequence DESC LIMIT 1", id)
	if err != nil {
		return err
	}
	if len(loads) == 1 {
		l := loadOf(loads[0])
		item.Load, item.LoadDirection, item.LoadAt = l.Claim, l.Direction, l.At
	}
	if item.Look, err = t.lookAt(l.Contract); err != nil {
		return err
	}
	page.Items = append(page.Items, item)
	return nil
}

// positionOf is where a page begins: beyond the contract that was seen last.
func (t *tx) positionOf(q core.ListQuery) (int64, error) {
	if q.After == "" {
		if q.List == core.ListOldest {
			return 0, nil
		}
		return math.MaxInt64, nil
	}
	first, err := t.events("WHERE contract_id = ? AND state_version = 0", q.After)
	if err != nil {
		return 0, err
	}
	if len(first) == 0 {
		return 0, core.ErrNotFound
	}
	return first[0].sequence, nil
}

func (t *tx) nextPlaces(q core.ListQuery, from int64, limit int) ([]ownRow, error) {
	if !t.s.own {
		return t.foreignPlaces(q, from, limit)
	}
	return t.places(q, from, limit)
}

// places returns the next rows of a list beyond a position.
func (t *tx) places(q core.ListQuery, from int64, limit int) ([]ownRow, error) {
	switch q.List {
	case core.ListActive:
		return t.goodPlaces("WHERE position < ? AND state IN ("+activeStates+") ORDER BY position DESC LIMIT ?",
			from, limit)
	case core.ListHistory:
		return t.goodPlaces("WHERE position < ? ORDER BY position DESC LIMIT ?", from, limit)
	case core.ListOldest:
		return t.goodPlaces("WHERE position > ? ORDER BY position LIMIT ?", from, limit)
	case core.ListNeedsYou:
		soon, late := t.soon()
		return t.goodPlaces("WHERE position IN ("+
			"SELECT position FROM cs_members WHERE state IN ("+waitingStates+") UNION ALL "+
			"SELECT position FROM cs_members WHERE state IN ("+expiringStates+") AND expires_at > ? AND expires_at <= ?"+
			") AND position < ? ORDER BY position DESC LIMIT ?", soon, late, from, limit)
	}
	return nil, fmt.Errorf("%w: no such list", core.ErrInvalid)
}

// soon is the span of expiry times that is near (core.ExpiringSoon).
func (t *tx) soon() (from, to string) {
	return core.FormatInstant(t.now), core.FormatInstant(t.now.Add(core.ExpiringSoon))
}

// Counts returns how many contracts each list holds, from the head's
// counters and the short list of what expires soon.
func (s *Store) Counts(ctx context.Context) (core.Counts, error) {
	var c core.Counts
	err := s.read(ctx, func(t *tx) error {
		h, err := t.storeHead()
		if err != nil {
			return err
		}
		for state, n := range h.states {
			if !state.Terminal() {
				c.Active += int(n)
			}
			if state.NeedsPerson() {
				c.NeedsYou += int(n)
			}
		}
		c.History, c.Quarantined = int(h.contracts), len(s.flaws.all())
		if !s.own {
			return nil
		}
		from, to := t.soon()
		expiring, err := t.count("SELECT count(*) FROM cs_members WHERE state IN ("+expiringStates+
			") AND expires_at > ? AND expires_at <= ?", from, to)
		c.NeedsYou += expiring
		return err
	})
	return c, err
}
