package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// errNoTerminal: there is nobody to ask.
var errNoTerminal = errors.New("no terminal to ask on")

// askSecret reads a line from the terminal without echo and erases the prompt.
func askSecret(prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w; give the secret with a -file flag", errNoTerminal)
	}
	defer tty.Close()
	fmt.Fprint(tty, prompt)
	secret, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprint(tty, "\r\033[K")
	if err != nil {
		return nil, fmt.Errorf("reading from the terminal: %w", err)
	}
	return secret, nil
}

// newSecretFrom takes a new secret from a file, or asks twice. A secret that
// does not pass the check is refused before it is asked for again.
func newSecretFrom(path string, stdin io.Reader, prompt string, check func([]byte) error) ([]byte, error) {
	first, err := secretFrom(path, stdin, func() ([]byte, error) { return askSecret(prompt + ": ") })
	if err == nil && check != nil {
		err = check(first)
	}
	if err != nil || path != "" {
		return first, err
	}
	second, err := askSecret(prompt + ", again: ")
	if err != nil {
		return nil, err
	}
	defer clear(second)
	if !bytes.Equal(first, second) {
		clear(first)
		return nil, errors.New("the two entries differ; nothing was changed")
	}
	return first, nil
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

// secretFrom takes a secret from a file ("-" is standard input), or asks.
func secretFrom(path string, stdin io.Reader, ask func() ([]byte, error)) ([]byte, error) {
	if path == "" {
		return ask()
	}
	var raw []byte
	var err error
	if path == "-" {
		raw, err = io.ReadAll(io.LimitReader(stdin, 4096))
	} else {
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: reading a secret: %v", errUsage, err)
	}
	return bytes.TrimRight(raw, "\r\n"), nil
}
