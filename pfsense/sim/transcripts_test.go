package sim_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/pfsense/sim"
)

// transcript is one recorded exchange with the real package: one a file, named area.scenario.number.step@version.
type transcript struct {
	Name         string `json:"name"`
	Does         string `json:"does"`
	StartsFrom   string `json:"starts_from"`
	Request      recordedRequest
	Response     recordedResponse
	Volatile     []string `json:"volatile"`
	ConfigAfter  string   `json:"config_after"`
	Provenance   string   `json:"provenance"`
	AlsoObserved []string `json:"also_observed_with"`
}

type recordedRequest struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"`
	BodyRaw  *string           `json:"body_raw"`
	BodyB64  string            `json:"body_base64"`
	BodyNote string            `json:"body_note"`
}

type recordedResponse struct {
	Status  *int              `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	BodyRaw *string           `json:"body_raw"`
}

type scenario struct {
	Area       string            `json:"area"`
	Scenario   string            `json:"scenario"`
	StartsFrom string            `json:"starts_from"`
	Steps      []json.RawMessage `json:"steps"`
}

func transcriptDir() string {
	if d := os.Getenv("COUNTERSIGN_TRANSCRIPTS"); d != "" {
		return d
	}
	return filepath.Join("..", "..", "testdata", "pfrest", "transcripts")
}

// depth says how much of a recording holds for a version.
type depth int

const (
	unseen     depth = iota // not observed with this version
	statusOnly              // only status and response_id are known
	full                    // everything
)

// versionPaths answer with the version itself, so a recording shows only one version's content.
var versionPaths = map[string]bool{"/api/v2/system/version": true, "/api/v2/system/restapi/version": true}

// holds says how far the recording holds for a version. withDSCP: there with a further field.
func (tr *transcript) holds(version string) (d depth, withDSCP bool) {
	if _, v, tagged := strings.Cut(tr.Name, "@"); tagged {
		if v == version {
			return full, false
		}
		return unseen, false
	}
	if strings.Contains(tr.Provenance, "pfrest "+version+" ") || strings.HasPrefix(tr.Provenance, "derived") && version == sim.Profile271 {
		return full, false
	}
	for _, also := range tr.AlsoObserved {
		name, note, _ := strings.Cut(also, " ")
		switch {
		case name != version:
		case strings.Contains(note, "further field dscp"):
			return full, true
		case note != "", versionPaths[tr.Request.Path]:
			return statusOnly, false
		default:
			return full, false
		}
	}
	return unseen, false
}

// TestTranscripts replays the recorded exchanges of the real package scenario by scenario and compares.
func TestTranscripts(t *testing.T) {
	dir := transcriptDir()
	var index struct {
		Scenarios map[string]scenario `json:"scenarios"`
	}
	readJSONFile(t, filepath.Join(dir, "index.json"), &index)
	excused := readExcuses(t)
	outcome := map[string][]string{}
	replays := 0
	for _, key := range slices.Sorted(maps.Keys(index.Scenarios)) {
		for _, version := range sim.Profiles() {
			r := &replay{t: t, dir: dir, key: key, version: version, sc: index.Scenarios[key], outcome: outcome}
			r.run()
			replays += r.compared
		}
	}
	agreed, listed := 0, 0
	for _, name := range slices.Sorted(maps.Keys(outcome)) {
		reason, isListed := excused[name]
		if len(outcome[name]) == 0 {
			agreed++
		} else if isListed {
			listed++
		}
		t.Run(name, func(t *testing.T) {
			problems := outcome[name]
			switch {
			case len(problems) == 0 && isListed:
				t.Errorf("agrees now: take it off testdata/disagreements.json (%s)", reason)
			case len(problems) > 0 && !isListed:
				t.Error(strings.Join(problems, "\n"))
			case len(problems) > 0:
				t.Logf("out of scope: %s", reason)
			}
		})
	}
	t.Logf("transcripts: %d files replayed (%d exchanges compared over %d version profiles), %d agree, %d out of scope",
		len(outcome), replays, len(sim.Profiles()), agreed, listed)
	if listed*10 > len(outcome) {
		t.Errorf("%d of %d files are out of scope; at most a tenth may be", listed, len(outcome))
	}
}

func readExcuses(t *testing.T) map[string]string {
	out := map[string]string{}
	readJSONFile(t, filepath.Join("testdata", "disagreements.json"), &out)
	return out
}

func readJSONFile(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// replay runs one scenario against one version.
type replay struct {
	t        *testing.T
	dir      string
	key      string
	version  string
	sc       scenario
	outcome  map[string][]string
	compared int

	srv    *sim.Server
	clock  *sim.ManualClock
	client *http.Client
	pool   *x509.CertPool
}

func (r *replay) run() {
	steps := r.steps()
	if !slices.ContainsFunc(steps, func(tr *transcript) bool { d, _ := tr.holds(r.version); return d != unseen }) {
		return
	}
	cfg, known := startConfig(r.sc.StartsFrom)
	if !known {
		for _, tr := range steps {
			r.problem(tr, "the start %q is not known to this test", r.sc.StartsFrom)
		}
		return
	}
	r.clock = sim.NewManualClock(time.Unix(1796049600, 0))
	srv, err := sim.New(sim.Options{Profile: r.version, Config: cfg, Clock: r.clock, PlainHTTP: true})
	if err != nil {
		r.t.Fatal(err)
	}
	defer srv.Close()
	r.srv = srv
	r.pool = x509.NewCertPool()
	r.pool.AppendCertsFromPEM(srv.CertificatePEM())
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: r.pool}, DisableCompression: true}
	defer tr.CloseIdleConnections()
	r.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if play, ok := plays[r.key]; ok {
		play(r, steps)
		return
	}
	r.each(steps)
}

// steps picks, for each step, the recording that this version has, or the main one.
func (r *replay) steps() []*transcript {
	var out []*transcript
	for _, raw := range r.sc.Steps {
		var names []string
		if json.Unmarshal(raw, &names) != nil {
			names = []string{""}
			if err := json.Unmarshal(raw, &names[0]); err != nil {
				r.t.Fatal(err)
			}
		}
		pick := names[0]
		for _, n := range names {
			if strings.HasSuffix(n, "@"+r.version+".json") {
				pick = n
			}
		}
		tr := &transcript{}
		readJSONFile(r.t, filepath.Join(r.dir, pick), tr)
		out = append(out, tr)
	}
	return out
}

func (r *replay) each(steps []*transcript) {
	for _, tr := range steps {
		r.step(tr)
	}
}

func (r *replay) step(tr *transcript) {
	if set, ok := condition(tr.StartsFrom); ok {
		r.srv.Admin().SetConditions(set)
	}
	r.setClock(tr)
	r.check(tr, r.send(tr))
}

func (r *replay) problem(tr *transcript, format string, args ...any) {
	r.outcome[tr.Name] = append(r.outcome[tr.Name], r.version+": "+fmt.Sprintf(format, args...))
}

// setClock moves the appliance to the second in which the exchange was recorded, as far as the recording shows it.
func (r *replay) setClock(tr *transcript) {
	var latest int64
	if m := timeSent.FindStringSubmatch(string(tr.Request.Body)); m != nil && *tr.Response.Status == http.StatusOK {
		sent, _ := strconv.ParseInt(m[1], 10, 64)
		r.clock.Advance(time.Unix(sent, 0).Sub(r.clock.Now()))
		return
	}
	for _, m := range timeShown.FindAllStringSubmatch(string(tr.Response.Body), -1) {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		latest = max(latest, n)
	}
	if latest > 0 {
		r.clock.Advance(time.Unix(latest, 0).Sub(r.clock.Now()))
	}
}

var timeShown = regexp.MustCompile("(?:\"(?:tracker|created_time|updated_time|time)\": ?|current value `)(179[0-9]{7})\\b")

