package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"countersign/core"
)

// contractColumns are the columns of a contract in the order of contractRow.
const contractColumns = "contracts.contract_id, contracts.operation_id, contracts.idempotency_key, " +
	"contracts.target_identity_digest, contracts.state, contracts.state_version, contracts.payload, contracts.mac"

// contractRow is one row of contracts as it is in the file.
type contractRow struct {
	id, operation, key, target, state text
	version                           integer
	payload                           any
	mac                               text
}

func (r *contractRow) into() []any {
	return []any{&r.id, &r.operation, &r.key, &r.target, &r.state, &r.version, &r.payload, &r.mac}
}

// text and integer accept their own SQLite type only: a column of another
// type is a changed column, even where it would convert.
type text struct {
	s  string
	ok bool
}

// Scan implements sql.Scanner.
func (t *text) Scan(v any) error { t.s, t.ok = v.(string); return nil }

type integer struct {
	n  int64
	ok bool
}

// Scan implements sql.Scanner.
func (i *integer) Scan(v any) error { i.n, i.ok = v.(int64); return nil }

// open authenticates and decodes a record and compares it with its index
// columns; reason is "" when all is well. The order of the checks is that of
// the conformance manifest's classes.
func (r *contractRow) open(m *macs) (c core.Contract, reason Reason) {
	payload, ok := r.payload.([]byte)
	if !ok {
		return c, ReasonPayloadType
	}
	if !r.mac.ok || !m.record(payload).equal(r.mac.s) {
		return c, ReasonRecordMAC
	}
	c, err := core.DecodeContract(payload)
	if core.ReasonOf(err) == core.ReasonFields {
		return c, ReasonRecordFields
	}
	if err != nil {
		return c, ReasonRecordInvalid
	}
	if !r.matches(c) {
		return c, ReasonIndexMismatch
	}
	return c, ""
}

// matches compares the denormalised columns with the record (seed 003,
// Persistence and integrity).
func (r *contractRow) matches(c core.Contract) bool {
	return r.id.ok && r.operation.ok && r.key.ok && r.target.ok && r.state.ok && r.version.ok &&
		r.id.s == c.ID && r.operation.s == c.OperationID && r.key.s == c.IdempotencyKey.String() &&
		r.target.s == c.TargetIdentityDigest.String() && r.state.s == string(c.State) && r.version.n == c.StateVersion
}

// seal encodes a record and authenticates it.
func (t *tx) seal(c core.Contract) (payload []byte, mac string, err error) {
	payload, err = core.EncodeContract(c)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", core.ErrInvalid, err)
	}
	return payload, string(t.macs.record(payload).finish()), nil
}

