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

// errNoTerminal: a secret was needed and there is nobody to ask.
var errNoTerminal = errors.New("no terminal to ask on; give the secret with a -file flag")

// askSecret reads a line from the terminal without echo and erases the prompt.
func askSecret(prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
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

// askNewSecret asks twice.
func askNewSecret(prompt string) ([]byte, error) {
	first, err := askSecret(prompt + ": ")
	if err != nil {
		return nil, err
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
		return nil, fmt.Errorf("reading a secret: %w", err)
	}
	return bytes.TrimRight(raw, "\r\n"), nil
}
