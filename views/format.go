package views

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// countdown shows what is left, rounded up, so that 0:00 means over: 2:41,
// 1:02:03.
func countdown(d time.Duration) string {
	if d <= 0 {
		return "0:00"
	}
	s := int64((d + time.Second - 1) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// age shows how long ago something was, in its largest unit: 4s, 3m, 2h, 1d.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// took shows how long a step lasted: 0.4 ms, 41 ms, 3.3 s.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return countdown(d)
}

// stopwatch shows running time with tenths: 00:03.4.
func stopwatch(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	tenths := int64(d / (100 * time.Millisecond))
	return fmt.Sprintf("%02d:%02d.%d", tenths/600, tenths/10%60, tenths%10)
}

// gap shows the time between two events: +14 ms, +0.1 s, +2m27s.
func gap(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("+%d ms", max(0, d/time.Millisecond))
	}
	if d < time.Minute {
		return fmt.Sprintf("+%.1f s", d.Seconds())
	}
	if d < 48*time.Hour {
		return "+" + strings.TrimSuffix(d.Truncate(time.Second).String(), "0s")
	}
	return fmt.Sprintf("+%dd", d/(24*time.Hour))
}

// count shows a number with thousands set apart: 1,284.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted is a number with its noun: 1 contract, 3 contracts.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// shortID abbreviates an identifier: its prefix and four digits.
func (t *Theme) shortID(id string) string {
	prefix, rest, ok := strings.Cut(id, "-")
	if !ok || len(rest) <= 5 {
		return id
	}
	return prefix + "-" + rest[:4] + t.Marks.Ellipsis
}

// shortHex abbreviates a digest: four digits, and the last two.
func (t *Theme) shortHex(digits string) string {
	if len(digits) <= 8 {
		return digits
	}
	return digits[:4] + t.Marks.Ellipsis + digits[len(digits)-2:]
}

// grouped sets a long digest in groups of eight, so that it can be compared
// and wraps between groups.
func grouped(digits string) string {
	var groups []string
	for len(digits) > 8 {
		groups = append(groups, digits[:8])
		digits = digits[8:]
	}
	return strings.Join(append(groups, digits), " ")
}
