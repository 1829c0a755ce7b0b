package core_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/core"
	"countersign/core/canarytest"
	"countersign/pfsense/sim"
)

// The canaries: one for each place where a value can live. What is planted
// is longer where the place allows it (planted below), so that quoting and
// escaping come into play.
const (
	targetCanary      = "TargetQ7mX2kL9vw"
	typedCanary       = "TypedB4nZ8sR1tyu"
	oldCanary         = "OldvalueH6gD3fJ5"
	newCanary         = "NewvalueC9bV2mN7"
	foreignCanary     = "OtheradminP1oK4j"
	addressCanary     = "addressu8y3w5q7r"
	detailCanary      = "DetailW3eR6tY9uI"
	neighbourCanary   = "NeighbourL5kJ2hG"
	neighbourValue    = "NeighvalueT4rF7v"
	passCanary        = "PassphraseX8cV1b"
	wrongPassCanary   = "WrongpassM6nB3vC"
	keyCanary         = "ApikeyZ2xC5vB8nM"
	wrongKeyCanary    = "WrongkeyA1sD4fG7"
	messageCanary     = "MessageQ9wE2rT5y"
	dataCanary        = "ResponsedataU3i8"
	pageCanary        = "ErrorpageO6pA9sD"
	headerCanary      = "HeadervalueF2gH5"
	responseIDCanary  = "responseidj8k1l4"
	readCanary        = "ReadanswerZ7xC1v"
	readNameCanary    = "ReadnameB3nM6qW9"
	requestNameCanary = "MembernameE2rT5y"
	requestCanary     = "BadrequestU8iO1p"
	identityCanary    = "InstallationA4sD"
)

