package store

import (
	"testing"
	"time"
)

// A restart forgives no failed passphrase; one that opens ends the count.
func TestPassphraseFailuresAreDurable(t *testing.T) {
	r := newRig(t, nil)
	at := func(s int) time.Time { return testStart.Add(time.Duration(s) * time.Second) }
	record := func(operator, result string, s int) {
		t.Helper()
		r.must(r.RecordPassphrase(r.ctx, operator, result, at(s)))
	}
	want := func(operator string, count int, last time.Time) {
		t.Helper()
		n, when, err := r.PassphraseFailures(r.ctx, operator)
		if err != nil || n != count || !when.Equal(last) {
			t.Fatalf("%s: %d failures, last %v, %v; want %d, %v", operator, n, when, err, count, last)
		}
	}
	want("jo", 0, time.Time{})
	record("jo", "wrong_passphrase", 1)
	record("mika", "wrong_passphrase", 2)
	record("jo", "wrong_key", 3)
	r.reopen()
	want("jo", 2, at(3))
	record("jo", passphraseOpened, 4)
	want("jo", 0, time.Time{})
	record("jo", "wrong_passphrase", 5)
	want("jo", 1, at(5))
	want("mika", 1, at(2))
	r.check()
	if _, err := r.writer.Exec("UPDATE cs_passphrases SET result = ? WHERE sequence = 5", passphraseOpened); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.PassphraseFailures(r.ctx, "jo"); err == nil {
		t.Fatal("a changed row was believed")
	}
}
