package store

import (
	"context"
	"fmt"

	"countersign/canon"
	"countersign/core"
)

// FindReceipt looks a claim's key up in a fresh snapshot: the outcome to
// replay, nil where the key is unused, or a refusal of core.JudgeRetry (seed
// 001, Practical steps 3 and 4).
func (s *Store) FindReceipt(ctx context.Context, claim core.ReceiptClaim) (*core.ReceiptOutcome, error) {
	var found *core.ReceiptOutcome
	err := s.read(ctx, func(t *tx) error {
		receipt, err := t.receipt(claim)
		if err != nil || receipt == nil {
			return err
		}
		outcome, err := s.judgeRetry(*receipt, claim)
		found = &outcome
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// replay answers a creation whose key already has a receipt: the contract
// that it made, as it is now. The committed receipt defines the comparison.
func (t *tx) replay(claim core.ReceiptClaim) (_ loaded, found bool, err error) {
	receipt, err := t.receipt(claim)
	if err != nil || receipt == nil {
		return loaded{}, false, err
	}
	outcome, err := t.s.judgeRetry(*receipt, claim)
	if err != nil {
		return loaded{}, true, err
	}
	l, err := t.load(outcome.ContractID)
	return l, true, err
}

// receipt reads the committed receipt of a claim's key, or nil.
func (t *tx) receipt(claim core.ReceiptClaim) (*core.Receipt, error) {
	if claim.Caller == "" || claim.Family == "" || claim.RequestKey == "" {
		return nil, fmt.Errorf("%w: the request names no caller, family or key", core.ErrInvalid)
	}
	rows, err := t.rows(tableReceipts, "WHERE caller = ? AND family = ? AND request_key = ?",
		claim.Caller, claim.Family, claim.RequestKey)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := rows[0]
	digest, err := canon.ParseDigest(r.text(5))
	if err != nil {
		return nil, tableReceipts.errOwnRow()
	}
	key, err := canon.ParseDigest(r.text(9))
	if err != nil {
		return nil, tableReceipts.errOwnRow()
	}
	return &core.Receipt{Caller: r.text(0), Family: r.text(1), RequestKey: r.text(2),
		Version: core.RequestVersion(r.number(3)), Scheme: core.SchemeVersion(r.number(4)), Digest: digest,
		Lossless:        r.number(6) == 1,
		Outcome:         core.ReceiptOutcome{ContractID: r.text(7), OperationID: r.text(8), IdempotencyKey: key},
		ResponseVersion: int(r.number(10))}, nil
}

// insertReceipt writes the receipt of a claim that was just carried out, in
// the transaction that carried it out.
func (t *tx) insertReceipt(claim core.ReceiptClaim, made core.Contract) error {
	scheme := t.s.scheme
	if scheme == 0 {
		scheme = core.CurrentScheme
	}
	receipt, err := core.NewReceiptUnder(claim, core.ReceiptOutcome{ContractID: made.ID,
		OperationID: made.OperationID, IdempotencyKey: made.IdempotencyKey}, scheme)
	if err != nil {
		return err
	}
	return t.writeReceipt(receipt)
}

func (t *tx) writeReceipt(r core.Receipt) error {
	lossless := int64(0)
	if r.Lossless {
		lossless = 1
	}
	return t.insertRow(tableReceipts, []any{r.Caller, r.Family, r.RequestKey, int64(r.Version), int64(r.Scheme),
		r.Digest.String(), lossless, r.Outcome.ContractID, r.Outcome.OperationID,
		r.Outcome.IdempotencyKey.String(), int64(r.ResponseVersion), core.FormatInstant(t.now)})
}
