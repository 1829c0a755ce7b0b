package canon_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/canon"
)

func TestFrame(t *testing.T) {
	tests := []struct {
		parts []string
		want  string
	}{
		{nil, ""},
		{[]string{""}, "\x00\x00\x00\x00"},
		{[]string{"ab", "c"}, "\x00\x00\x00\x02ab\x00\x00\x00\x01c"},
		{[]string{"a", "bc"}, "\x00\x00\x00\x01a\x00\x00\x00\x02bc"},
		{[]string{strings.Repeat("x", 0x10203)}, "\x00\x01\x02\x03" + strings.Repeat("x", 0x10203)},
	}
	for _, test := range tests {
		var parts [][]byte
		for _, p := range test.parts {
			parts = append(parts, []byte(p))
		}
		if got := canon.Frame(parts...); string(got) != test.want {
			t.Errorf("Frame(%q) = %q", test.parts, got)
		}
		if got := canon.FrameStrings(test.parts...); string(got) != test.want {
			t.Errorf("FrameStrings(%q) = %q", test.parts, got)
		}
	}
}

func TestDigestText(t *testing.T) {
	want := canon.Digest{0: 0x01, 1: 0xef, 31: 0x9a}
	text := "01ef" + strings.Repeat("00", 29) + "9a"
	if got := want.String(); got != text {
		t.Errorf("String() = %s", got)
	}
	if got, err := canon.ParseDigest(text); err != nil || got != want {
		t.Errorf("ParseDigest = %s, %v", got, err)
	}
	data, err := json.Marshal(map[string]canon.Digest{"d": want})
	if err != nil || string(data) != `{"d":"`+text+`"}` {
		t.Errorf("marshalled %s, %v", data, err)
	}
	var back map[string]canon.Digest
	if err := json.Unmarshal(data, &back); err != nil || back["d"] != want {
		t.Errorf("unmarshalled %v, %v", back, err)
	}
	if want.IsZero() || !(canon.Digest{}).IsZero() {
		t.Error("IsZero")
	}
}

func TestDigestTextRefused(t *testing.T) {
	good := strings.Repeat("0a", 32)
	for name, text := range map[string]string{
		"empty":            "",
		"short":            good[1:],
		"long":             good + "0",
		"upper case":       strings.ToUpper(good),
		"newline":          good + "\n",
		"space":            " " + good[1:],
		"not a digit":      "g" + good[1:],
		"control":          "\x10" + good[1:],
		"prefix":           "0x" + good[2:],
		"full-width digit": "\uff10" + good[3:],
	} {
		d := canon.Digest{1}
		if got, err := canon.ParseDigest(text); !got.IsZero() || !errors.Is(err, canon.ErrDigest) {
			t.Errorf("%s: ParseDigest = %s, %v", name, got, err)
		}
		if err := d.UnmarshalText([]byte(text)); !errors.Is(err, canon.ErrDigest) || d != (canon.Digest{1}) {
			t.Errorf("%s: UnmarshalText = %v, digest %s", name, err, d)
		}
	}
}

func TestSumPurposes(t *testing.T) {
	for _, purpose := range []canon.Purpose{
		"", "Intent", "intent ", "in_tent", "intent\x00", "\u00e9", canon.Purpose(strings.Repeat("a", 65)),
	} {
		if _, err := canon.Sum(purpose, nil, nil); !errors.Is(err, canon.ErrPurpose) {
			t.Errorf("purpose %q: %v, want class purpose", purpose, err)
		}
	}
	if _, err := canon.Sum(canon.PlanAuthorizationV2, nil, nil); err != nil {
		t.Error(err)
	}
}

// A context component is hashed as given: NFC would merge these two.
func TestSumContextIsNotNormalised(t *testing.T) {
	a, errA := canon.Sum(canon.Intent, []string{"\u00e9"}, nil)
	b, errB := canon.Sum(canon.Intent, []string{"e\u0301"}, nil)
	if errA != nil || errB != nil || a == b {
		t.Errorf("%s (%v) and %s (%v), want two different digests", a, errA, b, errB)
	}
}
