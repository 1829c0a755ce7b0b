package pfsense_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
)

const aliases = "/api/v2/firewall/aliases"

func TestReaderReads(t *testing.T) {
	w := newWire(t, api(map[string]string{
		"GET " + aliases: frame(200, "SUCCESS", `[{"id":0,"name":"cafe\u0301","detail":null,"big":9223372036854775807}]`),
	}))
	r := reader(t, w.config(t))
	for range 2 {
		got, err := r.Read(context.Background(), aliases)
		must(t, err)
		want := []any{core.Object{"id": int64(0), "name": "cafe\u0301", "detail": nil, "big": int64(9223372036854775807)}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v", got)
		}
	}
	one := "GET " + aliases + " HTTP/1.1\r\nHost: " + w.listener.Addr().String() + "\r\n" +
		"User-Agent: countersign\r\nAccept: application/json\r\nX-Api-Key: invented-key-000000000000\r\n\r\n"
	if got := w.received.String(); got != one+one {
		t.Errorf("on the wire:\n%q", got)
	}
}

// Every class of failure gives one line that says what to do, wraps
// core.ErrAppliance, and repeats nothing that the other side said.
func TestReaderFailures(t *testing.T) {
	const canary = "canary-7731"
	page := "<html>" + canary + "</html>"
	words := func(code int, id string) string {
		return strings.Replace(frame(code, id, "[]"), "words", canary, 1)
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	cases := []struct {
		name   string
		answer func(io.Writer)
		short  bool
		class  pfsense.Class
		says   string
	}{
		{"301", says(301, html, page), false, pfsense.NotReloaded, "restart the firewall's web GUI"},
		{"401", says(401, jsonType, words(401, "AUTH_AUTHENTICATION_FAILED")), false, pfsense.BadKey, "KeyAuth"},
		{"401 html", says(401, html, page), false, pfsense.BadKey, "KeyAuth"},
		{"403 privilege", says(403, jsonType, words(403, "AUTH_AUTHORIZATION_FAILED")), false, pfsense.NoPrivilege, "api-v2-firewall-aliases-get"},
		{"403 interface", says(403, jsonType, words(403, "ENDPOINT_INTERFACE_NOT_ALLOWED")), false, pfsense.NoPrivilege, "interface"},
		{"403 access list", says(403, jsonType, words(403, "ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL")), false, pfsense.NoPrivilege, "access list"},
		{"403 other", says(403, jsonType, words(403, "SOME_OTHER")), false, pfsense.NoPrivilege, "SOME_OTHER"},
		{"403 of a proxy", says(403, html, page), false, pfsense.NotTheAPI, "proxy"},
		{"404 html", says(404, html, page), false, pfsense.NoEndpoint, "missing, or older"},
		{"404 envelope", says(404, jsonType, words(404, "MODEL_OBJECT_NOT_FOUND")), false, pfsense.Refused, "MODEL_OBJECT_NOT_FOUND"},
		{"405 html", says(405, html, page), false, pfsense.NotReloaded, "restart the firewall's web GUI"},
		{"406", says(406, jsonType, words(406, "CONTENT_HANDLER_ENCODE_NOT_FOUND")), false, pfsense.Refused, "406"},
		{"500 php", says(500, html, page), false, pfsense.ServerFault, "500"},
		{"500 envelope", says(500, jsonType, words(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR")), false, pfsense.ServerFault, "nothing was changed"},
		{"502", says(502, html, page), false, pfsense.ServerFault, "restarting"},
		{"503 off", says(503, jsonType, words(503, "ENDPOINT_REST_API_IS_NOT_ENABLED")), false, pfsense.Disabled, "switched off"},
		{"503 updating", says(503, jsonType, words(503, "ENDPOINT_UNAVAILABLE")), false, pfsense.Disabled, "updated"},
		{"503 other", says(503, jsonType, words(503, "MODEL_WRITE_CONFIG_LOCKED")), false, pfsense.Disabled, "later"},
		{"504", says(504, html, page), false, pfsense.ServerFault, "180 seconds"},
		{"200 html", says(200, html, page), false, pfsense.NotTheAPI, "web page"},
		{"200 text", says(200, "text/plain", canary), false, pfsense.NotTheAPI, "check the address"},
		{"200 broken", says(200, jsonType, `{"`+canary), false, pfsense.Malformed, "not used"},
		{"200 with a fraction", says(200, jsonType, frame(200, "SUCCESS", `[{"x":0.5}]`)), false, pfsense.Malformed, "exactly"},
		{"200 wrong code", says(200, jsonType, words(500, "SUCCESS")), false, pfsense.Malformed, "not used"},
		{"200 invalid UTF-8", says(200, jsonType, frame(200, "SUCCESS", "\"\xff\"")), false, pfsense.Malformed, "not used"},
		{"too large", says(200, jsonType, strings.Repeat(" ", 16<<20+1)), false, pfsense.Malformed, "rules"},
		{"not http", raw("SSH-2.0-OpenSSH\r\n\r\n"), false, pfsense.Malformed, "rules"},
		{"cut", raw(head + "Content-Length: 500\r\n\r\n{"), false, pfsense.NoConnection, "try again"},
		{"closed", nothing, false, pfsense.NoConnection, "try again"},
		{"trickle", trickle, true, pfsense.Timeout, "in time"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, func(w *wire, conn *tls.Conn) {
				w.request(conn)
				c.answer(conn)
				_ = conn.CloseWrite()
			})
			cfg := w.config(t)
			if c.short {
				cfg.Deadlines.Read = 300 * time.Millisecond
			}
			data, err := reader(t, cfg).Read(context.Background(), aliases)
			checkReadError(t, err, c.class, c.says)
			if data != nil || strings.Contains(err.Error(), canary) {
				t.Errorf("data %v, error %q", data, err)
			}
		})
	}
	t.Logf("%d failures", len(cases))
}

func checkReadError(t *testing.T, err error, class pfsense.Class, says string) {
	t.Helper()
	var e *pfsense.Error
	switch {
	case !errors.As(err, &e) || !errors.Is(err, core.ErrAppliance):
		t.Fatalf("error %v does not wrap core.ErrAppliance", err)
	case e.Class != class:
		t.Errorf("class %s, want %s: %s", e.Class, class, err)
	case !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n"):
		t.Errorf("error %q, want one line with %q", err, says)
	}
}

func TestReaderRefusesOtherPaths(t *testing.T) {
	w := newWire(t, api(nil))
	r := reader(t, w.config(t))
	for _, path := range []string{"", "/", "/index.php", "/api/v2/", "/api/v2/firewall/aliases?limit=1", "/api/v2/../x", "/api/v2/a b", "/api/v2/A", "//api/v2/a", "/api/v2/a\r\nX: y"} {
		_, err := r.Read(context.Background(), path)
		checkReadError(t, err, pfsense.Refused, "capability")
	}
	if connections, _ := w.count(); connections != 0 {
		t.Errorf("%d connections", connections)
	}
}

// A reader obeys its context at every moment.
func TestReaderCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := newWire(t, func(w *wire, conn *tls.Conn) {
		w.request(conn)
		cancel()
		_, _ = conn.Read(make([]byte, 1))
	})
	_, err := reader(t, w.config(t)).Read(ctx, aliases)
	checkReadError(t, err, pfsense.NoConnection, "stopped")
}

// A reader whose idle connection was closed by the server simply reads again.
func TestReaderAfterIdleClose(t *testing.T) {
	w := newWire(t, func(w *wire, conn *tls.Conn) {
		w.request(conn)
		sayKeepAlive(conn, 200, jsonType, frame(200, "SUCCESS", "[]"))
	})
	r := reader(t, w.config(t))
	for range 3 {
		_, err := r.Read(context.Background(), aliases)
		must(t, err)
	}
}

func TestIdentify(t *testing.T) {
	status := "GET /api/v2/status/system"
	ha := "GET /api/v2/system/hasync"
	system := func(id string) string {
		return frame(200, "SUCCESS", `{"netgate_id":`+id+`,"temp_c":41.5,"cpu_load_avg":[8.43,5.91,4.41]}`)
	}
	peer := func(id string) string { return frame(200, "SUCCESS", `{"pfhostid":`+id+`}`) }
	cases := []struct {
		name     string
		bodies   map[string]string
		id, kind string
		class    pfsense.Class
	}{
		{"netgate_id as given", map[string]string{status: system(`"0123\n"`), ha: peer(`"9"`)}, "0123\n", "netgate_id", ""},
		{"pfhostid", map[string]string{status: system(`""`), ha: peer(`"1f2e"`)}, "1f2e", "pfhostid", ""},
		{"null, pfhostid", map[string]string{status: system(`null`), ha: peer(`"1f2e"`)}, "1f2e", "pfhostid", ""},
		{"none at all", map[string]string{status: system(`""`), ha: peer(`null`)}, "", "", pfsense.NoIdentity},
		{"old package", map[string]string{status: system(`""`)}, "", "", pfsense.NoIdentity},
		{"may not read", map[string]string{status: system(`""`), ha: frame(403, "AUTH_AUTHORIZATION_FAILED", "[]")}, "", "", pfsense.NoIdentity},
		{"a number", map[string]string{status: system(`12`), ha: peer(`12`)}, "", "", pfsense.NoIdentity},
		{"no package", nil, "", "", pfsense.NoEndpoint},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWire(t, api(c.bodies))
			id, err := reader(t, w.config(t)).Identify(context.Background())
			if c.class != "" {
				checkReadError(t, err, c.class, "")
				return
			}
			must(t, err)
			pin := pfsense.Fingerprint(w.identity.leaf)
			want := core.ApplianceIdentity{BaseURL: w.url(), TLSMode: "auto", CACertificate: &pin, Installation: c.id, InstallationKind: c.kind}
			if !reflect.DeepEqual(id, want) {
				t.Errorf("got %+v", id)
			}
		})
	}
}
