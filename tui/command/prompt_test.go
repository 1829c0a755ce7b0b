package command

import (
	"errors"
	"strings"
	"testing"
)

func TestSecretLine(t *testing.T) {
	for _, c := range []struct {
		name, typed, want string
		refused           error
	}{
		{"a line", "correct horse\r", "correct horse", nil},
		{"the rest is not read", "one\ntwo\n", "one", nil},
		{"backspace takes a character back", "pä\x7fx\x08y\r", "py", nil},
		{"backspace on nothing", "\x7f\x7fa\r", "a", nil},
		{"ctrl+u takes all back", "wrong\x15right\r", "right", nil},
		{"nothing typed", "\r", "", nil},
		{"ctrl+c gives up", "secret\x03", "", errGivenUp},
		{"ctrl+d gives up", "secret\x04", "", errGivenUp},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := secretLine(strings.NewReader(c.typed))
			if string(got) != c.want || !errors.Is(err, c.refused) {
				t.Fatalf("got %q (%v), want %q (%v)", got, err, c.want, c.refused)
			}
		})
	}
	if _, err := secretLine(strings.NewReader("no end")); err == nil {
		t.Error("a line without an end is taken")
	}
	if _, err := secretLine(strings.NewReader(strings.Repeat("x", mostSecret+1))); err == nil {
		t.Error("an endless line is taken")
	}
}
