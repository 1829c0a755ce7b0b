package store

import (
	"errors"
	"fmt"
	"time"

	"countersign/core"
)

// member is a contract's row in cs_members: its place in the authenticated
// set of contracts, and what the lists sort and filter by. Its position is
// the sequence number of the contract's creation event.
type member struct {
	position    int64
	version     int64
	recordMAC   string
	updatedAt   time.Time
	ambiguousAt *time.Time // when the newest send that may still be writing ended at the latest
	mac         string
}

func memberState(r ownRow) core.State { return core.State(r.text(5)) }

func memberOf(r ownRow) member {
	m := member{position: r.number(0), version: r.number(6), recordMAC: r.text(7), mac: r.mac}
	m.updatedAt, _ = core.ParseInstant(r.text(9))
	if at, err := core.ParseInstant(r.text(10)); err == nil {
		m.ambiguousAt = &at
	}
	return m
}

func (m member) values(c core.Contract) []any {
	var ambiguous any
	if m.ambiguousAt != nil {
		ambiguous = core.FormatInstant(*m.ambiguousAt)
	}
	return []any{m.position, c.ID, c.OperationID, c.IdempotencyKey.String(), c.TargetIdentityDigest.String(),
		string(c.State), c.StateVersion, m.recordMAC, core.FormatInstant(c.ExpiresAt),
		core.FormatInstant(m.updatedAt), ambiguous}
}

// errStale: another program changed this store while it was open here. Its
// rows are authentic; they are taken over at the next opening.
var errStale = fmt.Errorf("%w: another program changed this store; open it again", core.ErrConflict)

// checkMember compares an authentic record with its row in the set: an older
// authentic copy that was put back differs.
func (t *tx) checkMember(c core.Contract, recordMAC string) (member, Reason, error) {
	if !t.s.own {
		return member{}, "", nil
	}
	rows, err := t.rows(tableMembers, "WHERE contract_id = ?", c.ID)
	if errors.Is(err, ErrRefused) {
		return member{}, ReasonOwnRow, nil
	}
	if err != nil {
		return member{}, "", err
	}
	if len(rows) == 0 {
		return member{}, "", errStale
	}
	m := memberOf(rows[0])
	switch {
	case m.version < c.StateVersion:
		return m, "", errStale
	case m.version > c.StateVersion || m.recordMAC != recordMAC:
		return m, ReasonReplayed, nil
	}
	return m, "", nil
}

// insertMember adds a contract to the set and returns its row's MAC.
func (t *tx) insertMember(c core.Contract, m member) (mac string, err error) {
	values := m.values(c)
	mac = string(t.macs.row(tableMembers.label(), values).finish())
	if _, err := t.exec(tableMembers.insertSQL(), append(values, mac)...); err != nil {
		return "", err
	}
	t.touched = true
	t.head.contracts++
	t.head.members.toggle(mac)
	t.head.states[c.State]++
	return mac, nil
}

// updateMember replaces a contract's row; before is the state of the row it
// replaces.
func (t *tx) updateMember(c core.Contract, before core.State, old, new member) (mac string, err error) {
	mac, err = t.updateRow(tableMembers, new.values(c))
	if err != nil {
		return "", err
	}
	t.touched = true
	t.head.members.toggle(old.mac)
	t.head.members.toggle(mac)
	t.head.states[before]--
	t.head.states[c.State]++
	return mac, nil
}

// goodPlaces reads rows of the set. A row that is not authentic is left out
// if its contract is quarantined, and an error otherwise.
func (t *tx) goodPlaces(where string, args ...any) ([]ownRow, error) {
	rows, err := t.QueryContext(t.ctx, tableMembers.selectSQL(where), args...)
	if err != nil {
		return nil, err
	}
	var good []ownRow
	err = tableMembers.each(rows, func(r scannedOwn) error {
		switch {
		case r.typed && tableMembers.verified(t.macs, r.ownRow):
			good = append(good, r.ownRow)
		case t.s.flaws.of(r.text(1)) == nil:
			return tableMembers.errOwnRow()
		}
		return nil
	})
	return good, err
}
