package sim_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/pfsense/sim"
)

// rig is an appliance with a client that trusts it.
type rig struct {
	t      *testing.T
	srv    *sim.Server
	client *http.Client
}

func newRig(t *testing.T, opts sim.Options) *rig {
	t.Helper()
	srv, err := sim.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return rigFor(t, srv)
}

func rigFor(t *testing.T, srv *sim.Server) *rig {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(srv.CertificatePEM())
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	t.Cleanup(func() { tr.CloseIdleConnections(); srv.Close() })
	return &rig{t: t, srv: srv, client: &http.Client{Transport: tr, Timeout: 5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// reply is an answer as far as it came.
type reply struct {
	status int
	id     string
	data   any
	raw    string
	header http.Header
	err    error
}

func (r *rig) do(method, path string, body any) reply {
	return r.doWith(context.Background(), method, path, body)
}

func (r *rig) doWith(ctx context.Context, method, path string, body any) reply {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.srv.URL()+"/api/v2"+path, in)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", r.srv.APIKey())
	req.Header.Set("Accept", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	out := reply{status: resp.StatusCode, raw: string(raw), header: resp.Header, err: err}
	var env struct {
		ID   string `json:"response_id"`
		Data any    `json:"data"`
	}
	if json.Unmarshal(raw, &env) == nil {
		out.id, out.data = env.ID, env.Data
	}
	return out
}

type fields map[string]any

// stored is the description that is kept of the alias that these tests change.
func (r *rig) stored() string {
	a, _ := r.srv.Alias("trusted_hosts")
	return a.Descr
}

const before = "Trusted admin hosts"

// TestFaults sends one change under each fault and looks at what came back and at what was kept.
func TestFaults(t *testing.T) {
	broken := -1 // no complete answer
	cases := []struct {
		fault     string
		status    int
		id        string
		committed bool
		requests  int
	}{
		{"reset-before", broken, "", false, 1},
		{"reset-middle", broken, "", false, 1},
		{"reset-after", broken, "", false, 1},
		{"drop-before-run", broken, "", false, 1},
		{"bad-tls", broken, "", false, 0},
		{"wrong-certificate", broken, "", false, 0},
		{"301", 301, "", false, 1},
		{"302", 302, "", false, 1},
		{"307", 307, "", false, 1},
		{"308", 308, "", false, 1},
		{"400", 400, "FIELD_INVALID_TYPE", false, 1},
		{"401", 401, "AUTH_AUTHENTICATION_FAILED", false, 1},
		{"403", 403, "AUTH_AUTHORIZATION_FAILED", false, 1},
		{"404", 404, "MODEL_OBJECT_NOT_FOUND", false, 1},
		{"409", 409, "MODEL_CANNOT_BE_DELETED_WHILE_REFERENCED", false, 1},
		{"422", 422, "UNPROCESSABLE_ENTITY", false, 1},
		{"429", 429, "TOO_MANY_REQUESTS", false, 1},
		{"400,id=SOMETHING_ELSE,status=418", 418, "SOMETHING_ELSE", false, 1},
		{"proxy", 403, "", false, 1},
		{"proxy,status=407", 407, "", false, 1},
		{"500", 500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", false, 1},
		{"502", 502, "", false, 1},
		{"503", 503, "ENDPOINT_UNAVAILABLE", false, 1},
		{"fatal", 500, "", false, 1},
		{"read-only", 405, "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE", false, 1},
		{"disabled", 503, "ENDPOINT_REST_API_IS_NOT_ENABLED", false, 1},
		{"unavailable", 503, "ENDPOINT_UNAVAILABLE", false, 1},
		{"write-lock,delay=1ms", 503, "MODEL_WRITE_CONFIG_LOCKED", false, 1},
		{"no-effect", 200, "SUCCESS", false, 1},
		{"commit-then-drop", broken, "", true, 1},
		{"commit-then-reset", broken, "", true, 1},
		{"cut-header", broken, "", true, 1},
		{"cut-body", broken, "", true, 1},
		{"trickle,delay=10us", 200, "SUCCESS", true, 1},
		{"500-commit", 500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", true, 1},
		{"502-commit", 502, "", true, 1},
		{"503-commit", 503, "ENDPOINT_UNAVAILABLE", true, 1},
		{"wrong-shape", 200, "SUCCESS", true, 1},
		{"wrong-type", 200, "", true, 1},
		{"queue-full", 503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", true, 1},
		{"424", 424, "DISPATCHER_MISSING_REQUIRED_PACKAGE", true, 1},
		{"504,late=1ms", 504, "", true, 1},
		{"late-write,late=1ms", broken, "", true, 1},
		{"latency,delay=1ms", 200, "SUCCESS", true, 1},
	}
	tried := map[string]bool{}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			f, err := sim.ParseFault(c.fault)
			if err != nil {
				t.Fatal(err)
			}
			tried[string(f.Kind)] = true
			r.srv.Inject(f)
			mark := r.srv.Wire()
			got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "name": "trusted_hosts", "descr": "changed"})
			switch {
			case c.status == broken && got.err == nil:
				t.Errorf("answer %d arrived whole: %s", got.status, got.raw)
			case c.status != broken && (got.err != nil || got.status != c.status || got.id != c.id):
				t.Errorf("got %d %s %v, want %d %s", got.status, got.id, got.err, c.status, c.id)
			}
			if err := r.srv.Wait(timeout(t)); err != nil {
				t.Fatal(err)
			}
			want := before
			if c.committed {
				want = "changed"
			}
			if r.stored() != want {
				t.Errorf("stored %q, want %q", r.stored(), want)
			}
			w := r.srv.Wire().Since(mark)
			if w.Requests != c.requests || w.Mutations != c.requests || (w.Committed == 1) != c.committed {
				t.Errorf("wire %+v", w)
			}
			if w.Connections == 0 || w.BytesIn == 0 && c.requests > 0 {
				t.Errorf("nothing was counted: %+v", w)
			}
		})
	}
	for _, k := range sim.Kinds() {
		switch k {
		case sim.Refuse, sim.AcceptHang, sim.CommitThenHang, sim.Partial, sim.LostUpdate, sim.AppliedNotLoaded:
			continue // each has a test of its own
		}
		if !tried[string(k)] {
			t.Errorf("no case for %q", k)
		}
	}
}

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestRefuse(t *testing.T) {
	r := newRig(t, sim.Options{})
	remove := r.srv.Inject(sim.Fault{Kind: sim.Refuse})
	mark := r.srv.Wire()
	if got := r.do(http.MethodGet, "/firewall/aliases", nil); got.err == nil {
		t.Errorf("a closed port answered %d", got.status)
	}
	if w := r.srv.Wire().Since(mark); w.Connections != 0 || w.BytesIn != 0 {
		t.Errorf("a refused connection was counted: %+v", w)
	}
	remove()
	if got := r.do(http.MethodGet, "/firewall/aliases", nil); got.status != http.StatusOK {
		t.Errorf("after reopening: %d %v", got.status, got.err)
	}
}

func TestHang(t *testing.T) {
	for _, c := range []struct {
		kind   sim.Kind
		stored string
	}{{sim.AcceptHang, before}, {sim.CommitThenHang, "changed"}} {
		r := newRig(t, sim.Options{})
		r.srv.Inject(sim.Fault{Kind: c.kind})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan reply, 1)
		go func() {
			done <- r.doWith(ctx, http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "changed"})
		}()
		for r.srv.Wire().Connections == 0 || r.stored() != c.stored {
			time.Sleep(time.Millisecond)
		}
		select {
		case got := <-done:
			t.Errorf("%s: an answer came: %d %v", c.kind, got.status, got.err)
		case <-time.After(30 * time.Millisecond):
		}
		cancel()
		if got := <-done; !errors.Is(got.err, context.Canceled) {
			t.Errorf("%s: %v", c.kind, got.err)
		}
	}
}

