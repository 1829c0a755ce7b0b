//go:build linux

// The tests of the whole program need a pseudo-terminal, which the helper in
// tui/ptytest makes on Linux.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"countersign/core/canarytest"
	"countersign/pfsense/sim"
	"countersign/tui/command"
	"countersign/tui/ptytest"
)

// asProgram makes this binary the program instead of its tests.
const asProgram = "COUNTERSIGN_TEST_AS_PROGRAM"

// TestMain lets the story's restart scene, and tests with a terminal, run this
// binary as the program.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || (len(os.Args) > 1 && os.Args[1] == "demo-child") {
		main()
		return
	}
	os.Exit(m.Run())
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = command.Execute(context.Background(), wiring{}, args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The whole story on real parts: every scene, its end, and the sends that the
// simulator counted.
func TestDemoTellsEveryScene(t *testing.T) {
	code, out, errs := run(t, "demo", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s\n%s", code, errs, out)
	}
	type line struct {
		Scene, Step, Contract, State, Detail string
		Sends                                int
		OK                                   *bool
		Scenes                               int
	}
	ends := map[string]line{}
	var last line
	for _, text := range strings.Split(strings.TrimSpace(out), "\n") {
		last = line{}
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			t.Fatalf("not one JSON object a line: %s", text)
		}
		if last.Step == "end" {
			ends[last.Scene] = last
		}
	}
	if last.OK == nil || !*last.OK || last.Scenes != 8 {
		t.Fatalf("last line: %+v", last)
	}
	for scene, want := range map[string]struct {
		state string
		sends int
	}{
		"verified": {"verified", 1}, "rollback": {"rolled_back", 1}, "lost-response": {"verified", 1}, "drift": {"failed", 0},
		"duplicate": {"prepared", 2}, "wrong-passphrase": {"prepared", 0}, "restart": {"reconciliation", 0}, "tamper": {"quarantined", 0},
	} {
		if got, ok := ends[scene]; !ok || got.State != want.state || got.Sends != want.sends {
			t.Errorf("scene %s ended as %+v, want %+v", scene, got, want)
		}
	}
}

func TestDemoTellsItForPeople(t *testing.T) {
	code, out, errs := run(t, "demo", "--headless")
	if code != 0 || !strings.Contains(out, "every scene ended as it must") {
		t.Fatalf("exit %d: %s\n%s", code, errs, out)
	}
}

// Bad input gives one clear line, what to do, and the documented exit code.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := "operator = \"jo\"\nkeyring = \"file:" + filepath.Join(dir, "nothing-here") + "\"\n[appliance]\nurl = \"https://192.0.2.1\"\npin = \"" + strings.Repeat("ab", 32) +
		"\"\n[store]\npath = \"" + filepath.Join(dir, "s.sqlite3") + "\"\nid = \"s\"\n"
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no configuration", []string{"--config", filepath.Join(dir, "none.toml")}, command.ExitUsage, "countersign init"},
		{"not TOML", []string{"--config", write("bad.toml", "= nonsense")}, command.ExitUsage, "configuration"},
		{"an unknown key", []string{"--config", write("unknown.toml", good+"[policy]\nmax_in_fligth = 1\n")}, command.ExitUsage, "max_in_fligth"},
		{"too short a settle window", []string{"--config", write("settle.toml", good+"[policy]\nsettle_seconds = 10\n")}, command.ExitUsage, "180"},
		{"a relative store path", []string{"--config", write("relative.toml", strings.Replace(good, dir+"/s.sqlite3", "s.sqlite3", 1))}, command.ExitUsage, "absolute"},
		{"an unknown flag", []string{"demo", "--jsn"}, command.ExitUsage, "jsn"},
		{"an unknown command", []string{"frobnicate"}, command.ExitUsage, "frobnicate"},
		{"a keyring that is not there", []string{"export", "--config", write("ring.toml", good)}, command.ExitKeyring, "keyring"},
		{"a console without a terminal", []string{"--config", write("good.toml", good)}, command.ExitUsage, "terminal"},
		{"init without an address", []string{"init"}, command.ExitUsage, "--url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := run(t, c.args...)
			if code != c.code || !strings.Contains(errs, c.says) || out != "" {
				t.Fatalf("exit %d (want %d)\nstdout: %s\nstderr: %s", code, c.code, out, errs)
			}
			if lines := strings.Count(strings.TrimSpace(errs), "\n"); lines > 1 {
				t.Fatalf("%d lines of error:\n%s", lines+1, errs)
			}
		})
	}
}

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

const (
	enter = "\r"
	esc   = "\x1b"
	up    = "\x1b[A"
	clear = "\x15" // ctrl+u
)

