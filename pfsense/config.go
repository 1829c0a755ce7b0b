package pfsense

import (
	"fmt"
	"time"

	"countersign/core"
)

// Config says which firewall to speak to and how.
type Config struct {
	// BaseURL is https://host[:port]; see NormalizeBaseURL.
	BaseURL string
	// TLS says how the server is verified. The zero value means the system's
	// roots; there is no value that means "not at all".
	TLS Trust
	// Key logs in. Readers, senders and loaders of one firewall must share it,
	// so that a refusal met by one stops all.
	Key *APIKey
	// Proxy is an http://host:port to CONNECT through, or "" for none. The
	// environment's proxy settings are never used.
	Proxy string
	// Deadlines are the longest waits; zero members mean DefaultDeadlines.
	Deadlines Deadlines
	// Clock gives the present; nil means the machine's.
	Clock core.Clock
}

// Deadlines are the longest waits of one exchange.
type Deadlines struct {
	// Connect is for the name look-up, the TCP connection and a proxy's answer.
	Connect time.Duration
	// TLS is for the handshake.
	TLS time.Duration
	// Header is from the last request byte to the end of the answer's header.
	Header time.Duration
	// Whole is from the first request byte of a mutation to the last byte of
	// its answer.
	Whole time.Duration
	// Read is for one reading, connection included.
	Read time.Duration
}

// DefaultDeadlines are long, because a short wait makes ambiguity: a write may
// wait 61 seconds for the firewall's lock and 180 for its web server.
func DefaultDeadlines() Deadlines {
	return Deadlines{
		Connect: 10 * time.Second,
		TLS:     10 * time.Second,
		Header:  195 * time.Second,
		Whole:   200 * time.Second,
		Read:    60 * time.Second,
	}
}

func (d Deadlines) orDefault() Deadlines {
	def := DefaultDeadlines()
	pick := func(v *time.Duration, or time.Duration) {
		if *v <= 0 {
			*v = or
		}
	}
	pick(&d.Connect, def.Connect)
	pick(&d.TLS, def.TLS)
	pick(&d.Header, def.Header)
	pick(&d.Whole, def.Whole)
	pick(&d.Read, def.Read)
	return d
}

// endpoint is a checked Config: everything that is common to readers, senders
// and loaders.
type endpoint struct {
	base   string // normalised
	host   string // host[:port] for the Host header and for messages
	trust  Trust
	key    *APIKey
	dialer dialer
	limits Deadlines
	clock  core.Clock
}

// check validates a configuration once. Errors wrap core.ErrInvalid.
func (c Config) check() (endpoint, error) {
	base, err := NormalizeBaseURL(c.BaseURL)
	if err != nil {
		return endpoint{}, err
	}
	if c.Key == nil {
		return endpoint{}, fmt.Errorf("%w: no API key is configured", core.ErrInvalid)
	}
	d, err := newDialer(base, c.TLS, c.Proxy, c.Deadlines.orDefault())
	if err != nil {
		return endpoint{}, err
	}
	e := endpoint{
		base:   base,
		host:   base[len("https://"):],
		trust:  c.TLS,
		key:    c.Key,
		dialer: d,
		limits: c.Deadlines.orDefault(),
		clock:  c.Clock,
	}
	if e.clock == nil {
		e.clock = core.SystemClock{}
	}
	return e, nil
}