func TestPartial(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.srv.Inject(sim.Fault{Kind: sim.Partial})
	r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "abcdef"})
	if r.stored() != "abc" {
		t.Errorf("stored %q: half of the only changed field should be there", r.stored())
	}
	r.srv.Inject(sim.Fault{Kind: sim.Partial})
	got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "changed", "address": []string{"192.0.2.7"}, "detail": []string{"seven"}})
	shown, _ := json.Marshal(got.data)
	if got.status != http.StatusOK || !strings.Contains(string(shown), `"detail":["seven"]`) {
		t.Fatalf("answer %d %s", got.status, shown)
	}
	a, _ := r.srv.Alias("trusted_hosts")
	if a.Descr != "changed" || len(a.Addresses) != 1 || len(a.Details) != 3 {
		t.Errorf("stored %+v: all but the last field should have changed", a)
	}
}

func TestLostUpdateFault(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.srv.Inject(sim.Fault{Kind: sim.LostUpdate})
	if got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "changed"}); got.status != http.StatusOK {
		t.Fatal(got.status, got.err)
	}
	if r.stored() != before {
		t.Errorf("stored %q: the other writer's copy should be back", r.stored())
	}
}

// TestLoaded follows a change from stored to loaded, and a reload that is reported and never done.
func TestLoaded(t *testing.T) {
	r := newRig(t, sim.Options{})
	change := fields{"id": 2, "name": "blocked_nets", "address": []string{"10.66.0.0/16", "192.0.2.0/24"}, "detail": []string{"a", "b"}}
	if got := r.do(http.MethodPatch, "/firewall/alias", change); got.status != http.StatusOK {
		t.Fatal(got.status, got.raw)
	}
	count := func() int {
		a, _ := r.srv.LoadedAlias("blocked_nets")
		return strings.Count(strings.Join(a.Addresses, " "), "192.0.2.0/24")
	}
	if count() != 0 || strings.Join(r.srv.Pending(), " ") != "aliases" {
		t.Errorf("before the reload: loaded %d, pending %v", count(), r.srv.Pending())
	}
	r.srv.Inject(sim.Fault{Kind: sim.AppliedNotLoaded, Path: "/firewall/apply"})
	got := r.do(http.MethodPost, "/firewall/apply", fields{"async": false})
	if data, _ := got.data.(map[string]any); data["applied"] != true || count() != 0 {
		t.Errorf("a reload that is not done: %v, loaded %d", got.data, count())
	}
	r.do(http.MethodPost, "/firewall/apply", fields{"async": false})
	if count() != 1 || r.srv.Loaded("aliases/alias/2/address") != r.srv.Stored("aliases/alias/2/address") {
		t.Errorf("after the reload: loaded %d", count())
	}
}