// insertContract writes a new record and returns its MAC. A violated
// uniqueness is told apart: ErrBlocked for the idempotency key, ErrConflict
// for the identifiers.
func (t *tx) insertContract(c core.Contract) (mac string, err error) {
	payload, mac, err := t.seal(c)
	if err != nil {
		return "", err
	}
	_, err = t.exec(`INSERT INTO contracts (contract_id, operation_id, idempotency_key, target_identity_digest,
		state, state_version, payload, mac) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.OperationID, c.IdempotencyKey.String(), c.TargetIdentityDigest.String(),
		string(c.State), c.StateVersion, payload, mac)
	if isUnique(err) {
		err = t.duplicateClass(c)
	}
	return mac, err
}

// duplicateClass says which uniqueness an insert violated.
func (t *tx) duplicateClass(c core.Contract) error {
	var taken bool
	err := t.QueryRowContext(t.ctx, "SELECT EXISTS (SELECT 1 FROM contracts WHERE contract_id = ? OR operation_id = ?)",
		c.ID, c.OperationID).Scan(&taken)
	if err != nil {
		return err
	}
	if taken {
		return fmt.Errorf("%w: the contract or operation id is already used", core.ErrConflict)
	}
	return core.ErrBlocked
}

// updateContract writes a record's next version and returns its MAC: compare
// and set on the version read in this transaction.
func (t *tx) updateContract(c core.Contract) (mac string, err error) {
	payload, mac, err := t.seal(c)
	if err != nil {
		return "", err
	}
	result, err := t.exec(`UPDATE contracts SET state = ?, state_version = ?, payload = ?, mac = ?
		WHERE contract_id = ? AND state_version = ?`,
		string(c.State), c.StateVersion, payload, mac, c.ID, c.StateVersion-1)
	if isUnique(err) {
		return "", core.ErrBlocked
	}
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return "", fmt.Errorf("%w: the contract changed meanwhile", core.ErrConflict)
	}
	return mac, nil
}

// contractRows returns the raw rows that a condition selects.
func contractRows(ctx context.Context, q querier, where string, args ...any) ([]contractRow, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+contractColumns+" FROM contracts "+where, args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var found []contractRow
	for rows.Next() {
		var r contractRow
		if err := rows.Scan(r.into()...); err != nil {
			return nil, classify(err)
		}
		found = append(found, r)
	}
	return found, classify(rows.Err())
}

// loaded is a contract with everything that was verified with it.
type loaded struct {
	core.Contract
	events []core.AuditEvent
	member member
}

// last is the newest event.
func (l loaded) last() core.AuditEvent { return l.events[len(l.events)-1] }

// load reads one contract and verifies all of it: record, index columns,
// chain, reservation, and its place in the authenticated set. A flaw is
// remembered, and nothing acts on the contract any more.
func (t *tx) load(contractID string) (loaded, error) {
	if f := t.s.flaws.of(contractID); f != nil {
		return loaded{}, f
	}
	found, err := contractRows(t.ctx, t, "WHERE contract_id = ?", contractID)
	if err != nil {
		return loaded{}, err
	}
	if len(found) == 0 {
		return loaded{}, core.ErrNotFound
	}
	return t.verify(found[0])
}

// verify checks everything about a contract whose row was read in this
// transaction.
func (t *tx) verify(r contractRow) (loaded, error) {
	if f := t.s.flaws.of(r.id.s); f != nil {
		return loaded{}, f
	}
	l, err := t.examine(r)
	var flaw *Flaw
	if errors.As(err, &flaw) {
		t.s.flaws.add(*flaw, r.claims(), t.now)
	}
	return l, err
}

// examineRecord verifies record, index columns, chain and reservation.
func (t *tx) examineRecord(r contractRow) (core.Contract, []core.AuditEvent, error) {
	c, reason := r.open(t.macs)
	if reason != "" {
		return c, nil, &Flaw{ContractID: r.id.s, Reason: reason}
	}
	events, err := t.events("WHERE contract_id = ? ORDER BY state_version", c.ID)
	if err != nil {
		return c, nil, err
	}
	chain, reason := checkChain(t.macs, c, events)
	if reason != "" {
		return c, nil, &Flaw{ContractID: c.ID, Reason: reason}
	}
	reserved, err := t.reservationOf(c.ID)
	if err != nil {
		return c, nil, err
	}
	if !reservationFits(c, reserved) {
		return c, nil, &Flaw{ContractID: c.ID, Reason: ReasonReservation}
	}
	return c, chain, nil
}

// examine is examineRecord and the contract's place in the set.
func (t *tx) examine(r contractRow) (loaded, error) {
	c, chain, err := t.examineRecord(r)
	if err != nil {
		return loaded{}, err
	}
	place, reason, err := t.checkMember(c, r.mac.s)
	if err != nil {
		return loaded{}, err
	}
	if reason != "" {
		return loaded{}, &Flaw{ContractID: c.ID, Reason: reason}
	}
	return loaded{Contract: c, events: chain, member: place}, nil
}

// reservationOf returns the target that a contract has reserved, or "".
func (t *tx) reservationOf(contractID string) (string, error) {
	var target text
	err := t.QueryRowContext(t.ctx, "SELECT target_identity_digest FROM target_reservations WHERE contract_id = ?",
		contractID).Scan(&target)
	if err == sql.ErrNoRows {
		return "", nil
	}
	return target.s, classify(err)
}

// reservationFits: exactly the states that hold a reservation have one, and
// for their own target.
func reservationFits(c core.Contract, reserved string) bool {
	if !c.State.HoldsReservation() {
		return reserved == ""
	}
	return reserved == c.TargetIdentityDigest.String()
}
