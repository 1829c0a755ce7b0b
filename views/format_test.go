package views

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{countdown(161 * time.Second), "2:41"},
		{countdown(160*time.Second + time.Millisecond), "2:41"},
		{countdown(time.Millisecond), "0:01"},
		{countdown(0), "0:00"},
		{countdown(-time.Hour), "0:00"},
		{countdown(3723 * time.Second), "1:02:03"},
		{age(-time.Second), "0s"},
		{age(59 * time.Second), "59s"},
		{age(3*time.Minute + 59*time.Second), "3m"},
		{age(47 * time.Hour), "47h"},
		{age(49 * time.Hour), "2d"},
		{took(400 * time.Microsecond), "0.4 ms"},
		{took(41 * time.Millisecond), "41 ms"},
		{took(3300 * time.Millisecond), "3.3 s"},
		{took(200 * time.Second), "3:20"},
		{stopwatch(3400 * time.Millisecond), "00:03.4"},
		{stopwatch(-time.Second), "00:00.0"},
		{gap(14 * time.Millisecond), "+14 ms"},
		{gap(-time.Second), "+0 ms"},
		{gap(100 * time.Millisecond), "+0.1 s"},
		{gap(147 * time.Second), "+2m27s"},
		{gap(120 * time.Second), "+2m"},
		{gap(72 * time.Hour), "+3d"},
		{count(0), "0"},
		{count(999), "999"},
		{count(1284), "1,284"},
		{count(1234567), "1,234,567"},
		{count(-1000), "-1,000"},
		{counted(1, "line"), "1 line"},
		{counted(1284, "line"), "1,284 lines"},
		{grouped("0123456789abcdef01"), "01234567 89abcdef 01"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
