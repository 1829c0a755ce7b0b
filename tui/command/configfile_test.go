package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	oldPin = strings.Repeat("ab", 32)
	newPin = strings.Repeat("cd", 32)
)

// Another pin changes that one text and nothing else; what cannot be changed
// exactly is left to a person, and the file as it was.
func TestRepin(t *testing.T) {
	rest := "[store]\npath = \"/s\"\nid = \"s\"\n"
	for _, c := range []struct{ name, before, after string }{
		{"as init writes it", "[appliance]\n  url = \"https://fw1.example.net\"\n  pin = \"OLD\"\n" + rest, "[appliance]\n  url = \"https://fw1.example.net\"\n  pin = \"NEW\"\n" + rest},
		{"with remarks", "# pin = OLD\n[appliance] # ours\npin=\"OLD\"# by jo\n" + rest, "# pin = OLD\n[appliance] # ours\npin=\"NEW\"# by jo\n" + rest},
		{"dotted", "appliance.pin = \"OLD\"\n" + rest, "appliance.pin = \"NEW\"\n" + rest},
		{"inline", "appliance = { pin = \"OLD\" }\n" + rest, "appliance = { pin = \"NEW\" }\n" + rest},
		{"the old one quoted in a remark", "# was \"OLD\"\n[appliance]\npin = \"OLD\"\n", ""},
		{"another kind of quotes", "[appliance]\npin = 'OLD'\n", ""},
		{"no pin", "[appliance]\nurl = \"https://fw1.example.net\"\n", ""},
		{"not TOML", "= nonsense \"OLD\"", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fill := strings.NewReplacer("OLD", oldPin, "NEW", newPin)
			path, want := filepath.Join(t.TempDir(), "config.toml"), fill.Replace(c.after)
			link := path + ".link"
			if err := errors.Join(os.WriteFile(path, []byte(fill.Replace(c.before)), 0o640), os.Symlink(path, link)); err != nil {
				t.Fatal(err)
			}
			err := repin(link, newPin)
			if c.after == "" {
				want = fill.Replace(c.before)
			}
			if (err == nil) != (c.after != "") || err != nil && !errors.Is(err, ErrConfig) {
				t.Errorf("refused: %v", err)
			}
			got, readErr := os.ReadFile(path)
			info, statErr := os.Lstat(path)
			if err := errors.Join(readErr, statErr); err != nil {
				t.Fatal(err)
			}
			if string(got) != want || info.Mode() != 0o640 {
				t.Errorf("mode %v, want\n%s\ngot\n%s", info.Mode(), want, got)
			}
			if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
	if err := repin(filepath.Join(t.TempDir(), "none.toml"), newPin); !errors.Is(err, ErrConfig) {
		t.Errorf("a missing file: %v", err)
	}
}

// What is written can be read again, by its owner alone, and is never written
// over.
func TestConfigWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deeper", "config.toml")
	c := DefaultConfig()
	c.Appliance = ApplianceConfig{URL: "https://fw1.example.net", Pin: oldPin}
	c.Keyring, c.KeyringCredential, c.keyringPassphrase = "file:/ring", "ring", []byte("not written")
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadConfig(path)
	if err != nil || got.Appliance != c.Appliance || got.KeyringCredential != "ring" || got.keyringPassphrase != nil {
		t.Errorf("read again: %+v (%v)", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	if err := c.Write(path); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("written over: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
