package store

import (
	"time"

	"countersign/core"
)

// ErrAttributed: the anchor had moved for this contract and nothing is known
// of an acquisition, so a request may have left: from a newer copy of this
// database, of which this one is an older state. It is never sent from here
// (docs/decisions/0013-what-an-attribution-means.md). It wraps
// core.ErrConflict and says what to do.
var ErrAttributed error = attributedError{}

type attributedError struct{}

func (attributedError) Error() string {
	return "the anchor moved for this contract and its console ended there, so that a request may have left; " +
		"nothing is sent for it any more: decline it and prepare the change afresh"
}

func (attributedError) Unwrap() error { return core.ErrConflict }

const attributedAdvances = "WHERE step = '" + stepAttributed + "' "

// checkUnattributed refuses a contract to which a start has attributed an
// advance of the anchor.
func (t *tx) checkUnattributed(contractID string) error {
	found, err := t.rows(tableAdvances, attributedAdvances+"AND contract_id = ?", contractID)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return ErrAttributed
	}
	return nil
}

// lastAttribution returns when the newest attribution was made, and to which
// contract; a zero time without one.
func (t *tx) lastAttribution() (time.Time, string, error) {
	found, err := t.rows(tableAdvances, attributedAdvances+"ORDER BY recorded_at DESC, sequence DESC LIMIT 1")
	if err != nil || len(found) == 0 {
		return time.Time{}, "", err
	}
	at, err := core.ParseInstant(found[0].text(5))
	if err != nil {
		return time.Time{}, "", tableAdvances.errOwnRow()
	}
	return at, found[0].text(2), nil
}
