package sim

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Kind names a fault. The text form is what ParseFault and the command line take.
type Kind string

// Faults of the connection. They match connections, not requests: Method, Path and Skip by path are ignored.
const (
	Refuse           Kind = "refuse"            // the port is closed until the fault is removed
	BadTLS           Kind = "bad-tls"           // the handshake is answered with garbage
	WrongCertificate Kind = "wrong-certificate" // another certificate and key are shown
	AcceptHang       Kind = "accept-hang"       // the connection is accepted and nothing is ever read
)

// Faults before any effect.
const (
	ResetBefore   Kind = "reset-before"    // reset when the request line has arrived, before its body
	ResetMiddle   Kind = "reset-middle"    // reset after half of the body
	ResetAfter    Kind = "reset-after"     // reset when the whole request has arrived; it is not processed
	Redirect301   Kind = "301"             // nginx redirect to the same path, HTML
	Redirect302   Kind = "302"             // likewise
	Redirect307   Kind = "307"             // likewise; clients that follow repeat the body
	Redirect308   Kind = "308"             // likewise
	Status400     Kind = "400"             // envelope, a proven refusal unless another id is given
	Status401     Kind = "401"             // envelope
	Status403     Kind = "403"             // envelope
	Status404     Kind = "404"             // envelope
	Status409     Kind = "409"             // envelope
	Status422     Kind = "422"             // envelope with an id that the package does not have
	Status429     Kind = "429"             // envelope with an id that the package does not have, Retry-After
	Proxy         Kind = "proxy"           // 4xx of a proxy in between: HTML, no envelope (Status, 403 by default)
	Status500     Kind = "500"             // envelope, nothing written
	Status502     Kind = "502"             // HTML, nothing written
	Status503     Kind = "503"             // envelope, nothing written
	Fatal         Kind = "fatal"           // PHP fatal error text, nothing written
	ReadOnlyMode  Kind = "read-only"       // read-only mode is switched on when the request arrives, and stays on
	APIDisabled   Kind = "disabled"        // the API is switched off when the request arrives, and stays off
	Unavailable   Kind = "unavailable"     // 503 while the package is being updated
	WriteLock     Kind = "write-lock"      // 503 after waiting for the lock (Delay, 61 s by default)
	NoEffect      Kind = "no-effect"       // 200 with the new values, nothing stored
	DropBeforeRun Kind = "drop-before-run" // the connection is closed without an answer and nothing is done
)

// Faults after (or with) an effect.
const (
	CommitThenDrop   Kind = "commit-then-drop"   // done; connection closed without an answer
	CommitThenHang   Kind = "commit-then-hang"   // done; no answer until the client gives up
	CommitThenReset  Kind = "commit-then-reset"  // done; connection reset
	CutHeader        Kind = "cut-header"         // done; the answer ends in its header
	CutBody          Kind = "cut-body"           // done; the answer ends in its body
	Trickle          Kind = "trickle"            // done; the body comes a byte at a time (Delay between bytes)
	Status500Commit  Kind = "500-commit"         // done; envelope
	Status502Commit  Kind = "502-commit"         // done; HTML
	Status503Commit  Kind = "503-commit"         // done; envelope
	WrongShape       Kind = "wrong-shape"        // done; 200 with data of another shape
	WrongType        Kind = "wrong-type"         // done; 200 with a login page in HTML
	Partial          Kind = "partial"            // 200 with all new values, only a part of them stored
	LostUpdate       Kind = "lost-update"        // done and answered; then another writer puts its older copy back
	QueueFull        Kind = "queue-full"         // done; 503 too many queued processes, Retry-After
	FailedDependency Kind = "424"                // done; 424 with a perfect envelope
	GatewayTimeout   Kind = "504"                // 504 HTML at once (or after Delay); the request goes on and writes after Late
	LateWrite        Kind = "late-write"         // connection dropped; the request writes its old copy after Late
	AppliedNotLoaded Kind = "applied-not-loaded" // the reload is reported as done and is not
)