var timeSent = regexp.MustCompile(`"created_time": ?(179[0-9]{7})\b`)

// received is what came back.
type received struct {
	status int // 0 if no answer came
	header http.Header
	body   []byte
}

func (r *replay) send(tr *transcript) received {
	if strings.HasPrefix(tr.Name, "transport.wire.") {
		return r.sendRaw(tr)
	}
	done := make(chan received, 1)
	go func() { done <- r.exchange(context.Background(), tr) }()
	return r.await(done)
}

// await waits for an answer, moving the clock on while everybody waits for it.
func (r *replay) await(done chan received) received {
	for {
		select {
		case got := <-done:
			return got
		case <-time.After(2 * time.Millisecond):
			if r.clock.Sleepers() > 1 {
				r.clock.Advance(time.Second)
			}
		}
	}
}

func (r *replay) exchange(ctx context.Context, tr *transcript) received {
	base := r.srv.URL()
	if strings.Contains(tr.StartsFrom, "plain-HTTP listener") {
		base = r.srv.PlainURL()
	}
	target := base + strings.ReplaceAll(tr.Request.Path, " ", "%20")
	req, err := http.NewRequestWithContext(ctx, tr.Request.Method, target, bytes.NewReader(tr.Request.body()))
	if err != nil {
		u := &url.URL{}
		r.problem(tr, "making the request: %v %v", err, u)
		return received{}
	}
	for k, v := range tr.Request.Headers {
		req.Header.Set(k, v)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return received{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.problem(tr, "reading the answer: %v", err)
	}
	if len(resp.TransferEncoding) > 0 {
		resp.Header.Set("Transfer-Encoding", strings.Join(resp.TransferEncoding, ", "))
	}
	return received{resp.StatusCode, resp.Header, body}
}

func (q recordedRequest) body() []byte {
	switch {
	case strings.Contains(q.BodyNote, "5000 values"):
		return manyNetworks()
	case q.BodyB64 != "":
		b, _ := base64.StdEncoding.DecodeString(q.BodyB64)
		return b
	case q.BodyRaw != nil:
		return []byte(*q.BodyRaw)
	case len(q.Body) > 0 && (string(q.Body) != "null" || q.Headers["Content-Type"] != "" && q.Method != http.MethodGet && q.Method != http.MethodDelete):
		var b bytes.Buffer
		_ = json.Compact(&b, q.Body)
		return b.Bytes()
	}
	return nil
}

func manyNetworks() []byte {
	addresses := make([]string, 5000)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
	}
	b, _ := json.Marshal(map[string]any{"id": 2, "address": addresses, "detail": []string{}})
	return b
}