func canaries(t testing.TB) *canarytest.Set {
	t.Helper()
	set, err := canarytest.New(
		canarytest.Canary{Name: "target name", Text: targetCanary},
		canarytest.Canary{Name: "wrongly typed name", Text: typedCanary},
		canarytest.Canary{Name: "old value", Text: oldCanary},
		canarytest.Canary{Name: "new value", Text: newCanary},
		canarytest.Canary{Name: "another admin's value", Text: foreignCanary},
		canarytest.Canary{Name: "address in the target", Text: addressCanary},
		canarytest.Canary{Name: "detail in the target", Text: detailCanary},
		canarytest.Canary{Name: "neighbour name", Text: neighbourCanary},
		canarytest.Canary{Name: "neighbour value", Text: neighbourValue},
		canarytest.Canary{Name: "passphrase", Text: passCanary},
		canarytest.Canary{Name: "wrong passphrase", Text: wrongPassCanary},
		canarytest.Canary{Name: "API key", Text: keyCanary},
		canarytest.Canary{Name: "wrong API key", Text: wrongKeyCanary},
		canarytest.Canary{Name: "answer's message", Text: messageCanary},
		canarytest.Canary{Name: "answer's data", Text: dataCanary},
		canarytest.Canary{Name: "error page", Text: pageCanary},
		canarytest.Canary{Name: "answer's header", Text: headerCanary},
		canarytest.Canary{Name: "answer's response_id", Text: responseIDCanary},
		canarytest.Canary{Name: "reading's answer", Text: readCanary},
		canarytest.Canary{Name: "name in a reading", Text: readNameCanary},
		canarytest.Canary{Name: "name of an unknown member", Text: requestNameCanary},
		canarytest.Canary{Name: "refused request", Text: requestCanary},
		canarytest.Canary{Name: "installation", Text: identityCanary},
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// secrets are the canaries that not even a screen may show.
var secrets = []string{"passphrase", "wrong passphrase", "API key", "wrong API key"}

// planted dresses a canary up as a value that has to be quoted and escaped.
func planted(canary string) string { return `é "` + canary + `" <&> \ ` }

const canaryOperator = "canary.operator"

func canaryPass() []byte      { return []byte("correct " + passCanary + " \"é") }
func wrongCanaryPass() []byte { return []byte("wrong " + wrongPassCanary + " \"é") }

// leakTest is a rig full of canaries, and what was said and written so far.
type leakTest struct {
	*rig
	t     *testing.T
	relay *relay
	all   *canarytest.Set
	// unnamed is without what a screen may name, secret has what it may never show.
	unnamed, secret *canarytest.Set

	mu       sync.Mutex
	searched map[string]int    // how much was searched, by class
	files    map[string]string // size and time of each file that was searched
}

func newLeakTest(t *testing.T) *leakTest {
	appliance, err := sim.New(sim.Options{Users: []sim.User{{Name: "admin", Password: "not used", APIKey: keyCanary}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(appliance.Close)
	l := &leakTest{t: t, all: canaries(t), relay: newRelay(t, appliance), searched: map[string]int{}, files: map[string]string{}}
	l.unnamed, l.secret = l.all.Without("target name", "neighbour name"), l.all
	for _, c := range l.all.Canaries() {
		if !among(secrets, c.Name) {
			l.secret = l.secret.Without(c.Name)
		}
	}
	appliance.Admin().Edit("web GUI", func(c *sim.Config) {
		c.Insert("aliases/alias", 1, "name", targetCanary, "type", "host", "address", addressCanary+".example.net",
			"descr", planted(oldCanary), "detail", planted(detailCanary))
		c.Insert("aliases/alias", 2, "name", neighbourCanary, "type", "host", "address", "192.0.2.77",
			"descr", planted(neighbourValue), "detail", planted(neighbourValue))
	})
	l.rig = newRig(t, rigOptions{simServer: appliance, faultPoint: l.atCommit,
		front: func(*sim.Server) (string, string) { return l.relay.url, l.relay.pin }})
	commitment, err := l.operators(l.store).Enrol(context.Background(), canaryOperator, canaryPass())
	l.must(err)
	l.must(l.store.PinOperator(context.Background(), canaryOperator, commitment))
	return l
}

// search reports every canary of set in data.
func (l *leakTest) search(set *canarytest.Set, class, where string, data []byte) {
	l.t.Helper()
	l.mu.Lock()
	l.searched[class]++
	l.mu.Unlock()
	for _, hit := range set.Find(data) {
		l.t.Errorf("%s: %s holds a canary (%s)", class, where, hit)
	}
}

// The classes of what the program says. What is written anywhere, and every
// error that is not for the screen, holds nothing. An error that goes to the
// screen may name the target to the operator, and a warning its neighbours.
// What a screen shows of a contract is its values, and never a secret.

func (l *leakTest) written(where string, v any) {
	l.t.Helper()
	l.search(l.all, "written", where, spelled(v))
}

func (l *leakTest) screenError(where string, err error) {
	l.t.Helper()
	l.search(l.unnamed, "error on the screen", where, spelled(err))
}

func (l *leakTest) shown(where string, v any) {
	l.t.Helper()
	l.search(l.secret, "shown", where, spelled(v))
}

// refused wants an error of this class from the engine and searches it.
func (l *leakTest) refused(where string, err, class error) {
	l.t.Helper()
	if !errors.Is(err, class) {
		l.t.Errorf("%s: %v, want %v", where, err, class)
	}
	l.screenError(where, err)
}

// spelled is a value in every way that a log could write it; an error with
// everything that it wraps.
func spelled(v any) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v\n%+v\n%#v\n%s\n%q\n", v, v, v, v, v)
	if text, err := json.Marshal(v); err == nil {
		out.Write(text)
	}
	err, isError := v.(error)
	if !isError {
		return out.Bytes()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			out.Write(spelled(cause))
		}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			out.Write(spelled(cause))
		}
	}
	return out.Bytes()
}

// atCommit searches the store's files after every commit, the log and its
// index included.
func (l *leakTest) atCommit(point string) {
	if strings.HasSuffix(point, "after commit") {
		l.searchFolder(filepath.Join(l.dir, "store"), l.all)
	}
}

// searchFolder searches all files that have changed since the last time.
func (l *leakTest) searchFolder(dir string, set *canarytest.Set) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !l.changed(path, d) {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the log of a store that was closed meanwhile
		}
		l.search(set, "file", filepath.Base(path), data)
		l.search(set, "file", "the name of "+filepath.Base(path), []byte(path))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Error(err)
	}
}

func (l *leakTest) changed(path string, d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := fmt.Sprint(info.Size(), info.ModTime())
	before := l.files[path]
	l.files[path] = now
	return before != now
}

// relay stands between the console and the simulator and answers in its place
// where a test wants other words.
type relay struct {
	url, pin string
	proxy    http.Handler
	mu       sync.Mutex
	method   string
	path     string
	answer   http.HandlerFunc
	once     bool
}

func newRelay(t *testing.T, appliance *sim.Server) *relay {
	base, err := url.Parse(appliance.URL())
	if err != nil {
		t.Fatal(err)
	}
	quiet := log.New(io.Discard, "", 0)
	proxy := httputil.NewSingleHostReverseProxy(base)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	proxy.Transport, proxy.ErrorLog = transport, quiet
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	r := &relay{proxy: proxy}
	server := httptest.NewUnstartedServer(r)
	server.Config.ErrorLog = quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(transport.CloseIdleConnections)
	pin := sha256.Sum256(server.Certificate().RawSubjectPublicKeyInfo)
	r.url, r.pin = server.URL, hex.EncodeToString(pin[:])
	return r
}

