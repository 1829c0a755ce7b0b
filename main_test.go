package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/tui/command"
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
