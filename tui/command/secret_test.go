package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret comes from a file or from standard input, whole, once, and is
// never empty.
func TestSecretFromAFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, path, stdin, want, says string }{
		{"a line", file("line", "correct horse\n"), "", "correct horse", ""},
		{"a line of Windows", file("crlf", "correct horse\r\n"), "", "correct horse", ""},
		{"no end of line", file("bare", "correct horse"), "", "correct horse", ""},
		{"blanks belong to it", file("blank", " a b \n"), "", " a b ", ""},
		{"standard input", "-", "correct horse\n", "correct horse", ""},
		{"the longest", file("longest", strings.Repeat("x", mostSecret)), "", strings.Repeat("x", mostSecret), ""},
		{"too long", file("long", strings.Repeat("x", mostSecret+1)), "", "", "too long"},
		{"empty", file("empty", "\n"), "", "", "empty is empty"},
		{"nothing on standard input", "-", "", "", "standard input is empty"},
		{"no file", filepath.Join(dir, "none"), "", "", "no such file"},
		{"nobody to ask", "", "", "", "nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &builder{in: strings.NewReader(c.stdin)}
			got, err := b.secret(c.path, func() ([]byte, error) { return nil, errors.New("nobody") })
			if string(got) != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %q (%v), want %q (%s)", got, err, c.want, c.says)
			}
		})
	}
	b := &builder{in: strings.NewReader("first\n")}
	if _, err := b.secret("-", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.secret("-", nil); !errors.Is(err, errUsage) {
		t.Errorf("standard input was read twice: %v", err)
	}
}

// A new secret from a file is checked, and asked for no second time. One that is
// refused is erased.
func TestNewSecretIsChecked(t *testing.T) {
	weak := errors.New("weak")
	for want, secret := range map[error]string{nil: "chosen", weak: ""} {
		b, checked := &builder{in: strings.NewReader("chosen\n")}, []byte(nil)
		got, err := b.newSecret("-", "Passphrase", func(s []byte) error { checked = s; return want })
		if string(got) != secret || !errors.Is(err, want) {
			t.Errorf("got %q (%v), want %v", got, err, want)
		}
		if erased := string(checked) == "\x00\x00\x00\x00\x00\x00"; erased != (want != nil) {
			t.Errorf("%v: what was typed is still %q", want, checked)
		}
	}
}
