package sim

import (
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
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

// Gate stops a request until a test lets it go.
type Gate struct {
	once    sync.Once
	arrived chan struct{}
	open    chan struct{}
	opened  sync.Once
}

// NewGate makes a closed gate.
func NewGate() *Gate { return &Gate{arrived: make(chan struct{}), open: make(chan struct{})} }

// Arrived is closed when the first request stands before the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Open lets the waiting request, and every later one, through.
func (g *Gate) Open() { g.opened.Do(func() { close(g.open) }) }

func (g *Gate) pass(done <-chan struct{}) {
	g.once.Do(func() { close(g.arrived) })
	select {
	case <-g.open:
	case <-done:
	}
}

// armed is a fault with what is left of it.
type armed struct {
	Fault
	skip, left int
}

type faultSet struct {
	mu   sync.Mutex
	list []*armed
}

func isConnKind(k Kind) bool {
	return k == Refuse || k == BadTLS || k == WrongCertificate || k == AcceptHang
}

func (fs *faultSet) add(f Fault) *armed {
	a := &armed{Fault: f, skip: f.Skip, left: f.Times}
	if f.Times == 0 {
		a.left = 1
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = append(fs.list, a)
	return a
}

func (fs *faultSet) remove(a *armed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i, x := range fs.list {
		if x == a {
			fs.list = append(fs.list[:i:i], fs.list[i+1:]...)
			return
		}
	}
}

// take returns the faults that hit now and uses them up.
func (fs *faultSet) take(match func(*armed) bool) []*armed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var hit, rest []*armed
	for _, a := range fs.list {
		if !match(a) {
			rest = append(rest, a)
			continue
		}
		if a.skip > 0 {
			a.skip--
			rest = append(rest, a)
			continue
		}
		hit = append(hit, a)
		if a.left > 0 {
			a.left--
		}
		if a.left != 0 {
			rest = append(rest, a)
		}
	}
	fs.list = rest
	return hit
}

func (fs *faultSet) takeConn() *armed {
	taken := false
	hit := fs.take(func(a *armed) bool {
		ok := !taken && isConnKind(a.Kind) && a.Kind != Refuse
		taken = taken || ok
		return ok
	})
	if len(hit) == 0 {
		return nil
	}
	return hit[0]
}

func (fs *faultSet) takeRequest(method, path string) []*armed {
	below := strings.TrimPrefix(path, "/api/v2")
	return fs.take(func(a *armed) bool {
		return !isConnKind(a.Kind) && (a.Method == "" || a.Method == method) && strings.HasPrefix(below, a.Path)
	})
}

func find(faults []*armed, kind Kind) *armed {
	for _, a := range faults {
		if a.Kind == kind {
			return a
		}
	}
	return nil
}

func (s *session) fault(kind Kind) *armed { return find(s.faults, kind) }

// at runs the steps that are armed for a point.
func (srv *Server) at(point Point, faults []*armed) {
	for _, a := range faults {
		if a.At != point {
			continue
		}
		switch a.Kind {
		case Latency:
			_ = srv.clock.Sleep(srv.ctx, a.Delay)
		case Block:
			if a.Gate != nil {
				a.Gate.pass(srv.ctx.Done())
			}
		case Call:
			if a.Func != nil {
				a.Func(srv.Admin())
			}
		}
	}
}

// reachedWrite is called between the reading of the configuration and the writing.
func (s *session) reachedWrite() {
	s.srv.at(BeforeWrite, s.faults)
	for _, kind := range []Kind{LateWrite, GatewayTimeout} {
		if f := s.fault(kind); f != nil {
			_ = s.sleep(f.Late)
		}
	}
}

// refusal is the answer of a fault that comes instead of any work, if one is armed.
func refusal(faults []*armed) (answer, bool) {
	for _, a := range faults {
		if ans, ok := a.instead(); ok {
			return ans, true
		}
	}
	return answer{}, false
}

func (a *armed) instead() (answer, bool) {
	switch a.Kind {
	case Redirect301, Redirect302, Redirect307, Redirect308:
		code, _ := strconv.Atoi(string(a.Kind))
		return stockPage(code), true
	case Proxy:
		code := http.StatusForbidden
		if a.Status != 0 {
			code = a.Status
		}
		return proxyPage(code), true
	case Status502:
		return errorPage(http.StatusBadGateway), true
	case Fatal:
		return fatalPage(), true
	case Status400, Status401, Status403, Status404, Status409, Status422, Status429, Status500, Status503:
		return a.envelope(), true
	}
	return answer{}, false
}

// usual are the ids that the envelope faults carry unless told otherwise.
var usual = map[Kind]apiError{
	Status400:        {status: 400, id: "FIELD_INVALID_TYPE", message: "Field `descr` must be of type `string`"},
	Status401:        {status: 401, id: "AUTH_AUTHENTICATION_FAILED", message: "Authentication failed."},
	Status403:        {status: 403, id: "AUTH_AUTHORIZATION_FAILED", message: "Authorization failed. You do not have sufficient privileges to access this resource."},
	Status404:        {status: 404, id: "MODEL_OBJECT_NOT_FOUND", message: "Object with ID `0` does not exist."},
	Status409:        {status: 409, id: "MODEL_CANNOT_BE_DELETED_WHILE_REFERENCED", message: "Object cannot be deleted because it is referenced by another existing object."},
	Status422:        {status: 422, id: "UNPROCESSABLE_ENTITY", message: "The request was well-formed but could not be processed."},
	Status429:        {status: 429, id: "TOO_MANY_REQUESTS", message: "Too many requests.", retryAfter: 30},
	Status500:        {status: 500, id: "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", message: "Unexpected error."},
	Status503:        {status: 503, id: "ENDPOINT_UNAVAILABLE", message: "This resource is either not installed or is currently updating. Please try again later.", retryAfter: 5},
	Status500Commit:  {status: 500, id: "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", message: "Unexpected error."},
	Status503Commit:  {status: 503, id: "ENDPOINT_UNAVAILABLE", message: "This resource is either not installed or is currently updating. Please try again later.", retryAfter: 5},
	QueueFull:        {status: 503, id: "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", message: "Dispatcher allows for a maximum of `10` processes to be queued at once, try again after `300` seconds.", retryAfter: 300},
	FailedDependency: {status: 424, id: "DISPATCHER_MISSING_REQUIRED_PACKAGE", message: "The requested action requires the `pfSense-pkg-acme` package but it is not installed."},
}

func (a *armed) envelope() answer {
	e := usual[a.Kind]
	if a.Status != 0 {
		e.status = a.Status
	}
	if a.ResponseID != "" {
		e.id = a.ResponseID
	}
	s := &session{cfg: newDict()}
	return s.encode(nil, &e)
}

// afterwards changes the answer of a request whose work is done.
func afterwards(faults []*armed, ans answer) answer {
	for _, a := range faults {
		switch a.Kind {
		case Status500Commit, Status503Commit, QueueFull, FailedDependency:
			if ans.status == http.StatusOK {
				ans = a.envelope()
			}
		case Status502Commit:
			ans = errorPage(http.StatusBadGateway)
		case WrongShape:
			ans.body = []byte(`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":"unexpected"}`)
		case WrongType:
			ans = loginPage()
		}
	}
	return ans
}
