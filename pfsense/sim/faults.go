package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

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

// has reports whether a fault waits for something to hit.
func (fs *faultSet) has(a *armed) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Contains(fs.list, a)
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