// TestGate stops a change at each point and lets another administrator act there.
func TestGate(t *testing.T) {
	for _, c := range []struct {
		at   sim.Point
		want string // description afterwards
	}{
		{sim.BeforeProcessing, "changed"},
		{sim.BeforeWrite, "changed"}, // the private copy overwrites what the other one did meanwhile
		{sim.BeforeAnswer, "by hand"},
	} {
		r := newRig(t, sim.Options{})
		gate := sim.NewGate()
		r.srv.Inject(sim.Fault{Kind: sim.Block, At: c.at, Gate: gate, Method: http.MethodPatch})
		done := make(chan reply, 1)
		go func() { done <- r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "changed"}) }()
		<-gate.Arrived()
		if !r.srv.Admin().SetAliasDescription("trusted_hosts", "by hand") || !r.srv.Admin().SetAliasDescription("nested_hosts", "by hand too") {
			t.Fatal("the other administrator found nothing")
		}
		gate.Open()
		if got := <-done; got.status != http.StatusOK {
			t.Fatal(got.status, got.err)
		}
		if r.stored() != c.want {
			t.Errorf("point %d: stored %q, want %q", c.at, r.stored(), c.want)
		}
		other, _ := r.srv.Alias("nested_hosts")
		if lost := other.Descr == "Nested"; lost != (c.at == sim.BeforeWrite) {
			t.Errorf("point %d: the other change is %q", c.at, other.Descr)
		}
	}
}

// TestHooks lets another administrator shift the ids just before a change is processed, and sees the guard refuse it.
func TestHooks(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.srv.Inject(sim.Fault{Kind: sim.Call, At: sim.BeforeProcessing, Method: http.MethodPatch, Skip: 1,
		Func: func(a *sim.Admin) { a.InsertAlias(0, "newcomer", "192.0.2.9") }})
	if got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "name": "trusted_hosts", "descr": "first"}); got.status != http.StatusOK {
		t.Fatal("the first request passes:", got.status, got.raw)
	}
	got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "name": "trusted_hosts", "descr": "second"})
	if got.id != "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE" || r.stored() != "first" {
		t.Errorf("got %s, stored %q", got.id, r.stored())
	}
	if w := r.srv.Wire(); w.Log[1].Committed || !w.Log[0].Committed || w.Log[0].Faults != nil || w.Log[1].Faults[0] != sim.Call {
		t.Errorf("log %+v", w.Log)
	}
}

