package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"countersign/canon"
	"countersign/core"
)

// checkAnchorRows verifies both rows of anchor_state, if they are there. A
// store without them looks like one that was never provisioned; only the
// anchor itself can tell.
func checkAnchorRows(ctx context.Context, q querier, m *macs) error {
	rows, err := q.QueryContext(ctx, "SELECT key, value, mac FROM anchor_state")
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, value, mac text
		if err := rows.Scan(&key, &value, &mac); err != nil {
			return classify(err)
		}
		if err := checkAnchorRow(m, key.s, value, mac); err != nil {
			return err
		}
	}
	return classify(rows.Err())
}

func checkAnchorRow(m *macs, key string, value, mac text) error {
	label, valid := "", false
	switch key {
	case keyMark:
		label, valid = labelMark, validMark(value.s)
	case keyProvisioning:
		label, valid = labelProvisioning, validProvisioning(value.s)
	default:
		return refuse(ReasonAnchorValue)
	}
	if !value.ok || !mac.ok || !m.labelled(label, value.s).equal(mac.s) {
		return refuse(ReasonAnchorMAC)
	}
	if !valid {
		return refuse(ReasonAnchorValue)
	}
	return nil
}

// validProvisioning accepts exactly the canonical text of the baseline.
func validProvisioning(s string) bool {
	o, err := canon.ParseObject([]byte(s))
	if err != nil || len(o) != 3 {
		return false
	}
	again, err := canon.Encode(o)
	_, isHandle := o["handle"].(string)
	at, _ := o["provisioned_at"].(string)
	_, isValue := o["verified_value"].(int64)
	_, timeErr := core.ParseInstant(at)
	return err == nil && string(again) == s && isHandle && isValue && timeErr == nil
}

// checkOwnRows verifies the head against what was counted, and the tables
// that only grow. A bad row about one contract quarantines that contract; a
// bad row that decides about new ones refuses the store.
func (f *findings) checkOwnRows(ctx context.Context, q querier, m *macs) error {
	h, err := readHead(ctx, q, m)
	if err != nil {
		if errors.Is(err, ErrRefused) {
			return refuse(ReasonHead)
		}
		return err
	}
	f.head = h
	if f.memberUnknown || h.contracts != f.members || h.events != f.memberEvents || h.members != f.memberSet {
		return refuse(ReasonHead)
	}
	for _, s := range core.States() {
		if h.states[s] != f.states[s] {
			return refuse(ReasonHead)
		}
	}
	for _, t := range logTables() {
		if t.name == tableNotes.name {
			continue // counted with the contracts
		}
		if err := f.checkLog(ctx, q, m, t); err != nil {
			return err
		}
	}
	if f.logs.differs(h.logs) || f.records.differs(h.records) {
		return refuse(ReasonHead)
	}
	return nil
}

func (f *findings) checkLog(ctx context.Context, q querier, m *macs, t ownTable) error {
	rows, err := q.QueryContext(ctx, t.selectSQL(""))
	if err != nil {
		return classify(err)
	}
	return f.checkRows(ctx, q, m, t, rows, ReasonOwnRow)
}

// checkRows verifies rows of a log table and closes them. A bad one is a flaw
// of the contract that it names, or refuses the store.
func (f *findings) checkRows(ctx context.Context, q querier, m *macs, t ownTable, rows *sql.Rows, reason Reason) error {
	set := &f.logs
	if t.ofContract {
		set = &f.records
	}
	var bad []string
	err := t.each(rows, func(r scannedOwn) error {
		if set.add(m, t, r.ownRow, r.typed && r.exists()) {
			return nil
		}
		if !t.ofContract {
			return refuse(ReasonOwnRow)
		}
		bad = append(bad, r.text(slices.Index(t.columns, "contract_id")))
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range bad {
		if slices.ContainsFunc(f.flaws, func(known foundFlaw) bool { return known.ContractID == id }) {
			continue
		}
		flaw := foundFlaw{Flaw: Flaw{ContractID: id, Reason: reason}}
		found, err := contractRows(ctx, q, "WHERE contract_id = ?", id)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			flaw.claims = found[0].claims()
		}
		f.flaws = append(f.flaws, flaw)
	}
	return nil
}
