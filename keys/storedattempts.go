package keys

import (
	"context"
	"time"
)

// AttemptLog is what a store keeps of passphrases (design section 7: failed
// ones are counted, delayed and audited, value-free). Rows are authenticated
// and only ever added; a row that does not verify is an error of both calls,
// which closes the way in.
type AttemptLog interface {
	// PassphraseFailures counts an operator's rows after the last "opened",
	// and gives the time of the newest of them; zero time for none.
	PassphraseFailures(ctx context.Context, operator string) (count int, last time.Time, err error)
	// RecordPassphrase adds a row durably. result is the text of an AttemptResult.
	RecordPassphrase(ctx context.Context, operator, result string, at time.Time) error
}

// StoredAttempts counts in a store, so that a restart forgives nothing.
func StoredAttempts(log AttemptLog) Attempts { return storedAttempts{log} }

type storedAttempts struct{ log AttemptLog }

func (s storedAttempts) Failures(ctx context.Context, operator string) (Failures, error) {
	count, last, err := s.log.PassphraseFailures(ctx, operator)
	return Failures{Count: count, Last: last}, err
}

func (s storedAttempts) Record(ctx context.Context, operator string, result AttemptResult, at time.Time) error {
	return s.log.RecordPassphrase(ctx, operator, string(result), at)
}
