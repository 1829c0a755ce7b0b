package sim

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options says which appliance to start. The zero value is a believable 2.7.1 on a free port of the loopback.
type Options struct {
	Profile      string // package version: Profile243, Profile271 (default) or Profile2100
	Addr         string // address of the TLS port; "127.0.0.1:0" if empty
	Config       []byte // config.xml to start from; the built-in one if nil
	Users        []User // passwords and keys of the users in the configuration; those of the built-in one if nil
	User         string // whose key APIKey returns; "admin" if empty
	FreshInstall bool   // only Basic authentication is allowed, as after the package's installation
	PlainHTTP    bool   // also open a plain-HTTP port that redirects to TLS
	Clock        Clock  // RealClock if nil
	Rand         *rand.Rand
	Conditions   Conditions
}

// Server is a running appliance.
type Server struct {
	profile  *profile
	clock    Clock
	state    *state
	users    []User
	user     string
	readings *dict
	right    *identity
	wrong    *identity
	faults   faultSet
	wire     *wireLog
	door     *door
	http     *http.Server
	plain    *http.Server
	plainURL string
	ctx      context.Context
	stop     context.CancelFunc
	running  busy

	randMu sync.Mutex
	rand   *rand.Rand
}

// webWait is how long the web server waits for PHP.
const webWait = 180 * time.Second

// New starts an appliance. Close ends it.
func New(opts Options) (*Server, error) {
	srv, err := build(opts)
	if err != nil {
		return nil, err
	}
	addr := opts.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if srv.door, err = openDoor(srv, addr); err != nil {
		return nil, err
	}
	srv.http = &http.Server{Handler: srv, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }}
	go func() { _ = srv.http.Serve(srv.door) }()
	if opts.PlainHTTP {
		if err := srv.openPlain(); err != nil {
			srv.Close()
			return nil, err
		}
	}
	return srv, nil
}

type connKey struct{}

func build(opts Options) (*Server, error) {
	name := opts.Profile
	if name == "" {
		name = Profile271
	}
	p, err := newProfile(name)
	if err != nil {
		return nil, err
	}
	text := opts.Config
	if text == nil {
		if text, err = readData("seed-config.xml"); err != nil {
			return nil, fmt.Errorf("sim: %w", err)
		}
	}
	cfg, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	srv := &Server{profile: p, clock: opts.Clock, state: newState(cfg), users: opts.Users, user: opts.User, wire: &wireLog{}, rand: opts.Rand}
	if srv.clock == nil {
		srv.clock = RealClock()
	}
	if srv.rand == nil {
		srv.rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if srv.user == "" {
		srv.user = "admin"
	}
	srv.state.conditions = opts.Conditions
	if err := srv.loadSeed(name); err != nil {
		return nil, err
	}
	if opts.FreshInstall {
		setPath(cfg, settingsPath+"/auth_methods", "BasicAuth")
	}
	if srv.right, srv.wrong, err = newIdentities(); err != nil {
		return nil, err
	}
	srv.ctx, srv.stop = context.WithCancel(context.Background())
	return srv, nil
}

func (srv *Server) loadSeed(profile string) error {
	seed, err := readJSON("seed.json")
	if err != nil {
		return err
	}
	srv.readings = subDict(subDict(seed, "readings"), profile)
	if srv.users != nil {
		return nil
	}
	people, _ := seed.vals["users"].([]any)
	for _, x := range people {
		if u, ok := x.(*dict); ok {
			srv.users = append(srv.users, User{Name: u.text("user"), Password: u.text("password"), APIKey: u.text("api_key")})
		}
	}
	return nil
}

// URL is the base address, https://127.0.0.1:port, without the API's path.
func (srv *Server) URL() string { return "https://" + srv.door.addr }

// PlainURL is the address of the plain-HTTP port, empty if there is none.
func (srv *Server) PlainURL() string { return srv.plainURL }

// Profile is the package version that is imitated.
func (srv *Server) Profile() string { return srv.profile.name }

// CertificatePEM is the appliance's certificate.
func (srv *Server) CertificatePEM() []byte { return append([]byte(nil), srv.right.pem...) }

// Fingerprint is the SHA-256 of the certificate's SubjectPublicKeyInfo, in lower-case hex: what a client pins.
func (srv *Server) Fingerprint() string { return srv.right.fingerprint }

// APIKey is a valid key of the console's user.
func (srv *Server) APIKey() string { return srv.KeyOf(srv.user) }

// KeyOf is the key of a user, empty if there is none.
func (srv *Server) KeyOf(user string) string {
	for _, u := range srv.users {
		if u.Name == user {
			return u.APIKey
		}
	}
	return ""
}

// Wire is a snapshot of what has arrived so far.
func (srv *Server) Wire() Wire { return srv.wire.snapshot() }

// Inject arms a fault and returns the function that takes it back.
func (srv *Server) Inject(f Fault) (remove func()) {
	if f.Kind == Refuse {
		srv.door.shut()
		return func() { _ = srv.door.reopen() }
	}
	a := srv.faults.add(f)
	return func() { srv.faults.remove(a) }
}

// ClearFaults takes back every fault and opens the port if it was closed.
func (srv *Server) ClearFaults() error {
	srv.faults.mu.Lock()
	srv.faults.list = nil
	srv.faults.mu.Unlock()
	return srv.door.reopen()
}

// Close ends the appliance: connections are cut, waits end, and no background work is left running.
func (srv *Server) Close() {
	srv.stop()
	_ = srv.door.Close()
	_ = srv.http.Close()
	if srv.plain != nil {
		_ = srv.plain.Close()
	}
	_ = srv.running.wait(context.Background())
}

// Wait returns when no request and no reload is running any more, those included that have outlived their client, or
// when the context is done.
func (srv *Server) Wait(ctx context.Context) error {
	return srv.running.wait(ctx)
}

func (srv *Server) goRun(job func()) {
	srv.running.begin()
	go func() {
		defer srv.running.end()
		job()
	}()
}

func (srv *Server) commit(s *session) {
	srv.state.commit(s.cfg)
	s.changed = true
}

// token is random text of lower-case letters and digits.
func (srv *Server) token(n int) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	srv.randMu.Lock()
	defer srv.randMu.Unlock()
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[srv.rand.IntN(len(letters))]
	}
	return string(b)
}

// uniqueID is an id for a linked rule, in the form of PHP's uniqid.
func (srv *Server) uniqueID() string {
	now := srv.clock.Now()
	srv.randMu.Lock()
	defer srv.randMu.Unlock()
	return fmt.Sprintf("nat_%08x%05x.%08d", now.Unix(), now.Nanosecond()/1000, srv.rand.IntN(100000000))
}

// openPlain opens the plain-HTTP port, which only redirects.
func (srv *Server) openPlain() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("sim: listening: %w", err)
	}
	srv.plainURL = "http://" + l.Addr().String()
	srv.plain = &http.Server{ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := stockPage(http.StatusMovedPermanently)
			a.header.Set("Location", srv.URL()+r.URL.RequestURI())
			a.header.Set("X-Frame-Options", "SAMEORIGIN")
			send(w, r, a)
		})}
	go func() { _ = srv.plain.Serve(l) }()
	return nil
}
