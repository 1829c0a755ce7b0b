package store

import (
	"context"
	"fmt"
	"time"

	"countersign/core"
)

// passphraseOpened is the result that ends a count of failures.
const passphraseOpened = "opened"

// RecordPassphrase adds what a passphrase of an operator led to, durably
// (design section 7: failed ones are counted, delayed and audited). There is
// nothing of the passphrase in it; result is a word of the keyring's.
func (s *Store) RecordPassphrase(ctx context.Context, operator, result string, at time.Time) error {
	if !core.ValidIdentifier(operator) || !core.ValidIdentifier(result) {
		return fmt.Errorf("%w: operator or result", core.ErrInvalid)
	}
	return s.write(ctx, "passphrase", func(t *tx) error {
		return t.appendRow(tablePassphrases, []any{operator, result, core.FormatInstant(core.Instant(at))})
	})
}

// failuresCounted is how far back failures are counted: after as many the
// delay has long been at its longest.
const failuresCounted = 64

// PassphraseFailures counts an operator's failures since the last passphrase
// that opened, and says when the newest was; zero time for none.
func (s *Store) PassphraseFailures(ctx context.Context, operator string) (count int, last time.Time, err error) {
	err = s.read(ctx, func(t *tx) error {
		rows, err := t.rows(tablePassphrases, "WHERE operator = ? ORDER BY sequence DESC LIMIT ?", operator, failuresCounted)
		if err != nil {
			return err
		}
		for i, r := range rows {
			if r.text(2) == passphraseOpened {
				break
			}
			if i == 0 {
				if last, err = core.ParseInstant(r.text(3)); err != nil {
					return tablePassphrases.errOwnRow()
				}
			}
			count++
		}
		return nil
	})
	return count, last, err
}
