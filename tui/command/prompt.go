package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// errNoTerminal: there is nobody to ask.
var errNoTerminal = errors.New("no terminal to ask on")

// errGivenUp: ctrl+c at a prompt.
var errGivenUp = errors.New("given up; nothing was changed")

// errTooLong: nobody's secret is that long.
var errTooLong = errors.New("the secret is too long; nothing was changed")

// askSecret reads a line from the terminal without echo and erases the prompt.
// It takes ctrl+c itself: a program that is killed at a prompt leaves a
// terminal without echo behind.
func askSecret(prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w; give the secret with a -file flag", errNoTerminal)
	}
	defer tty.Close()
	before, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return nil, fmt.Errorf("reading from the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(tty.Fd()), before) }()
	fmt.Fprint(tty, prompt)
	secret, err := secretLine(tty)
	fmt.Fprint(tty, "\r\033[K")
	return secret, err
}

// mostSecret is the longest secret that is taken, in bytes.
const mostSecret = 4096

// secretLine reads to the end of the line: backspace takes a character back,
// ctrl+u all of them, ctrl+c and ctrl+d give up.
func secretLine(r io.Reader) ([]byte, error) {
	line := make([]byte, 0, mostSecret) // never outgrown: no copy is left behind
	one := make([]byte, 1)
	for len(line) < mostSecret {
		if _, err := io.ReadFull(r, one); err != nil {
			clear(line)
			return nil, fmt.Errorf("reading from the terminal: %w", err)
		}
		switch c := one[0]; c {
		case '\r', '\n':
			return line, nil
		case 0x03, 0x04:
			clear(line)
			return nil, errGivenUp
		case 0x15:
			line = line[:0]
		case 0x08, 0x7f:
			_, size := utf8.DecodeLastRune(line)
			line = line[:len(line)-size]
		default:
			line = append(line, c)
		}
	}
	clear(line)
	return nil, errTooLong
}

// newSecret takes a new secret from a file, or asks twice. A secret that does
// not pass the check is refused before it is asked for again.
func (b *builder) newSecret(path, prompt string, check func([]byte) error) ([]byte, error) {
	first, err := b.secret(path, func() ([]byte, error) { return askSecret(prompt + ": ") })
	if err == nil {
		err = check(first)
	}
	if err == nil && path == "" {
		err = again(first, prompt)
	}
	if err != nil {
		clear(first)
		return nil, err
	}
	return first, nil
}

// again asks for the same secret once more.
func again(first []byte, prompt string) error {
	second, err := askSecret(prompt + ", again: ")
	defer clear(second)
	if err == nil && !bytes.Equal(first, second) {
		err = errors.New("the two entries differ; nothing was changed")
	}
	return err
}

// secret takes a secret from a file ("-" is standard input, which has room for
// one), or asks. An empty file is refused: nobody chose an empty secret.
func (b *builder) secret(path string, ask func() ([]byte, error)) ([]byte, error) {
	if path == "" {
		return ask()
	}
	from, named := b.in, "standard input"
	if path == "-" && b.inRead {
		return nil, fmt.Errorf("%w: only one secret can come from standard input; give the others in files", errUsage)
	}
	if path == "-" {
		b.inRead = true
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%w: reading a secret: %v", errUsage, err)
		}
		defer f.Close()
		from, named = f, path
	}
	raw, err := io.ReadAll(io.LimitReader(from, mostSecret+1))
	secret := bytes.TrimRight(raw, "\r\n")
	switch {
	case err != nil:
		clear(raw)
		return nil, fmt.Errorf("%w: reading a secret: %v", errUsage, err)
	case len(secret) == 0:
		return nil, fmt.Errorf("%w: reading a secret: %s is empty", errUsage, named)
	case len(raw) > mostSecret:
		clear(raw)
		return nil, errTooLong
	}
	return secret, nil
}

// askLine reads one visible line from the terminal.
func askLine(prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", errNoTerminal
	}
	defer tty.Close()
	fmt.Fprint(tty, prompt)
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := tty.Read(one)
		if n == 0 || err != nil || one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	return strings.TrimSpace(string(line)), nil
}