// TestAdmin does every edit of another administrator once.
func TestAdmin(t *testing.T) {
	r := newRig(t, sim.Options{})
	a := r.srv.Admin()
	names := func() string {
		var out []string
		got := r.do(http.MethodGet, "/firewall/aliases", nil)
		list, _ := got.data.([]any)
		for _, x := range list {
			out = append(out, x.(map[string]any)["name"].(string)[:3])
		}
		return strings.Join(out, " ")
	}
	steps := []struct {
		do   func() bool
		want string
	}{
		{func() bool { return true }, "web tru blo nes fee dns emp"},
		{func() bool { return a.RenameAlias("web_ports", "xyz_ports") }, "xyz tru blo nes fee dns emp"},
		{func() bool { return a.DeleteAlias("trusted_hosts") }, "xyz blo nes fee dns emp"},
		{func() bool { return a.DuplicateAlias("dns_ports") }, "xyz blo nes fee dns emp dns"},
		{func() bool { return a.MoveAlias("empty_one", 0) }, "emp xyz blo nes fee dns dns"},
		{func() bool { return !a.DeleteAlias("nobody") }, "emp xyz blo nes fee dns dns"},
		{func() bool { return a.SetAliasAddresses("empty_one", []string{"10.0.0.0/8"}, []string{"d"}) }, "emp xyz blo nes fee dns dns"},
	}
	for i, s := range steps {
		if !s.do() {
			t.Errorf("step %d did not find its object", i)
		}
		if got := names(); got != s.want {
			t.Errorf("step %d: %s, want %s", i, got, s.want)
		}
	}
	if got, _ := r.srv.Stored("aliases/alias/0/address").(string); got != "10.0.0.0/8" {
		t.Errorf("address %q", got)
	}
	if !a.EditRule(1700000002, "descr", "edited") || !a.DuplicateRule(1700000002) || !a.MoveRule(1700000005, 0) || !a.DeleteRule(1700000003) ||
		!a.EditForward("Web server", "disabled", "") || !a.EditRoute("10.20.0.0/16", "descr", "x") || !a.EditOverride("www", "ip", "192.0.2.1") {
		t.Error("an edit did not find its object")
	}
	if got := strings.Join(r.srv.Pending(), " "); got != "aliases natconf filter unbound staticroutes" {
		t.Errorf("pending %s", got)
	}
	a.Reload()
	if len(r.srv.Pending()) != 0 {
		t.Errorf("pending after the reload: %v", r.srv.Pending())
	}
}

// TestPeer has a peer put its older aliases back over a change.
func TestPeer(t *testing.T) {
	r := newRig(t, sim.Options{})
	older := r.srv.Admin().Snapshot()
	r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "changed"})
	r.do(http.MethodPatch, "/firewall/rule", fields{"id": 0, "descr": "changed too"})
	r.srv.Admin().Synchronise(older, "aliases")
	if r.stored() != before || r.srv.Stored("filter/rule/0/descr") != "changed too" {
		t.Errorf("alias %q, rule %v", r.stored(), r.srv.Stored("filter/rule/0/descr"))
	}
	r.srv.Admin().Synchronise(older)
	if r.srv.Stored("filter/rule/0/descr") == "changed too" {
		t.Error("a restored backup left the rule changed")
	}
}

// TestKeys makes a key as the console's enrolment may, uses it, and deletes it.
func TestKeys(t *testing.T) {
	r := newRig(t, sim.Options{})
	ask := func(method, path, key string) reply {
		req, err := http.NewRequest(method, r.srv.URL()+"/api/v2"+path, strings.NewReader(`{"descr":"made by a test"}`))
		if err != nil {
			t.Fatal(err)
		}
		if req.SetBasicAuth("admin", "invented-admin-pass"); key != "" {
			req.Header.Del("Authorization")
			req.Header.Set("X-API-Key", key)
		}
		if method != http.MethodPost {
			req.Body, req.ContentLength = http.NoBody, 0
		}
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var env struct{ Data map[string]any }
		_ = json.NewDecoder(resp.Body).Decode(&env)
		return reply{status: resp.StatusCode, data: env.Data}
	}
	made := ask(http.MethodPost, "/auth/key", "").data.(map[string]any)
	key, _ := made["key"].(string)
	if key == "" || made["hash"] != nil {
		t.Fatalf("made %v", made)
	}
	if got := ask(http.MethodGet, "/system/version", key); got.status != http.StatusOK {
		t.Errorf("the new key: %d", got.status)
	}
	if strings.Contains(r.srv.StoredXML(""), key) {
		t.Error("the key itself is stored")
	}
	if got := ask(http.MethodDelete, "/auth/key?id=6", ""); got.status != http.StatusOK {
		t.Errorf("deleting: %d", got.status)
	}
	if got := ask(http.MethodGet, "/system/version", key); got.status != http.StatusUnauthorized {
		t.Errorf("the deleted key: %d", got.status)
	}
}

// TestControlCharacters: they break the stored file, and what then happens depends on the version.
func TestControlCharacters(t *testing.T) {
	for _, p := range sim.Profiles() {
		r := newRig(t, sim.Options{Profile: p})
		got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "bell\a"})
		if r.stored() != before {
			t.Errorf("%s: stored %q", p, r.stored())
		}
		if p == sim.Profile243 {
			if got.status != http.StatusInternalServerError || got.id != "" {
				t.Errorf("%s: %d %s", p, got.status, got.raw)
			}
		} else if got.status != http.StatusOK {
			t.Errorf("%s: %d", p, got.status)
		}
	}
}

