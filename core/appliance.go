package core

import (
	"context"
	"time"
)

// Reader reads the appliance. It cannot send: reading and sending are
// different types.
type Reader interface {
	// Read fetches the current data of an endpoint path as canon values,
	// strings exactly as the appliance gave them. Errors wrap ErrAppliance.
	Read(ctx context.Context, path string) (any, error)
	// Identify reads which installation this is.
	Identify(ctx context.Context) (ApplianceIdentity, error)
	// Status reads versions, read-only mode and pending changes.
	Status(ctx context.Context) (ApplianceStatus, error)
}

// Sender makes exactly one exchange for one mutation: one fresh connection,
// no redirects, no retry (design section 4, rule 1). It reports what it saw
// and never an error: an error would invite a retry.
type Sender interface {
	Send(ctx context.Context, m Mutation) Exchange
}

// Mutation is one bounded, typed request, built by a capability.
type Mutation struct {
	Method string
	Path   string
	Body   []byte
}

// Exchange is everything observed about one send.
type Exchange struct {
	Sent       SendMark
	Failure    FailureClass // transport-level failure; empty when a whole answer came
	Status     int          // 0 without an answer
	Enveloped  bool         // the API's own envelope, well formed, and its code equals the status
	ResponseID string
	Message    string // the appliance's words, for the screen only; never stored or logged
	Data       any    // the envelope's data, as canon values
	LastByteAt time.Time
	Elapsed    time.Duration
}

// ApplianceStatus is what a read-only probe finds.
type ApplianceStatus struct {
	Version       string // pfSense version
	APIVersion    string // REST API package version
	Pin           string // SHA-256 of the server's public key, hex
	ReadOnly      bool   // the REST API refuses every change
	ReadOnlyKnown bool   // the console's user may see the setting
	// Pending are the changes that wait to be loaded, by subsystem, as the
	// appliance names them. A subsystem that could not be read has no entry.
	Pending  map[Subsystem][]string
	ReadTook time.Duration
	Warnings []string // one line each, for the operator
}

// Subsystem is a part of the appliance that loads what is stored as a step
// of its own (design section 4, rule 7).
type Subsystem string

// The subsystems whose changes need loading.
const (
	LoadsAtOnce Subsystem = ""
	Firewall    Subsystem = "firewall"
	DNSResolver Subsystem = "dns_resolver"
	Routing     Subsystem = "routing"
)

// LoadClaim is what is known about loading a stored change.
type LoadClaim string

// The four facts of design rule 7, and what may come before them.
const (
	LoadAgreed  LoadClaim = "agreed" // in the confirmation; not asked yet
	LoadAsked   LoadClaim = "asked"
	LoadClaimed LoadClaim = "claimed_loaded"
	LoadRefused LoadClaim = "refused"
	LoadUnknown LoadClaim = "unknown"
)

// Loader asks a subsystem to load the stored configuration: sent once, never
// repeated by itself, and only its own answer counts.
type Loader interface {
	Load(ctx context.Context, s Subsystem) (LoadClaim, Exchange)
}
