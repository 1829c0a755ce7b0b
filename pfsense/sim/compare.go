package sim

import (
	"math"
	"strconv"
	"strings"
)

// looseCompare orders two values as PHP 8 does with <=>.
func looseCompare(a, b any) int {
	as, aText := a.(string)
	bs, bText := b.(string)
	if aText && bText {
		af, aNum := numeric(as)
		bf, bNum := numeric(bs)
		if aNum && bNum {
			return compareFloat(af, bf)
		}
		return strings.Compare(as, bs)
	}
	if _, ok := a.(bool); ok || a == nil && !bText {
		return compareBool(truthy(a), truthy(b))
	}
	if _, ok := b.(bool); ok || b == nil && !aText {
		return compareBool(truthy(a), truthy(b))
	}
	if aText != bText {
		return compareMixed(a, b)
	}
	al, aList := a.([]any)
	bl, bList := b.([]any)
	switch {
	case aList && bList:
		return compareLists(al, bl)
	case aList:
		return 1
	case bList:
		return -1
	}
	return compareFloat(number(a), number(b))
}

// compareMixed compares a text with a number (or null): by number if the text is one, else as texts.
func compareMixed(a, b any) int {
	for _, v := range []any{a, b} {
		if s, ok := v.(string); ok {
			if _, isNum := numeric(s); !isNum {
				return strings.Compare(phpString(a), phpString(b))
			}
		}
	}
	if a == nil || b == nil {
		return strings.Compare(phpString(a), phpString(b))
	}
	return compareFloat(number(a), number(b))
}

func compareLists(a, b []any) int {
	if len(a) != len(b) {
		return compareFloat(float64(len(a)), float64(len(b)))
	}
	for i := range a {
		if c := looseCompare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// numeric is PHP's is_numeric for texts.
func numeric(s string) (float64, bool) {
	t := strings.TrimSpace(s)
	if t == "" || strings.ContainsAny(t, "xXpP_iInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(t, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

func isNumeric(s string) bool {
	_, ok := numeric(s)
	return ok
}

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	case string:
		f, _ := numeric(v)
		return f
	}
	return 0
}

// naturalCompare orders texts with numbers in them as people do: 198.51.100.9 before 198.51.100.10.
func naturalCompare(a, b string) int {
	for a != "" && b != "" {
		an, arest := leadingDigits(a)
		bn, brest := leadingDigits(b)
		if an != "" && bn != "" {
			x, _ := strconv.Atoi(an)
			y, _ := strconv.Atoi(bn)
			if x != y {
				return compareFloat(float64(x), float64(y))
			}
			a, b = arest, brest
			continue
		}
		if a[0] != b[0] {
			return compareFloat(float64(a[0]), float64(b[0]))
		}
		a, b = a[1:], b[1:]
	}
	return compareFloat(float64(len(a)), float64(len(b)))
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// looselyContains is PHP's in_array without its strict flag.
func looselyContains(options []any, v any) bool {
	for _, o := range options {
		if looseCompare(o, v) == 0 {
			return true
		}
	}
	return false
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func joinTexts(ss []string) string { return strings.Join(ss, ", ") }
