//go:build linux

// The tests of the whole program need a pseudo-terminal, which the helper in
// tui/ptytest makes on Linux.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"countersign/core"
	"countersign/core/canarytest"
	"countersign/keys"
	"countersign/pfsense/sim"
	"countersign/store"
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
		"verified": {"VERIFIED", 1}, "rollback": {"ROLLED_BACK", 1}, "lost-response": {"VERIFIED", 1}, "drift": {"FAILED", 0},
		"duplicate": {"PREPARED", 2}, "wrong-passphrase": {"PREPARED", 0}, "restart": {"RECONCILIATION", 0}, "tamper": {"QUARANTINED", 0},
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

// openToAll lets everybody write a file.
func openToAll(t *testing.T, path string) string {
	t.Helper()
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
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
		{"a negative cool-down", []string{"--config", write("cool.toml", good+"[policy]\ntarget_cooldown_seconds = -1\n")}, command.ExitUsage, "negative"},
		{"no operator", []string{"--config", write("nobody.toml", strings.TrimPrefix(good, "operator = \"jo\"\n"))}, command.ExitUsage, "--operator"},
		{"a relative store path", []string{"--config", write("relative.toml", strings.Replace(good, dir+"/s.sqlite3", "s.sqlite3", 1))}, command.ExitUsage, "absolute"},
		{"a configuration that others can write", []string{"--config", openToAll(t, write("wide.toml", good))}, command.ExitUsage, "chmod go-w"},
		{"a credential for the OS keyring", []string{"--config", write("oscred.toml", strings.Replace(good, "file:"+filepath.Join(dir, "nothing-here"), "os", 1)),
			"--keyring-credential", "c"}, command.ExitUsage, "opens a file keyring"},
		{"a credential and a file", []string{"--config", write("both.toml", "keyring_credential = \"c\"\n"+good), "--keyring-passphrase-file", "f"},
			command.ExitUsage, "exclude each other"},
		{"an empty secret", []string{"export", "--config", write("empty.toml", good), "--keyring-passphrase-file", write("nothing", "\n")}, command.ExitUsage, "is empty"},
		{"an unknown subcommand", []string{"operator", "frobnicate"}, command.ExitUsage, "frobnicate"},
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

// movingRing takes the store's folder away when the operator's key is made, so
// that the store pins it and then cannot be closed durably.
type movingRing struct {
	keys.Keyring
	folder, away string
}

func (r movingRing) Create(ctx context.Context, name string, secret []byte) error {
	err := r.Keyring.Create(ctx, name, secret)
	if name == keys.ItemOperator("jo") {
		err = errors.Join(err, os.Rename(r.folder, r.away))
	}
	return err
}

// Where the last step of an installation fails, nothing that it made stays in
// the keyring, the operator's key included: it would be in the way of the next.
func TestInstallationTakesItsOperatorBack(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	c := command.DefaultConfig()
	c.Operator, c.Appliance.URL = "jo", "https://fw1.example.net"
	c.Store.Path = filepath.Join(dir, "store", "contracts.sqlite3")
	file, err := keys.InitFileRing(ctx, keys.FileRingConfig{Dir: filepath.Join(dir, "keys"), StoreID: c.Store.ID, Random: rand.Reader}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ring := movingRing{file, filepath.Dir(c.Store.Path), filepath.Join(dir, "away")}
	made := recipe{config: c, ring: ring, clock: core.SystemClock{}, cost: demoCost}
	if err := provision(ctx, made, []byte("an-api-key"), []byte(plantedPass)); !errors.Is(err, store.ErrIO) {
		t.Fatalf("got %v", err)
	}
	for _, item := range []string{keys.ItemOperator("jo"), keys.ItemIntegrityKey, keys.ItemArtifactKey, keys.ItemAnchor, keys.ItemAPIKey("fw1.example.net")} {
		if _, err := file.Get(ctx, item); !errors.Is(err, keys.ErrNotFound) {
			t.Errorf("%s is left behind: %v", item, err)
		}
	}
	made.ring = file
	if err := provision(ctx, made, []byte("an-api-key"), []byte("another passphrase")); err != nil {
		t.Errorf("the next attempt: %v", err)
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
	rewrite := func(path, old, new string) func() error {
		return func() error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
		}
	}
	found, err := filepath.Glob(filepath.Join(ring, "api-key*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	apiKey := found[0]
	for _, c := range []struct {
		name       string
		harm, mend func() error
		code       int
		part       string
		says       string
	}{
		{"the store is seen by others", mode(store, 0o644), mode(store, 0o600), command.ExitStore, "x store", "chmod"},
		{"the store was emptied", func() error { return errors.Join(os.Rename(store, store+".full"), os.WriteFile(store, nil, 0o600)) },
			move(store+".full", store), command.ExitStore, "x store", "empty"},
		{"the store is gone", move(store, store+".away"), move(store+".away", store), command.ExitStore, "x store", "no store"},
		{"the keyring is gone", move(ring, ring+".away"), move(ring+".away", ring), command.ExitKeyring, "x keyring", "no such folder"},
		{"the anchor is gone", move(filepath.Join(ring, "anchor"), ring+".anchor"), move(ring+".anchor", filepath.Join(ring, "anchor")), command.ExitKeyring, "x anchor", "not in the keyring"},
		{"the store's key is gone", move(filepath.Join(ring, "integrity-key"), ring+".key"), move(ring+".key", filepath.Join(ring, "integrity-key")), command.ExitKeyring, "x keys", "not in the keyring"},
		{"the API key is gone", move(apiKey, ring+".api"), move(ring+".api", apiKey), command.ExitKeyring, "x firewall", "not in the keyring"},
		{"the API key was revoked", func() error { in.sim.Inject(sim.Fault{Kind: sim.Status401, Times: -1}); return nil }, in.sim.Clear, command.ExitAppliance, "x firewall", "countersign apikey"},
		{"the store has another id", rewrite(in.config, `id = "`, `id = "another-`), rewrite(in.config, `id = "another-`, `id = "`), command.ExitKeyring, "x keyring", "no such folder"},
		{"the firewall is not there", func() error { return in.sim.Arm("refuse") }, in.sim.Clear, command.ExitAppliance, "x firewall", "refused"},
		{"the firewall has another key", func() error { return in.sim.Arm("wrong-certificate") }, in.sim.Clear, command.ExitAppliance, "x firewall", "countersign pin"},
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
	enter     = "\r"
	esc       = "\x1b"
	up        = "\x1b[A"
	clearLine = "\x15" // ctrl+u
)

// command is the built program, not started, on a session of its own: it has
// no terminal to ask on.
func (in installation) command(args ...string) *exec.Cmd {
	in.t.Helper()
	self, err := os.Executable()
	if err != nil {
		in.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // far more than any of them needs
	in.t.Cleanup(stop)
	c := exec.CommandContext(ctx, self, args...)
	c.Env = append(os.Environ(), asProgram+"=1", "NO_COLOR=1", "CREDENTIALS_DIRECTORY="+in.path("credentials"))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}

// program runs a command of the configured program to its end.
func (in installation) program(args ...string) (code int, stdout, stderr string) {
	in.t.Helper()
	var out, errs bytes.Buffer
	c := in.command(slices.Concat(args, []string{"--config", in.config})...)
	c.Stdout, c.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		in.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// must runs a command that has to succeed.
func (in installation) must(args ...string) (stdout string) {
	in.t.Helper()
	code, out, errs := in.program(args...)
	if code != command.ExitOK || errs != "" {
		in.t.Fatalf("%s: exit %d: %s", args, code, errs)
	}
	return out
}

// refused runs a command that has to say no, in one line and a way on.
func (in installation) refused(code int, says string, args ...string) {
	in.t.Helper()
	got, out, errs := in.program(args...)
	if got != code || !strings.Contains(errs, says) || strings.Count(errs, "\n") > 2 {
		in.t.Errorf("%s: exit %d (want %d with %q)\nstdout: %s\nstderr: %s", args, got, code, says, out, errs)
	}
}

// onTerminal starts a command on a terminal of its own, of a kind that is not
// asked for its colours: nothing but the test answers.
func (in installation) onTerminal(args ...string) (*ptytest.Terminal, *exec.Cmd) {
	in.t.Helper()
	return in.attached("dumb", args...)
}

func (in installation) attached(kind string, args ...string) (*ptytest.Terminal, *exec.Cmd) {
	in.t.Helper()
	term := ptytest.Open(in.t, 100, 40)
	c := in.command(slices.Concat(args, []string{"--config", in.config})...)
	c.Stdin, c.Stdout, c.Stderr = term.Program, term.Program, term.Program
	c.Env = append(c.Env, "TERM="+kind)
	c.SysProcAttr.Setctty = true
	if err := c.Start(); err != nil {
		in.t.Fatal(err)
	}
	return term, c
}

// console starts the real program and waits until it may act.
func (in installation) console(args ...string) (*ptytest.Terminal, *exec.Cmd) {
	in.t.Helper()
	term, c := in.attached("xterm-256color", args...)
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
		clearLine+value, value, enter, "Passphrase of jo", plantedPass, "(hidden)", enter, "Type the target's name",
		target, "go on:  "+target, enter, "Passphrase of jo: █", plantedWrong, "(hidden)", enter, "wrong passphrase",
		plantedPass, "(hidden)", enter, "Ready to send", enter, ends)
}

// Everything that an operator can be asked for goes through the real program
// on a real terminal: drafting, authorizing, confirming with a wrong and the
// right passphrase, sending, rolling back, reconciling. The values are on the
// alternate screen, which is theirs; secrets are nowhere, and nothing at all is
// left behind (design section 4, rule 11).
func TestTheTerminalKeepsNothing(t *testing.T) {
	t.Parallel()
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
				clearLine+plantedAfter, plantedAfter, enter, "Passphrase of jo", plantedPass, "(hidden)")
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

// planted is everything that was planted.
func planted(t *testing.T) *canarytest.Set {
	t.Helper()
	set, err := canarytest.New(canarytest.Canary{Name: "API key", Text: plantedKey}, canarytest.Canary{Name: "passphrase", Text: plantedPass},
		canarytest.Canary{Name: "wrong passphrase", Text: plantedWrong}, canarytest.Canary{Name: "old value", Text: plantedBefore},
		canarytest.Canary{Name: "new value", Text: plantedAfter}, canarytest.Canary{Name: "target", Text: plantedTarget})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// clean requires that nothing secret was ever written to the terminal, and
// that nothing at all is left in its scrollback.
func clean(t *testing.T, written []byte) {
	t.Helper()
	everything := planted(t)
	secrets, values := everything.Without("old value", "new value", "target"), everything.Without("API key", "passphrase", "wrong passphrase")
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

// ended waits for a program on a terminal and returns its exit code.
func ended(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// engine runs do on the configured parts, which nobody else has open.
func (in installation) engine(do func(context.Context, *core.Engine) error) {
	in.t.Helper()
	ctx := context.Background()
	c, err := command.LoadConfig(in.config)
	if err != nil {
		in.t.Fatal(err)
	}
	p, _, err := start(ctx, recipe{config: c})
	if err == nil {
		err = do(ctx, p.Engine)
	}
	if err := errors.Join(err, p.Close()); err != nil {
		in.t.Fatal(err)
	}
}

// draft prepares the planted change.
func draft(ctx context.Context, e *core.Engine) (core.Draft, error) {
	return e.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": plantedTarget, "description": plantedAfter}, "")
}

// verified makes one contract and carries it to VERIFIED.
func (in installation) verified() (id string) {
	in.t.Helper()
	in.engine(func(ctx context.Context, e *core.Engine) error {
		d, err := draft(ctx, e)
		if err == nil {
			id, err = e.Authorize(ctx, d, "jo", []byte(plantedPass))
		}
		if err == nil {
			err = e.Confirm(ctx, id, plantedTarget, "jo", []byte(plantedPass))
		}
		if err == nil {
			err = e.Execute(ctx, id)
		}
		e.Wait()
		if got, detailErr := e.Detail(ctx, id); err == nil && (detailErr != nil || got.Contract.State != core.Verified) {
			err = fmt.Errorf("it ended as %s: %v", got.Contract.State, detailErr)
		}
		return err
	})
	return id
}

// A store is verified, copied, exported; a damaged copy has its own exit code,
// and nothing of what is printed has a value in it.
func TestVerifyBackupExport(t *testing.T) {
	t.Parallel()
	in := install(t)
	id := in.verified()
	if out := in.must("verify"); !strings.Contains(out, "every chain holds (contracts: 1,") {
		t.Errorf("verify says %q", out)
	}
	if out := in.must("doctor"); strings.Count(out, " ok\n") != 5 {
		t.Errorf("doctor says %s", out)
	}
	copied := in.path("store", "copy.sqlite3")
	if err := os.Mkdir(in.path("open"), 0o755); err != nil {
		t.Fatal(err)
	}
	in.must("backup", copied)
	in.refused(command.ExitStore, "already", "backup", copied)
	in.refused(command.ExitStore, "is the destination new", "backup", copied)
	in.refused(command.ExitStore, "chmod", "backup", in.path("open", "copy.sqlite3"))
	var report store.Report
	if err := json.Unmarshal([]byte(in.must("verify", copied, "--json")), &report); err != nil || !report.OK || report.Contracts != 1 || report.Path != copied {
		t.Errorf("report of the copy: %+v (%v)", report, err)
	}

	exported := in.must("export")
	lines := strings.Split(strings.TrimSpace(exported), "\n")
	for _, line := range lines {
		var event struct {
			ContractID string `json:"contract_id"`
			State      string `json:"current_state"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.ContractID != id || event.State == "" {
			t.Errorf("not an event of %s: %s (%v)", id, line, err)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d events were exported, want 5", len(lines))
	}
	if hits := planted(t).Find([]byte(exported)); len(hits) > 0 {
		t.Errorf("exported: %v", hits)
	}

	raw, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(raw, []byte(`"verified"`))
	if at < 0 {
		t.Fatal("no record of the verified contract in the copy")
	}
	raw[at+1] ^= 1
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	in.refused(command.ExitStore, "does not verify", "verify", copied)
	code, out, _ := in.program("verify", copied, "--json")
	report = store.Report{}
	if err := json.Unmarshal([]byte(out), &report); code != command.ExitStore || err != nil || report.OK || report.Reason == "" {
		t.Errorf("exit %d, report of the damaged copy: %s (%v)", code, out, err)
	}
	in.must("verify")

	// What cannot be exported is the store's fault, and says where to look.
	if err := os.Rename(copied, in.path("store", "contracts.sqlite3")); err != nil {
		t.Fatal(err)
	}
	in.refused(command.ExitStore, "verify --json", "export")
}

// The simulator as a server shows the fingerprint and the key that it has.
func TestSimServes(t *testing.T) {
	t.Parallel()
	in := installation{t: t, dir: t.TempDir()}
	c := in.command("sim", "--listen", "127.0.0.1:0", "--seed", "7")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	shown, lines := map[string]string{}, bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "-----END CERTIFICATE-----" {
		for _, label := range []string{"address", "API key", "SPKI SHA-256"} {
			if value, ok := strings.CutPrefix(lines.Text(), label); ok {
				shown[label] = strings.TrimSpace(value)
			}
		}
	}
	pin, err := wiring{}.Fingerprint(context.Background(), shown["address"])
	if err != nil || pin != shown["SPKI SHA-256"] {
		t.Errorf("the server shows %s, printed is %s (%v)", pin, shown["SPKI SHA-256"], err)
	}
	config := command.Config{Appliance: command.ApplianceConfig{URL: shown["address"], Pin: pin}}
	if status, err := (wiring{}).TryAPIKey(context.Background(), config, []byte(shown["API key"])); err != nil || status.APIVersion != "2.7.1" {
		t.Errorf("status %+v (%v)", status, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := ended(t, c); code != command.ExitOK {
		t.Errorf("exit %d", code)
	}
	for name, args := range map[string][]string{"no such profile": {"--profile", "9.9"}, "no such fault": {"--fault", "frob"},
		"no such file": {"--config", in.path("none.xml")}, "no such address": {"--listen", "nowhere"}} {
		if code, out, errs := run(t, append([]string{"sim"}, args...)...); code != command.ExitUsage || out != "" || errs == "" {
			t.Errorf("%s: exit %d: %s%s", name, code, out, errs)
		}
	}
}

// A request is shown in full and signed off-host, and the console accepts the
// evidence; what was not agreed to is not signed.
func TestSign(t *testing.T) {
	t.Parallel()
	in := install(t)
	signing := []string{"sign", "--authority", "owner", "--keyring", "file:" + in.path("signer"), "--passphrase-file", in.file("signer-passphrase", plantedPass)}
	pins := in.must(append(signing, "--new-key")...)
	in.refused(command.ExitKeyring, "already", append(signing, "--new-key")...)
	text, err := os.ReadFile(in.config)
	if err != nil {
		t.Fatal(err)
	}
	inbox := regexp.MustCompile(`(?m)^inbox = .*$`).ReplaceAllLiteral(text, []byte(fmt.Sprintf("inbox = %q", in.path("inbox"))))
	if err := os.WriteFile(in.config, append(inbox, pins...), 0o600); err != nil {
		t.Fatal(err)
	}
	request := in.path("change.request")
	in.engine(func(ctx context.Context, e *core.Engine) error {
		d, err := draft(ctx, e)
		if err != nil {
			return err
		}
		return e.ExportAuthorizationRequest(ctx, d, request)
	})

	in.refused(command.ExitUsage, "no terminal", append(signing, request)...)
	in.refused(command.ExitUsage, "--authority", "sign", request)
	in.refused(command.ExitFailed, "not a file", append(signing, in.config)...)
	for _, c := range []struct {
		answer string
		code   int
	}{{"no", command.ExitFailed}, {"yes", command.ExitOK}} {
		term, program := in.onTerminal(append(signing, request)...)
		for _, shown := range []string{plantedTarget, plantedBefore, plantedAfter, "Type yes to sign exactly this"} {
			term.Await(shown)
		}
		term.Press(c.answer + "\n")
		if code := ended(t, program); code != c.code {
			t.Fatalf("answered %s: exit %d", c.answer, code)
		}
		if _, err := os.Stat(request + ".signed"); (err == nil) != (c.code == command.ExitOK) {
			t.Fatalf("answered %s: evidence %v", c.answer, err)
		}
	}

	in.engine(func(ctx context.Context, e *core.Engine) error {
		if err := os.Rename(request+".signed", in.path("inbox", "change.signed")); err != nil {
			return err
		}
		waiting, err := e.Inbox(ctx)
		if err != nil || len(waiting) != 1 || waiting[0].Problem != "" {
			return fmt.Errorf("in the inbox: %+v (%v)", waiting, err)
		}
		d, err := draft(ctx, e)
		if err != nil {
			return err
		}
		_, err = e.AuthorizeFromInbox(ctx, d, waiting[0].Authorization, "jo")
		return err
	})
}

// Passphrases of the operators who come after jo.
const (
	mikaPass = "Rc5secondcanary8Bv"
	kimPass  = "Wd1thirdcanary6Hn"
)

// A second operator is enrolled while nobody works on the store, an enrolled
// one vouching, and can confirm what the first has authorized.
func TestASecondOperator(t *testing.T) {
	t.Parallel()
	in := install(t)
	add := []string{"operator", "add", "mika", "--by-passphrase-file", in.path("passphrase"), "--passphrase-file", in.file("mika", mikaPass)}
	changed := func(at int, value string) []string {
		return append(slices.Clone(add[:at]), append([]string{value}, add[at+1:]...)...)
	}
	in.refused(command.ExitFailed, "jo: wrong passphrase", changed(4, in.file("wrong", plantedWrong))...)
	in.refused(command.ExitFailed, "8 to 256", changed(6, in.file("short", "short"))...)
	in.refused(command.ExitFailed, "lee: no such operator", append(add, "--by", "lee")...)
	in.refused(command.ExitUsage, "1 to 128", changed(2, "m ka")...)
	in.refused(command.ExitUsage, "no terminal", add[:3]...)

	term, program := in.console()
	in.refused(command.ExitFailed, "in use by", add...)
	do(term, "n", "NTP logging", enter, "nested_hosts", plantedTarget, "1 of ", enter, "may be empty",
		clearLine+plantedAfter, plantedAfter, enter, "Passphrase of jo", plantedPass, "(hidden)", enter, "Type the target's name", esc, "PREPARED")
	term.Press("q")
	if code := ended(t, program); code != command.ExitOK {
		t.Fatalf("exit %d", code)
	}

	if out := in.must(add...); !strings.Contains(out, "mika is enrolled; jo vouched") {
		t.Errorf("said %q", out)
	}
	in.refused(command.ExitFailed, "mika is enrolled already", add...)
	if out := in.must("operator", "list"); strings.Count(out, "key in the keyring\n") != 2 {
		t.Errorf("listed %q", out)
	}
	term, program = in.console("--operator", "mika")
	term.Await("PREPARED") // the list is there only after the head
	do(term, enter, "c confirm", "c", "Type the target's name", plantedTarget, "go on:  "+plantedTarget, enter, "Passphrase of mika: █",
		plantedPass, "(hidden)", enter, "wrong passphrase", mikaPass, "(hidden)", enter, "Ready to send", enter, "VERIFIED", enter, "roll back", esc, "Needs you 0")
	term.Press("q")
	if code := ended(t, program); code != command.ExitOK {
		t.Fatalf("exit %d", code)
	}
	if sends := in.sim.Sends(); sends != 1 {
		t.Errorf("%d requests were sent, want 1", sends)
	}
	in.must("verify")
}

// On a terminal the same is asked for, a new passphrase twice, and no secret
// is ever shown. An enrolment that broke off is taken up again.
func TestOperatorsAreAsked(t *testing.T) {
	t.Parallel()
	in := install(t)
	term, program := in.onTerminal("operator", "add", "kim", "--by", "jo")
	do(term, "", "Passphrase of jo", plantedPass+enter, "that kim chooses:", kimPass+enter, "again:", plantedWrong+enter, "the two entries differ")
	if code := ended(t, program); code != command.ExitFailed || strings.Contains(in.must("operator", "list"), "kim") {
		t.Fatalf("exit %d, and kim is listed", code)
	}
	written := term.Written()

	c, err := command.LoadConfig(in.config)
	if err != nil {
		t.Fatal(err)
	}
	err = wiring{}.Operators(context.Background(), c, true, func(o command.Operators) error {
		_, err := o.(*keys.Operators).Enrol(context.Background(), "kim", []byte(kimPass))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	vouched := []string{"operator", "add", "kim", "--by-passphrase-file", in.path("passphrase"), "--passphrase-file"}
	in.refused(command.ExitFailed, "broke off", append(vouched, in.file("other", plantedWrong))...)
	in.must(append(vouched, in.file("kim", kimPass))...)

	term, program = in.onTerminal("operator", "passphrase", "kim")
	do(term, "", "Passphrase of kim", kimPass+enter, "New passphrase of kim:", mikaPass+enter, "again:", mikaPass+enter, "is changed")
	if code := ended(t, program); code != command.ExitOK {
		t.Fatalf("exit %d", code)
	}
	written = append(written, term.Written()...)
	for _, secret := range []string{plantedPass, plantedWrong, kimPass, mikaPass} {
		if bytes.Contains(written, []byte(secret)) {
			t.Errorf("%s is on the terminal", secret)
		}
	}
	change := []string{"operator", "passphrase", "kim", "--passphrase-file", in.path("kim"), "--old-passphrase-file"}
	in.refused(command.ExitFailed, "kim: wrong passphrase", append(change, in.path("kim"))...)
	in.must(append(change, in.file("kim-now", mikaPass))...)
}

// A firewall that was set up again has another certificate and another API
// key. Each is replaced by its own command, tried or approved first, and what
// is refused changes nothing.
func TestPinAndAPIKey(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.verified()
	const newKey = "Zp6newapikeycanary2Lf"
	address := strings.TrimPrefix(in.sim.URL(), "https://")
	old := in.sim.Fingerprint()
	in.sim.Close()
	again, err := sim.NewPractice(sim.Options{Addr: address, Users: []sim.User{{Name: "admin", Password: "unused", APIKey: newKey}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	text, err := os.ReadFile(in.config)
	if err == nil {
		err = os.WriteFile(in.config, append([]byte("# a remark\n"), text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	in.refused(command.ExitAppliance, "part", "doctor")
	in.refused(command.ExitAppliance, "has changed", "apikey", "--api-key-file", in.file("new-key", newKey))
	in.refused(command.ExitUsage, "--pin", "pin")
	in.refused(command.ExitFailed, "not the one of --pin", "pin", "--pin", old)
	term, program := in.onTerminal("pin")
	for _, shown := range []string{"not finished: 1", again.Fingerprint(), old, "Type yes"} {
		term.Await(shown)
	}
	term.Press("no\n")
	if code := ended(t, program); code != command.ExitFailed {
		t.Errorf("not approved: exit %d", code)
	}
	in.refused(command.ExitAppliance, "part", "doctor")
	in.must("pin", "--pin", strings.ToUpper(again.Fingerprint()))
	if got, err := os.ReadFile(in.config); err != nil || string(got) != "# a remark\n"+strings.Replace(string(text), old, again.Fingerprint(), 1) {
		t.Errorf("the configuration is now (%v)\n%s", err, got)
	}
	if info, err := os.Stat(in.config); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
	spelled := strings.Replace(string(text), old, strings.ToUpper(again.Fingerprint()), 1)
	if err := os.WriteFile(in.config, []byte(spelled), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := in.must("pin"); !strings.Contains(out, "nothing was changed") {
		t.Errorf("pinned again: %s", out)
	}

	in.refused(command.ExitAppliance, "keyring was not changed", "apikey", "--api-key-file", in.file("wrong-key", plantedWrong))
	in.refused(command.ExitUsage, "no terminal", "apikey")
	if out := in.must("apikey", "--api-key-file", in.path("new-key")); !strings.Contains(out, "works") || strings.Contains(out, newKey) {
		t.Errorf("said %s", out)
	}
	in.must("doctor")
	if sends := again.Sends(); sends != 0 {
		t.Errorf("%d changes were sent", sends)
	}
}

// A service without anybody at hand opens a wrapped keyring with a systemd
// credential.
func TestSystemdCredential(t *testing.T) {
	t.Parallel()
	in := uninstalled(t)
	if err := os.Mkdir(in.path("credentials"), 0o700); err != nil {
		t.Fatal(err)
	}
	credential := in.file(filepath.Join("credentials", "ring"), plantedWrong)
	in.file(filepath.Join("credentials", "nothing"), "")
	initialise := func(name string) (int, string, string) {
		return in.program("init", "--url", in.sim.URL(), "--operator", "jo", "--pin", in.sim.Fingerprint(), "--keyring", "file:"+in.path("keyring"),
			"--store", in.path("store", "contracts.sqlite3"), "--api-key-file", in.file("key", plantedKey),
			"--passphrase-file", in.file("passphrase", plantedPass), "--keyring-credential", name)
	}
	for name, says := range map[string]string{"missing": "no such systemd credential", "nothing": "it is empty"} {
		if code, _, errs := initialise(name); code != command.ExitKeyring || !strings.Contains(errs, says) {
			t.Errorf("init with the credential %s: exit %d: %s", name, code, errs)
		}
	}
	if code, _, errs := initialise("ring"); code != command.ExitOK {
		t.Fatalf("init: exit %d: %s", code, errs)
	}
	in.must("doctor")
	in.refused(command.ExitUsage, "exclude each other", "doctor", "--keyring-passphrase-file", in.path("key"))
	in.refused(command.ExitKeyring, "no such systemd credential", "export", "--keyring-credential", "other")
	if err := os.WriteFile(credential, []byte("another one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.refused(command.ExitKeyring, "wrong passphrase", "export")
	if err := os.Chmod(credential, 0o644); err != nil {
		t.Fatal(err)
	}
	in.refused(command.ExitKeyring, "access refused", "export")
	raw, err := os.ReadFile(in.path("keyring", "countersign", "api-key+"+strings.TrimPrefix(in.sim.URL(), "https://")))
	if err != nil || len(planted(t).Find(raw)) > 0 {
		t.Errorf("the keyring is not wrapped (%v)", err)
	}
}
