package store

import (
	"context"
	"errors"
	"slices"
)

// The scan goes from contract to contract, so rows that belong to none are
// not met; they show in the numbers of rows.

// checkStrays finds events, reservations, notes and places in the set whose
// contract does not exist. Those of a record whose id column was changed are
// that record's. A place without a contract says that the contract was
// removed: it is quarantined under its id. Anything else refuses the store.
func (f *findings) checkStrays(ctx context.Context, q querier, m *macs) error {
	var events, reservations int64
	err := q.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM audit_events NOT INDEXED), "+
		"(SELECT count(*) FROM target_reservations NOT INDEXED)").Scan(&events, &reservations)
	if err != nil {
		return classify(err)
	}
	if f.own {
		if err := errors.Join(f.checkPlaces(ctx, q, m), f.countNotes(ctx, q, m)); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		table       string
		read, found int64
	}{{"audit_events", f.events, events}, {"target_reservations", f.reservations, reservations}} {
		if c.read == c.found {
			continue
		}
		strays, err := f.explained(ctx, q, c.table)
		if err != nil {
			return err
		}
		if c.read+strays != c.found {
			return f.orphaned()
		}
		if c.table == "audit_events" {
			f.events += strays
		}
	}
	return nil
}

func (f *findings) orphaned() error {
	if f.schema < SchemaVersion {
		return refuse(ReasonMigrationFK)
	}
	return refuse(ReasonOrphan)
}

// explained counts the rows of a table that a flawed record claims under
// another id.
func (f *findings) explained(ctx context.Context, q querier, table string) (n int64, err error) {
	for _, flaw := range f.flaws {
		if flaw.claimedID == "" || flaw.claimedID == flaw.ContractID {
			continue
		}
		var rows int64
		err := q.QueryRowContext(ctx, "SELECT count(*) FROM "+table+" WHERE contract_id = ? AND contract_id NOT IN "+
			"(SELECT contract_id FROM contracts)", flaw.claimedID).Scan(&rows)
		if err != nil {
			return 0, classify(err)
		}
		n += rows
	}
	return n, nil
}

// countNotes counts the notes that stand beside no event. Where the event is
// missing, its contract is flawed already; a note that is not authentic is the
// flaw of the contract it names.
func (f *findings) countNotes(ctx context.Context, q querier, m *macs) error {
	var count int64
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM cs_notes").Scan(&count); err != nil {
		return classify(err)
	}
	if count == f.records.rows { // nothing but notes was counted so far
		return nil
	}
	rows, err := q.QueryContext(ctx, tableNotes.selectSQL("WHERE NOT EXISTS (SELECT 1 FROM audit_events "+
		"JOIN contracts USING (contract_id) WHERE audit_events.sequence = cs_notes.sequence)"))
	if err != nil {
		return classify(err)
	}
	return f.checkRows(ctx, q, m, tableNotes, rows, ReasonNote)
}

// checkPlaces finds the rows of cs_members that no contract has.
func (f *findings) checkPlaces(ctx context.Context, q querier, m *macs) error {
	var count int64
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM cs_members NOT INDEXED").Scan(&count); err != nil {
		return classify(err)
	}
	if count == f.members {
		return nil
	}
	rows, err := tableMembers.query(ctx, q, m, "WHERE NOT EXISTS "+
		"(SELECT 1 FROM contracts WHERE contracts.contract_id = cs_members.contract_id)")
	if err != nil {
		return err
	}
	w := worker{tally: tally{states: f.states}}
	for _, r := range rows {
		w.addMember(memberState(r), r.number(6), r.mac)
		reason := ReasonMissing
		if slices.ContainsFunc(f.flaws, func(flaw foundFlaw) bool { return flaw.claimedID == r.text(1) }) {
			reason = ReasonIndexMismatch
		}
		f.flaws = append(f.flaws, foundFlaw{Flaw: Flaw{ContractID: r.text(1), Reason: reason}, claims: placeClaims(r)})
	}
	f.members += int64(len(rows))
	f.memberEvents += w.memberEvents
	f.memberSet.merge(w.memberSet)
	return nil
}
