package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"countersign/core/canarytest"
	"countersign/tui/ptytest"
)

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