// sendRaw speaks HTTP by hand, for what a client library would not send.
func (r *replay) sendRaw(tr *transcript) received {
	host := strings.TrimPrefix(r.srv.URL(), "https://")
	var conn net.Conn
	var err error
	if strings.HasSuffix(tr.Does, "plain_http_to_tls_port") {
		conn, err = net.Dial("tcp", host)
	} else {
		conn, err = tls.Dial("tcp", host, &tls.Config{RootCAs: r.pool, NextProtos: []string{"http/1.1"}})
	}
	if err != nil {
		r.problem(tr, "connecting: %v", err)
		return received{}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	head, body := rawRequest(tr)
	if _, err := io.WriteString(conn, head); err != nil {
		r.problem(tr, "sending: %v", err)
	}
	in := bufio.NewReader(conn)
	if tr.Request.Headers["Expect"] != "" {
		if line, _ := in.ReadString('\n'); !strings.Contains(line, "100") {
			r.problem(tr, "no interim answer: %q", line)
		}
		_, _ = in.ReadString('\n')
	}
	_, _ = io.WriteString(conn, body)
	if tr.Response.Status == nil {
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		time.Sleep(50 * time.Millisecond)
		_ = r.srv.Wait(ctx)
		return received{}
	}
	resp, err := http.ReadResponse(in, &http.Request{Method: tr.Request.Method})
	if err != nil {
		r.problem(tr, "reading the answer: %v", err)
		return received{}
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	if len(resp.TransferEncoding) > 0 {
		resp.Header.Set("Transfer-Encoding", strings.Join(resp.TransferEncoding, ", "))
	}
	return received{resp.StatusCode, resp.Header, got}
}

var abbreviated = regexp.MustCompile(`a+… \((\d+) times a\)`)

// spellOut writes a text out that the recording abbreviates.
func spellOut(s string) string {
	return abbreviated.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(abbreviated.FindStringSubmatch(m)[1])
		return strings.Repeat("a", n)
	})
}

func rawRequest(tr *transcript) (head, body string) {
	q := tr.Request
	path, proto := spellOut(q.Path), "HTTP/1.1"
	if strings.Contains(tr.Does, "http_1_0") {
		proto = "HTTP/1.0"
	}
	body = string(q.body())
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", q.Method, path, proto)
	for _, k := range slices.Sorted(maps.Keys(q.Headers)) {
		fmt.Fprintf(&b, "%s: %s\r\n", k, spellOut(q.Headers[k]))
	}
	switch {
	case q.Headers["Transfer-Encoding"] == "chunked":
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case q.Headers["Content-Length"] != "":
		// The recording has the declared length but not the white space of the body.
		declared, _ := strconv.Atoi(q.Headers["Content-Length"])
		if missing := declared - len(body); missing > 0 && missing < 1000 && !strings.Contains(tr.Does, "body_shorter") {
			body += strings.Repeat(" ", missing)
		}
	case body != "":
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n", body
}