func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	answer := r.answer
	if answer == nil || request.Method != r.method || !strings.HasPrefix(request.URL.Path, "/api/v2"+r.path) {
		answer = r.proxy.ServeHTTP
	} else if r.once {
		r.answer = nil
	}
	r.mu.Unlock()
	answer(w, request)
}

// instead answers the next such request in the appliance's place.
func (r *relay) instead(method, path string, answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.method, r.path, r.answer, r.once = method, path, answer, true
}

// reads answers every reading of a path until clear.
func (r *relay) reads(path string, answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.method, r.path, r.answer, r.once = http.MethodGet, path, answer, false
}

func (r *relay) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = nil
}

// mangled is the appliance's own answer with other texts in its data.
func (r *relay) mangled(w http.ResponseWriter, request *http.Request) {
	own := httptest.NewRecorder()
	r.proxy.ServeHTTP(own, request)
	var answer map[string]any
	if json.Unmarshal(own.Body.Bytes(), &answer) != nil {
		panic(http.ErrAbortHandler)
	}
	answer["data"] = mangle(answer["data"])
	w.Header().Set("Content-Type", own.Header().Get("Content-Type"))
	w.WriteHeader(own.Code)
	_ = json.NewEncoder(w).Encode(answer)
}

func mangle(v any) any {
	switch x := v.(type) {
	case string:
		return x + readCanary
	case []any:
		for i := range x {
			x[i] = mangle(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = mangle(x[k])
		}
		x[readNameCanary] = readCanary
	}
	return v
}

// envelope is an answer of the API with a canary in every place for a value.
func envelope(status int, id string, data any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Note", headerCanary)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": status, "status": strings.ToLower(http.StatusText(status)),
			"response_id": id, "message": planted(messageCanary), "data": data})
	}
}

// page is an answer of something else.
func page(status int, contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Set-Cookie", "session="+headerCanary)
		w.Header().Set("Location", "https://"+headerCanary+".example.net/")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// garbage is no HTTP; Go's own error about it quotes what it read.
func garbage(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// draftOf prepares a new description of the target.
func (l *leakTest) draftOf(value string) core.Draft {
	l.t.Helper()
	d, err := l.engine.Prepare(context.Background(), "FIREWALL_ALIAS_DESCRIPTION",
		core.Object{"alias_name": targetCanary, "description": value}, "")
	l.must(err)
	l.shown("a draft", d)
	return d
}

// ready carries a new description through both gates, after every wait.
func (l *leakTest) ready(value string) string {
	l.t.Helper()
	ctx := context.Background()
	l.clock.move(past)
	id, err := l.engine.Authorize(ctx, l.draftOf(value), canaryOperator, canaryPass())
	l.must(err)
	l.must(l.engine.Confirm(ctx, id, targetCanary, canaryOperator, canaryPass()))
	return id
}

// watched runs something and searches every step of its progress.
func (l *leakTest) watched(id string, start func() error) core.Progress {
	l.t.Helper()
	steps, stop := l.engine.Subscribe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p := range steps {
			l.shown("progress", p)
			l.search(l.unnamed, "warning on the screen", "progress", []byte(p.Sentence+p.Warning))
		}
	}()
	p := l.run(id, start)
	stop()
	<-done
	if p.Err != nil {
		l.written("the error of a run", p.Err)
	}
	return p
}

func (l *leakTest) sent(id string) core.Progress {
	l.t.Helper()
	return l.watched(id, func() error { return l.engine.Execute(context.Background(), id) })
}

func (l *leakTest) rolledBack(id string) core.Progress {
	l.t.Helper()
	return l.watched(id, func() error { return l.engine.Rollback(context.Background(), id, canaryOperator, canaryPass()) })
}

// conclude observes, once the settle window is over, and concludes.
func (l *leakTest) conclude(id string, o core.Outcome) {
	l.t.Helper()
	l.clock.move(past)
	cmp := l.observe(id)
	l.shown("a comparison", cmp)
	l.refused("a conclusion with a wrong passphrase",
		l.engine.Reconcile(context.Background(), id, o, cmp, canaryOperator, wrongCanaryPass()), core.ErrWrongPassphrase)
	l.must(l.engine.Reconcile(context.Background(), id, o, cmp, canaryOperator, canaryPass()))
}