// TestHTTP2 speaks the other protocol; faults then abort the stream.
func TestHTTP2(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	if got := r.do(http.MethodGet, "/firewall/alias?id=0", nil); got.status != http.StatusOK {
		t.Fatal(got.status, got.err)
	}
	if log := r.srv.Wire().Log; log[0].Proto != "HTTP/2.0" {
		t.Errorf("protocol %s", log[0].Proto)
	}
	r.srv.Inject(sim.Fault{Kind: sim.CommitThenDrop})
	if got := r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "changed"}); got.err == nil || r.stored() != "changed" {
		t.Errorf("%d %v, stored %q", got.status, got.err, r.stored())
	}
}

func TestParseFault(t *testing.T) {
	got, err := sim.ParseFault("late-write,method=patch,path=/firewall/alias,times=-1,skip=2,delay=5s,late=90s")
	want := sim.Fault{Kind: sim.LateWrite, Method: "PATCH", Path: "/firewall/alias", Times: -1, Skip: 2, Delay: 5 * time.Second, Late: 90 * time.Second}
	if err != nil || got.Kind != want.Kind || got.Method != want.Method || got.Path != want.Path || got.Times != want.Times ||
		got.Skip != want.Skip || got.Delay != want.Delay || got.Late != want.Late {
		t.Errorf("got %+v %v", got, err)
	}
	for _, bad := range []string{"", "nonsense", "504,colour=red", "504,times=two", "504,late=soon"} {
		if _, err := sim.ParseFault(bad); !errors.Is(err, sim.ErrFault) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- sim.Run(ctx, out, sim.RunOptions{Options: sim.Options{Profile: sim.Profile2100}, Faults: []string{"504,times=1"}})
		_ = out.Close()
	}()
	buf := make([]byte, 4096)
	n, err := io.ReadAtLeast(in, buf, 100)
	if err != nil {
		t.Fatal(err)
	}
	text := string(buf[:n])
	cancel()
	rest, _ := io.ReadAll(in)
	text += string(rest)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"REST API 2.10.0", "https://127.0.0.1:", "invented-admin-key", "SPKI SHA-256 ", "504,times=1", "BEGIN CERTIFICATE"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if err := sim.Run(context.Background(), io.Discard, sim.RunOptions{Faults: []string{"nonsense"}}); !errors.Is(err, sim.ErrFault) {
		t.Errorf("a bad fault: %v", err)
	}
	if err := sim.Run(context.Background(), io.Discard, sim.RunOptions{Options: sim.Options{Profile: "9.9.9"}}); !errors.Is(err, sim.ErrProfile) {
		t.Errorf("a bad profile: %v", err)
	}
}

func TestFreshInstall(t *testing.T) {
	r := newRig(t, sim.Options{FreshInstall: true})
	if got := r.do(http.MethodGet, "/firewall/aliases", nil); got.status != http.StatusUnauthorized {
		t.Errorf("a key is not allowed after an installation: %d", got.status)
	}
}

// TestManyAtOnce has readers, writers, other administrators and reloads at the same time; it is for the race detector,
// and checks that no description ever comes from nowhere.
func TestManyAtOnce(t *testing.T) {
	r := newRig(t, sim.Options{Conditions: sim.Conditions{WriteTime: time.Millisecond, ReloadTime: time.Millisecond}})
	work := []func(i int){
		func(i int) {
			r.do(http.MethodPatch, "/firewall/alias", fields{"id": 1, "descr": "one", "apply": i%2 == 0})
		},
		func(int) { r.do(http.MethodGet, "/firewall/aliases", nil) },
		func(int) { r.do(http.MethodPost, "/firewall/apply", fields{"async": true}) },
		func(int) { r.srv.Admin().SetAliasDescription("trusted_hosts", "two") },
		func(int) { _, _ = r.srv.Wire(), r.srv.Pending() },
		func(int) { r.srv.Inject(sim.Fault{Kind: sim.Latency, Delay: time.Microsecond, At: sim.BeforeWrite}) },
	}
	done := make(chan bool)
	for _, w := range work {
		go func() {
			for i := range 10 {
				w(i)
			}
			done <- true
		}()
	}
	for range work {
		<-done
	}
	if err := r.srv.Wait(timeout(t)); err != nil {
		t.Fatal(err)
	}
	if d := r.stored(); d != "one" && d != "two" {
		t.Errorf("stored %q", d)
	}
}
