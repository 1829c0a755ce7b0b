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
	if t, ok := exactInstant(s); ok {
		return t, nil
	}
	if anyOffset.MatchString(s) {
		return time.Time{}, recordError(ReasonTimestampNotUTC, "instant")
	}
	return time.Time{}, recordError(ReasonTimestamp, "instant")
}

// exactInstant reads "2006-01-02T15:04:05+00:00", with six digits of a
// second's fraction where they are not all zero. A verified scan reads
// several per row, so it looks at the digits itself.
func exactInstant(s string) (time.Time, bool) {
	const whole, offset = len("2006-01-02T15:04:05"), "+00:00"
	if len(s) < whole+len(offset) || s[len(s)-len(offset):] != offset {
		return time.Time{}, false
	}
	number := func(from, to int) (n int) {
		for _, c := range []byte(s[from:to]) {
			if c < '0' || c > '9' {
				return -1 << 40
			}
			n = 10*n + int(c-'0')
		}
		return n
	}
	micros := 0
	switch fraction := s[whole : len(s)-len(offset)]; {
	case len(fraction) == len(".000000") && fraction[0] == '.' && fraction != ".000000":
		micros = number(whole+1, whole+len(fraction))
	case fraction != "":
		return time.Time{}, false
	}
	punctuated := s[4] == '-' && s[7] == '-' && s[10] == 'T' && s[13] == ':' && s[16] == ':'
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if !punctuated || year < 1 || micros < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, micros*1000, time.UTC)
	// A day that the month does not have comes out as another one.
	return t, t.Year() == year && int(t.Month()) == month && t.Day() == day
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
