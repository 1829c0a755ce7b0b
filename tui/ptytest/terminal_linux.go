// Package ptytest is a terminal for tests: it remembers every byte that is
// written to it, and answers what programs ask a terminal.
package ptytest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

var (
	emptyLines = regexp.MustCompile(`\n\s*\n`)
	queries    = regexp.MustCompile(`\x1b\]11;\?|\x1b\[6n`)
)

// Terminal is a pseudo-terminal. The program under test reads and writes
// Program; the test presses keys and looks at what was written.
type Terminal struct {
	Program *os.File

	t      testing.TB
	person *os.File
	ended  chan struct{}

	mu      sync.Mutex
	written []byte
	pressed int // length of written when a key was last pressed
}

// Open makes a terminal of this size, which is closed with the test.
func Open(t testing.TB, width, height int) *Terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(person.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)})
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &Terminal{Program: program, t: t, person: person, ended: make(chan struct{})}
	go term.remember()
	t.Cleanup(term.Close)
	return term
}

// Close hangs up.
func (t *Terminal) Close() {
	t.Program.Close()
	t.person.Close()
	<-t.ended
}

// remember reads what is written until the terminal is closed.
func (t *Terminal) remember() {
	defer close(t.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := t.person.Read(buffer)
		if err != nil {
			return
		}
		t.answer(buffer[:n])
		t.mu.Lock()
		t.written = append(t.written, buffer[:n]...)
		t.mu.Unlock()
	}
}

// answer says what a dark terminal with its cursor at home would say, in the
// order of the questions: a program takes what comes after the last answer
// that it waits for as typed.
func (t *Terminal) answer(asked []byte) {
	for _, query := range queries.FindAll(asked, -1) {
		reply := "\x1b[1;1R"
		if query[1] == ']' {
			reply = "\x1b]11;rgb:0000/0000/0000\x1b\\"
		}
		_, _ = t.person.WriteString(reply) // a program that has ended needs no answer
	}
}

// Press types keys; Await then looks at what is written from here on.
func (t *Terminal) Press(keys string) {
	t.t.Helper()
	t.mu.Lock()
	t.pressed = len(t.written)
	t.mu.Unlock()
	if _, err := t.person.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

// Await waits until a text has been written since a key was last pressed,
// whatever its colours.
func (t *Terminal) Await(text string) {
	t.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(t.recent(), text) {
		if time.Now().After(deadline) {
			t.t.Fatalf("the terminal never shows %q:\n%s", text, emptyLines.ReplaceAllString(t.recent(), "\n"))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (t *Terminal) recent() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ansi.Strip(string(t.written[t.pressed:]))
}

// Written is everything that was written so far.
func (t *Terminal) Written() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.written)
}
