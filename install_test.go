package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/pfsense/sim"
	"countersign/tui/command"
)

// What is planted, each in one place.
const (
	plantedKey    = "Kd8apikeycanary4Xq"
	plantedPass   = "Vn3passphrasecanary7Zt"
	plantedWrong  = "Gh6wrongpasscanary2Ym"
	plantedBefore = "Tb5beforecanary9Wc"
	plantedAfter  = "Ls4aftercanary1Rj"
	plantedTarget = "Px2target5Ne"
)

// installation is a configured console of its own, over a simulated firewall.
type installation struct {
	t      *testing.T
	sim    sim.Practice
	dir    string
	config string
}

func uninstalled(t *testing.T) installation {
	t.Helper()
	p, err := sim.NewPractice(sim.Options{Users: []sim.User{{Name: "admin", Password: "unused", APIKey: plantedKey}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Admin().InsertAlias(0, plantedTarget)
	p.Admin().SetAliasAddresses(plantedTarget, []string{"192.0.2.77"}, []string{"planted"})
	p.EditAlias(plantedTarget, plantedBefore)
	p.Admin().Reload()
	in := installation{t: t, sim: p, dir: t.TempDir()}
	in.config = in.path("config.toml")
	return in
}

// install initialises a console over a simulated firewall.
func install(t *testing.T) installation {
	t.Helper()
	in := uninstalled(t)
	if code, out, errs := in.init(); code != command.ExitOK {
		t.Fatalf("init: exit %d: %s%s", code, out, errs)
	}
	return in
}

// init runs init; later flags win over the usual ones.
func (in installation) init(flags ...string) (code int, stdout, stderr string) {
	in.t.Helper()
	return run(in.t, append([]string{"init", "--config", in.config, "--url", in.sim.URL(), "--operator", "jo", "--pin", in.sim.Fingerprint(),
		"--keyring", "file:" + in.path("keyring"), "--store", in.path("store", "contracts.sqlite3"),
		"--api-key-file", in.file("key", plantedKey), "--passphrase-file", in.file("passphrase", plantedPass)}, flags...)...)
}

func (in installation) path(names ...string) string {
	return filepath.Join(append([]string{in.dir}, names...)...)
}

// file writes a file of its owner alone.
func (in installation) file(name, text string) string {
	in.t.Helper()
	if err := os.WriteFile(in.path(name), []byte(text+"\n"), 0o600); err != nil {
		in.t.Fatal(err)
	}
	return in.path(name)
}

// remaining is every file that an init left behind.
func (in installation) remaining() []string {
	in.t.Helper()
	var left []string
	err := filepath.WalkDir(in.dir, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); err == nil && !d.IsDir() && name != ".lock" && name != "key" && name != "passphrase" && !strings.HasPrefix(name, "other") {
			left = append(left, strings.TrimPrefix(path, in.dir))
		}
		return err
	})
	if err != nil {
		in.t.Fatal(err)
	}
	return left
}

// An init that is refused says why in one line and leaves nothing behind, so
// that it can be tried again; one that is done is never done over.
func TestInitIsDoneWholeOrNotAtAll(t *testing.T) {
	in := uninstalled(t)
	if err := os.Mkdir(in.path("open"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		flags []string
		code  int
		says  string
	}{
		{"another key than --pin", []string{"--pin", strings.Repeat("0", 64)}, command.ExitFailed, "not the one of --pin"},
		{"a key that the firewall refuses", []string{"--api-key-file", in.file("other key", "not-the-key")}, command.ExitAppliance, "refused the API key"},
		{"no firewall", []string{"--url", "https://127.0.0.1:1"}, command.ExitAppliance, "no connection"},
		{"no TLS", []string{"--url", "http://192.0.2.1"}, command.ExitUsage, "https"},
		{"a short passphrase", []string{"--passphrase-file", in.file("other pass", "short")}, command.ExitFailed, "8 to 256"},
		{"no passphrase file", []string{"--passphrase-file", in.path("nothing")}, command.ExitUsage, "no such file"},
		{"an operator with a blank", []string{"--operator", "j o"}, command.ExitUsage, "operator"},
		{"a folder that others see", []string{"--store", in.path("open", "contracts.sqlite3")}, command.ExitStore, "chmod"},
	} {
		code, out, errs := in.init(c.flags...)
		if code != c.code || !strings.Contains(errs, c.says) || out != "" || strings.Count(errs, "\n") > 2 {
			t.Errorf("%s: exit %d (want %d)\nstdout: %s\nstderr: %s", c.name, code, c.code, out, errs)
		}
		if left := in.remaining(); len(left) > 0 {
			t.Fatalf("%s: left behind %q", c.name, left)
		}
	}
	if code, _, errs := in.init(); code != command.ExitOK {
		t.Fatalf("afterwards: exit %d: %s", code, errs)
	}
	for _, config := range []string{in.config, in.path("second.toml")} {
		if code, _, errs := in.init("--config", config); code == command.ExitOK || !strings.Contains(errs, "nothing was changed") {
			t.Errorf("a second init: exit %d: %s", code, errs)
		}
	}
	if code, out, errs := run(t, "doctor", "--config", in.config); code != command.ExitOK {
		t.Errorf("doctor: exit %d\n%s%s", code, out, errs)
	}
}

// Doctor names the part that is not in order, goes on with the others, and
// ends with the exit code of its class; every other command refuses likewise.
func TestBrokenPartsAreNamed(t *testing.T) {
	in := install(t)
	store := in.path("store", "contracts.sqlite3")
	ring := in.path("keyring", "countersign")
	mode := func(path string, mode fs.FileMode) func() error { return func() error { return os.Chmod(path, mode) } }
	move := func(from, to string) func() error { return func() error { return os.Rename(from, to) } }
	for _, c := range []struct {
		name       string
		harm, mend func() error
		code       int
		part       string
		says       string
	}{
		{"the store is seen by others", mode(store, 0o644), mode(store, 0o600), command.ExitStore, "x store", "chmod"},
		{"the store is gone", move(store, store+".away"), move(store+".away", store), command.ExitStore, "x store", "no store"},
		{"the keyring is gone", move(ring, ring+".away"), move(ring+".away", ring), command.ExitKeyring, "x keyring", "no such folder"},
		{"the anchor is gone", move(filepath.Join(ring, "anchor"), ring+".anchor"), move(ring+".anchor", filepath.Join(ring, "anchor")), command.ExitKeyring, "x anchor", "not in the keyring"},
		{"the firewall is not there", func() error { return in.sim.Arm("refuse") }, in.sim.Clear, command.ExitAppliance, "x firewall", "refused"},
		{"the firewall has another key", func() error { return in.sim.Arm("wrong-certificate") }, in.sim.Clear, command.ExitAppliance, "x firewall", "appliance.pin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.harm(); err != nil {
				t.Fatal(err)
			}
			code, out, errs := run(t, "doctor", "--config", in.config)
			if code != c.code || !strings.Contains(out, c.part) || !strings.Contains(out, c.says) || strings.Count(errs, "\n") != 1 {
				t.Errorf("doctor: exit %d (want %d)\nstdout: %s\nstderr: %s", code, c.code, out, errs)
			}
			if c.part == "x store" || c.part == "x keyring" {
				if code, out, errs := run(t, "export", "--config", in.config); code != c.code || out != "" || !strings.Contains(errs, c.says) {
					t.Errorf("export: exit %d\n%s%s", code, out, errs)
				}
			}
			if err := c.mend(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if code, out, errs := run(t, "doctor", "--config", in.config); code != command.ExitOK {
		t.Errorf("mended: exit %d\n%s%s", code, out, errs)
	}
}