// Steps that change nothing by themselves.
const (
	Latency Kind = "latency" // wait for Delay at the point
	Block   Kind = "block"   // stop at the point until the gate is opened
	Call    Kind = "call"    // run Func at the point
)

// Point is a moment in the life of a request.
type Point int

// The points at which Latency, Block and Call act.
const (
	BeforeProcessing Point = iota // the whole request has arrived; the configuration has not been read
	BeforeWrite                   // the configuration was read and changed in the private copy; nothing is written
	BeforeAnswer                  // the work is done; no byte of the answer has been sent
	AfterAnswer                   // the answer has been sent
)

// Fault is a trouble armed for matching requests.
type Fault struct {
	Kind       Kind
	Method     string        // HTTP method, "" for any
	Path       string        // prefix of the path below /api/v2, "" for any
	Skip       int           // let this many matching requests pass first
	Times      int           // how many to hit; 0 means once, negative until removed
	Delay      time.Duration // see the kinds; appliance time
	Late       time.Duration // how late a write comes (LateWrite, GatewayTimeout); appliance time
	Status     int           // for Proxy and the envelope kinds, another status
	ResponseID string        // for the envelope kinds, another response_id
	At         Point         // for Latency, Block and Call
	Gate       *Gate         // for Block
	Func       func(*Admin)  // for Call
}

func (f Fault) delay(otherwise time.Duration) time.Duration {
	if f.Delay > 0 {
		return f.Delay
	}
	return otherwise
}

// ErrFault says that a fault's text is not understood.
var ErrFault = errors.New("sim: unknown fault")

// Kinds lists every fault that can be named in text, in alphabetical order.
func Kinds() []Kind {
	out := []Kind{Refuse, BadTLS, WrongCertificate, AcceptHang, ResetBefore, ResetMiddle, ResetAfter, Redirect301, Redirect302,
		Redirect307, Redirect308, Status400, Status401, Status403, Status404, Status409, Status422, Status429, Proxy, Status500,
		Status502, Status503, Fatal, ReadOnlyMode, APIDisabled, Unavailable, WriteLock, NoEffect, DropBeforeRun, CommitThenDrop,
		CommitThenHang, CommitThenReset, CutHeader, CutBody, Trickle, Status500Commit, Status502Commit, Status503Commit,
		WrongShape, WrongType, Partial, LostUpdate, QueueFull, FailedDependency, GatewayTimeout, LateWrite, AppliedNotLoaded,
		Latency}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// ParseFault reads a fault from text: its kind, then options after commas, as in
// "commit-then-drop,method=PATCH,path=/firewall/alias,times=2,delay=5s,late=10s,skip=1,status=429,id=SOME_ID".
func ParseFault(text string) (Fault, error) {
	parts := strings.Split(text, ",")
	f := Fault{Kind: Kind(strings.TrimSpace(parts[0]))}
	known := false
	for _, k := range Kinds() {
		known = known || k == f.Kind
	}
	if !known {
		return f, fmt.Errorf("%w: %q (choose one of %s)", ErrFault, parts[0], joinKinds())
	}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if err := f.option(name, value); err != nil {
			return f, err
		}
	}
	return f, nil
}

func joinKinds() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return joinTexts(names)
}

func (f *Fault) option(name, value string) (err error) {
	switch name {
	case "method":
		f.Method = upper(value)
	case "path":
		f.Path = value
	case "id":
		f.ResponseID = value
	case "skip":
		f.Skip, err = strconv.Atoi(value)
	case "times":
		f.Times, err = strconv.Atoi(value)
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "delay":
		f.Delay, err = time.ParseDuration(value)
	case "late":
		f.Late, err = time.ParseDuration(value)
	default:
		return fmt.Errorf("%w: option %q (method, path, id, skip, times, status, delay or late)", ErrFault, name)
	}
	if err != nil {
		return fmt.Errorf("%w: option %s=%s: %v", ErrFault, name, value, err)
	}
	return nil
}