// console starts the real program on a terminal of its own.
func (in installation) console() (*ptytest.Terminal, *exec.Cmd) {
	in.t.Helper()
	term := ptytest.Open(in.t, 100, 40)
	self, err := os.Executable()
	if err != nil {
		in.t.Fatal(err)
	}
	c := exec.Command(self, "--config", in.config)
	c.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm-256color", "NO_COLOR=1")
	c.Stdin, c.Stdout, c.Stderr = term.Program, term.Program, term.Program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended unless the test failed
	term.Await("EXECUTOR")
	return term, c
}

// do presses keys, each followed by what must appear then.
func do(term *ptytest.Terminal, steps ...string) {
	for i := 0; i+1 < len(steps); i += 2 {
		term.Press(steps[i])
		term.Await(steps[i+1])
	}
}

// change drafts a change, authorizes it, is refused with a wrong passphrase,
// confirms it with the right one and sends it.
func change(term *ptytest.Terminal, target, value, ends string) {
	do(term,
		"n", "NTP logging", enter, "nested_hosts", target, "1 of ", enter, "may be empty",
		clear+value, value, enter, "Passphrase of jo", plantedPass, "(hidden)", enter, "Type the target's name",
		target, "go on:  "+target, enter, "Passphrase of jo: █", plantedWrong, "(hidden)", enter, "wrong passphrase",
		plantedPass, "(hidden)", enter, "Ready to send", enter, ends)
}

// Everything that an operator can be asked for goes through the real program
// on a real terminal: drafting, authorizing, confirming with a wrong and the
// right passphrase, sending, rolling back, reconciling. The values are on the
// alternate screen, which is theirs; secrets are nowhere, and nothing at all is
// left behind (design section 4, rule 11).
func TestTheTerminalKeepsNothing(t *testing.T) {
	in := install(t)
	term, program := in.console()
	change(term, plantedTarget, plantedAfter, "VERIFIED")
	do(term, enter, "roll back", "r", "ONE rollback", plantedPass, "(hidden)", enter, "ROLLED_BACK", esc, "Bindings", esc, "Needs you 0")
	in.sim.LoseNextAnswer()
	change(term, "web_servers", plantedAfter, "RECONCILIATION")
	do(term, "R", "What do you conclude?", up+up, "▌ confirmed applied", enter, "You conclude", plantedPass, "(hidden)", enter, "your conclusion is recorded: VERIFIED")
	term.Press("q")
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	clean(t, term.Written())
	if sends := in.sim.Sends(); sends != 3 {
		t.Errorf("%d requests were sent, want 3", sends)
	}
}

// The same holds where the terminal is lost or the program is told to end in
// the middle of a form, with a passphrase typed.
func TestASignalKeepsNothing(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			in := install(t)
			term, program := in.console()
			do(term, "n", "NTP logging", enter, "nested_hosts", plantedTarget, "1 of ", enter, "may be empty",
				clear+plantedAfter, plantedAfter, enter, "Passphrase of jo", plantedPass, "(hidden)")
			if err := program.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := program.Wait(); err != nil {
				t.Fatal(err)
			}
			clean(t, term.Written())
		})
	}
}

// normal is what was written to the normal screen: outside the alternate one,
// which must be entered and left exactly once.
func normal(t *testing.T, written []byte) []byte {
	t.Helper()
	before, rest, entered := bytes.Cut(written, []byte("\x1b[?1049h"))
	inside, after, left := bytes.Cut(rest, []byte("\x1b[?1049l"))
	if !entered || !left || bytes.Contains(inside, []byte("\x1b[?1049h")) || bytes.Contains(after, []byte("\x1b[?1049")) {
		t.Fatal("the alternate screen is not entered and left exactly once")
	}
	return append(bytes.Clone(before), after...)
}

// clean requires that nothing secret was ever written to the terminal, and
// that nothing at all is left in its scrollback.
func clean(t *testing.T, written []byte) {
	t.Helper()
	secrets, err := canarytest.New(canarytest.Canary{Name: "API key", Text: plantedKey}, canarytest.Canary{Name: "passphrase", Text: plantedPass},
		canarytest.Canary{Name: "wrong passphrase", Text: plantedWrong})
	if err != nil {
		t.Fatal(err)
	}
	values, err := canarytest.New(canarytest.Canary{Name: "old value", Text: plantedBefore}, canarytest.Canary{Name: "new value", Text: plantedAfter},
		canarytest.Canary{Name: "target", Text: plantedTarget})
	if err != nil {
		t.Fatal(err)
	}
	if hits := secrets.Find(written); len(hits) > 0 {
		t.Errorf("written to the terminal: %v", hits)
	}
	if hits := values.Find(written); len(hits) < 3 {
		t.Errorf("of the values only %v were on the screen: the capture is not complete", hits)
	}
	scrollback := normal(t, written)
	if hits := values.Find(scrollback); len(hits) > 0 {
		t.Errorf("left in the scrollback: %v", hits)
	}
	if text := strings.TrimSpace(ansi.Strip(string(scrollback))); text != "" {
		t.Errorf("left in the scrollback: %q", text)
	}
}
