package tui

import (
	"crypto/rand"
	"io"
	"os"
	"time"

	"countersign/core"
)

// Options are what main chooses for the console.
type Options struct {
	// Open opens and starts the engine behind the first frame; until it has
	// ended, nothing but help and leaving works. Where it is nil, Engine is one
	// that was started already.
	Open      Opener
	Engine    Engine
	Appliance string         // host[:port], for the first frame
	Operator  string         // who is asked for a passphrase
	Clock     core.Clock     // the system's where nil
	Zone      *time.Location // in which times are shown; the local one where nil
	ASCII     bool           // marks from ASCII; other characters are spelled out
	NoColor   bool           // also set by NO_COLOR
	Plain     bool           // no escape sequences in what is drawn
	Banner    string         // one line above the list; the demo shows its passphrase there
	Notice    string         // shown first
	// RequestPath names the file for a request that is signed elsewhere; nil
	// where the console writes none.
	RequestPath func(kind core.ProofKind, name string) string
	// Practice arms faults at a simulated firewall; nil for a real one.
	Practice Practice
	// NewKey makes request keys (seed 001); random where nil.
	NewKey func() string
	// Wait returns when every run has ended and is recorded; Run calls it
	// after the screen is closed, still under the program's signals.
	Wait func()
	// Input and Output are the terminal; standard input and output where nil.
	Input  io.Reader
	Output io.Writer
	// Environ looks up the environment; the process's where nil.
	Environ func(string) string
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	if o.Environ("NO_COLOR") != "" {
		o.NoColor = true
	}
	if o.Environ("TERM") == "dumb" {
		o.Plain = true
	}
	if o.NewKey == nil {
		o.NewKey = randomKey
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	return o
}

// randomKey is a request key. Without randomness it is empty, and the engine
// makes one or refuses.
func randomKey() string {
	key, err := core.NewIdentifier(rand.Reader, "request")
	if err != nil {
		return ""
	}
	return key
}
