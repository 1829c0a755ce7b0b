package core

import (
	"fmt"
	"regexp"
	"time"
)

// Clock gives the present. Implementations return UTC at microsecond
// precision, the precision of every stored instant (design section 3).
type Clock interface{ Now() time.Time }

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the present in UTC, cut to microseconds.
func (SystemClock) Now() time.Time { return Instant(time.Now()) }

// Instant cuts t to what a record can hold: UTC, microseconds, no monotonic part.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// FormatInstant writes t as Python's isoformat() in UTC does: microseconds
// only when they are not zero (design section 3).
func FormatInstant(t time.Time) string {
	t = Instant(t)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05+00:00")
	}
	return t.Format("2006-01-02T15:04:05.000000+00:00")
}

var anyOffset = regexp.MustCompile(`\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?([+-]\d\d:\d\d)?\z`)

// ParseInstant accepts exactly what FormatInstant writes. A readable time
// with another or no offset gives a RecordError of reason timestamp_not_utc,
// anything else of reason timestamp.
func ParseInstant(s string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05+00:00", "2006-01-02T15:04:05.000000+00:00"} {
		t, err := time.Parse(layout, s)
		if err == nil && FormatInstant(t) == s {
			return t.UTC(), nil
		}
	}
	if anyOffset.MatchString(s) {
		return time.Time{}, recordError(ReasonTimestampNotUTC, "instant")
	}
	return time.Time{}, recordError(ReasonTimestamp, "instant")
}

func parseInstantField(v any, name string) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, recordError(ReasonTimestamp, name)
	}
	t, err := ParseInstant(s)
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}
