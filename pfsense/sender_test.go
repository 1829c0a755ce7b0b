package pfsense_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/core"
	"countersign/pfsense"
)

const (
	html     = "text/html"
	jsonType = "application/json"
	done     = `{"id":0,"name":"web_servers","descr":"new text"}`
)

// exchangeCase is one behaviour of the other side, and what must be observed.
type exchangeCase struct {
	name     string
	answer   func(io.Writer)
	hang     bool // after the answer, hold the connection until the client gives up
	reset    bool // after the answer, end it with a RST
	deadline time.Duration

	failure   core.FailureClass
	status    int
	enveloped bool
	id        string
}

func says(status int, contentType, body string) func(io.Writer) {
	return func(w io.Writer) { say(w, status, contentType, body) }
}

func raw(text string) func(io.Writer) {
	return func(w io.Writer) { _, _ = io.WriteString(w, text) }
}

func nothing(io.Writer) {}

func exchangeCases() []exchangeCase {
	short := 150 * time.Millisecond
	ok := frame(200, "SUCCESS", done)
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	return []exchangeCase{
		// Whole answers: observed, not judged.
		{name: "success", answer: says(200, jsonType, ok), status: 200, enveloped: true, id: "SUCCESS"},
		{name: "success with charset", answer: says(200, "application/json; charset=UTF-8", ok), status: 200, enveloped: true, id: "SUCCESS"},
		{name: "success in chunks", answer: raw(head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(ok) + "0\r\n\r\n"), status: 200, enveloped: true, id: "SUCCESS"},
		{name: "success until close", answer: raw(head + "\r\n" + ok), status: 200, enveloped: true, id: "SUCCESS"},
		{name: "success after 100", answer: raw("HTTP/1.1 100 Continue\r\n\r\n" + head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(ok), ok)), status: 200, enveloped: true, id: "SUCCESS"},
		{name: "success with links", answer: says(200, jsonType, `{"_links":{},`+ok[1:]), status: 200, enveloped: true, id: "SUCCESS"},
		{name: "2xx in html", answer: says(200, html, "<html>ok</html>"), status: 200},
		{name: "2xx json named html", answer: says(200, html, ok), status: 200},
		{name: "2xx without content type", answer: raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), status: 200},
		{name: "2xx empty", answer: says(200, jsonType, ""), status: 200},
		{name: "204", answer: raw("HTTP/1.1 204 No Content\r\n\r\n"), status: 204},
		{name: "2xx other shape", answer: says(200, jsonType, `{"ok":true}`), status: 200},
		{name: "2xx array", answer: says(200, jsonType, `[1]`), status: 200},
		{name: "2xx code is not the status", answer: says(200, jsonType, frame(201, "SUCCESS", done)), status: 200},
		{name: "2xx code is text", answer: says(200, jsonType, strings.Replace(ok, "200", `"200"`, 1)), status: 200},
		{name: "2xx without data", answer: says(200, jsonType, `{"code":200,"status":"ok","response_id":"SUCCESS","message":""}`), status: 200},
		{name: "2xx twice the code", answer: says(200, jsonType, `{"code":200,`+ok[1:]), status: 200},
		{name: "2xx with a fraction", answer: says(200, jsonType, frame(200, "SUCCESS", `{"id":0.0}`)), status: 200},
		{name: "2xx with a lone surrogate", answer: says(200, jsonType, frame(200, "SUCCESS", `{"descr":"\ud800"}`)), status: 200},
		{name: "2xx with a second text", answer: says(200, jsonType, ok+ok), status: 200},
		{name: "2xx with a value for an id", answer: says(200, jsonType, frame(200, "web servers, new text", done)), status: 200},
		{name: "2xx gzip that was not asked for", answer: gzipped(ok), status: 200},
		{name: "301", answer: raw("HTTP/1.1 301 Moved\r\nLocation: https://127.0.0.1:1/api/v2/firewall/alias/\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"), status: 301},
		{name: "307", answer: raw("HTTP/1.1 307 Again\r\nLocation: /api/v2/firewall/alias\r\nContent-Length: 0\r\n\r\n"), status: 307},
		{name: "400", answer: says(400, jsonType, frame(400, "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE", "[]")), status: 400, enveloped: true, id: "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE"},
		{name: "401", answer: says(401, jsonType, frame(401, "AUTH_AUTHENTICATION_FAILED", "[]")), status: 401, enveloped: true, id: "AUTH_AUTHENTICATION_FAILED"},
		{name: "403", answer: says(403, jsonType, frame(403, "AUTH_AUTHORIZATION_FAILED", "[]")), status: 403, enveloped: true, id: "AUTH_AUTHORIZATION_FAILED"},
		{name: "403 of a proxy", answer: says(403, html, "<html>denied</html>"), status: 403},
		{name: "404 html", answer: says(404, html, "<html>"), status: 404},
		{name: "405 html", answer: says(405, html, "<html>"), status: 405},
		{name: "405 read-only", answer: says(405, jsonType, frame(405, "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE", "[]")), status: 405, enveloped: true, id: "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE"},
		{name: "409", answer: says(409, jsonType, frame(409, "SOME_CONFLICT", "[]")), status: 409, enveloped: true, id: "SOME_CONFLICT"},
		{name: "422", answer: says(422, jsonType, frame(422, "SOMETHING", "[]")), status: 422, enveloped: true, id: "SOMETHING"},
		{name: "424", answer: says(424, jsonType, frame(424, "FAILED_DEPENDENCY", "[]")), status: 424, enveloped: true, id: "FAILED_DEPENDENCY"},
		{name: "429 with Retry-After", answer: raw("HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"), status: 429},
		{name: "500", answer: says(500, jsonType, frame(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", "[]")), status: 500, enveloped: true, id: "ENDPOINT_RECEIVED_UNEXPECTED_ERROR"},
		{name: "500 php text", answer: says(500, html, "PHP ERROR: ..."), status: 500},
		{name: "502", answer: says(502, html, "<html>"), status: 502},
		{name: "503 with Retry-After", answer: raw("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(frame(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", "[]"))) + "\r\n\r\n" + frame(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", "[]")), status: 503, enveloped: true, id: "DISPATCHER_TOO_MANY_QUEUED_PROCESSES"},
		{name: "504", answer: says(504, html, "<html>"), status: 504},

		// Answers that do not come whole.
		{name: "closed without an answer", answer: nothing, failure: core.FailureReset},
		{name: "reset without an answer", answer: nothing, reset: true, failure: core.FailureReset},
		{name: "no answer in time", answer: nothing, hang: true, deadline: short, failure: core.FailureTimeout},
		{name: "header cut", answer: raw("HTTP/1.1 200 OK\r\nContent-Ty"), failure: core.FailureTruncated},
		{name: "header cut and held", answer: raw("HTTP/1.1 200 OK\r\nContent-Ty"), hang: true, deadline: short, failure: core.FailureTimeout},
		{name: "body cut", answer: raw(head + "Content-Length: 500\r\n\r\n" + ok), status: 200, failure: core.FailureTruncated},
		{name: "body cut and held", answer: raw(head + "Content-Length: 500\r\n\r\n" + ok), hang: true, deadline: short, status: 200, failure: core.FailureTimeout},
		{name: "body longer than declared", answer: raw(head + "Content-Length: 20\r\n\r\n" + ok), status: 200},
		{name: "chunks cut", answer: raw(head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(ok)), status: 200, failure: core.FailureTruncated},
		{name: "chunk length is no number", answer: raw(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + ok), status: 200, failure: core.FailureMalformed},
		{name: "unknown transfer encoding", answer: raw(head + "Transfer-Encoding: rot13\r\n\r\n" + ok), failure: core.FailureMalformed},
		{name: "two lengths", answer: raw(head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + ok), failure: core.FailureMalformed},
		{name: "not http", answer: raw("SSH-2.0-OpenSSH\r\n\r\n"), failure: core.FailureMalformed},
		{name: "endless header", answer: raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 128<<10)), failure: core.FailureMalformed},
		{name: "only 1xx", answer: raw(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 9)), failure: core.FailureMalformed},
		{name: "body too large", answer: says(200, jsonType, strings.Repeat(" ", 16<<20+1)), status: 200, failure: core.FailureMalformed},
		{name: "trickle", answer: trickle, deadline: short, status: 200, failure: core.FailureTimeout},
	}
}

func chunked(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func gzipped(body string) func(io.Writer) {
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, body)
	z.Close()
	return func(w io.Writer) {
		fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", packed.Len(), packed.String())
	}
}

// trickle sends a byte now and then until nobody listens.
func trickle(w io.Writer) {
	fmt.Fprint(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
	for range 1000 {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Whatever comes back, one connection and one request reach the wire, and the
// exchange says exactly what was seen.
func TestSenderExchanges(t *testing.T) {
	cases := exchangeCases()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, func(w *wire, conn *tls.Conn) {
				w.request(conn)
				c.answer(conn)
				if c.hang {
					_, _ = conn.Read(make([]byte, 1))
				}
				if c.reset {
					reset(conn)
				}
				_ = conn.CloseWrite()
			})
			cfg := w.config(t)
			if c.deadline > 0 {
				cfg.Deadlines.Whole = c.deadline
			}
			before := time.Now()
			x := sender(t, cfg).Send(context.Background(), patch())

			if x.Sent != core.FullySent || x.Failure != c.failure || x.Status != c.status ||
				x.Enveloped != c.enveloped || x.ResponseID != c.id {
				t.Errorf("got %+v", x)
			}
			if x.LastByteAt.Before(before.Truncate(time.Microsecond)) || x.Elapsed <= 0 {
				t.Errorf("last byte at %v, elapsed %v", x.LastByteAt, x.Elapsed)
			}
			if connections, requests := w.count(); connections != 1 || requests != 1 {
				t.Errorf("%d connections and %d requests on the wire, want one each", connections, requests)
			}
		})
	}
	t.Logf("%d answers", len(cases))
}

func TestSenderRequestBytes(t *testing.T) {
	w := newWire(t, func(w *wire, conn *tls.Conn) {
		if p := conn.ConnectionState().NegotiatedProtocol; p == "h2" {
			t.Error("HTTP/2 was negotiated")
		}
		w.request(conn)
		say(conn, 200, jsonType, frame(200, "SUCCESS", done))
	})
	x := sender(t, w.config(t)).Send(context.Background(), patch())
	if !x.Enveloped || x.Message != "words" || x.Data.(core.Object)["descr"] != "new text" || x.Data.(core.Object)["id"] != int64(0) {
		t.Errorf("got %+v", x)
	}
	want := "PATCH /api/v2/firewall/alias HTTP/1.1\r\n" +
		"Host: " + w.listener.Addr().String() + "\r\n" +
		"User-Agent: countersign\r\n" +
		"Connection: close\r\n" +
		"Content-Length: 48\r\n" +
		"Accept: application/json\r\n" +
		"Content-Type: application/json\r\n" +
		"X-Api-Key: invented-key-000000000000\r\n" +
		"\r\n" + string(patch().Body)
	if got := w.received.String(); got != want {
		t.Errorf("on the wire:\n%q\nwant:\n%q", got, want)
	}
}

// What fails before the first request byte leaves nothing on the wire.
func TestSenderNotSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	closed.Close()
	short := 150 * time.Millisecond
	_, signed := newAuthority(t)
	cases := []struct {
		name    string
		serve   func(net.Conn) // before TLS
		change  func(*pfsense.Config)
		request func(*core.Mutation)
		failure core.FailureClass
		says    string
	}{
		{name: "nobody listens", change: func(c *pfsense.Config) { c.BaseURL = "https://" + closed.Addr().String() },
			failure: core.FailureConnect, says: "refused"},
		{name: "name unknown", change: func(c *pfsense.Config) { c.BaseURL = "https://fw.invalid" },
			failure: core.FailureConnect, says: "fw.invalid"},
		{name: "accepts and hangs", serve: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
			change:  func(c *pfsense.Config) { c.Deadlines.TLS = short },
			failure: core.FailureTLS, says: "in time"},
		{name: "closes at once", serve: func(c net.Conn) {}, failure: core.FailureTLS, says: "closed"},
		{name: "plain http", serve: func(c net.Conn) { say(c, 400, html, "plain HTTP sent to TLS port") },
			failure: core.FailureTLS, says: "does not speak TLS"},
		{name: "TLS 1.1", serve: func(c net.Conn) {
			old := &tls.Config{Certificates: []tls.Certificate{signed.pair}, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
			_ = tls.Server(c, old).Handshake()
		}, failure: core.FailureTLS, says: "TLS 1.2"},
		{name: "another key", change: func(c *pfsense.Config) { c.TLS, _ = pfsense.PinnedKey(strings.Repeat("0", 64)) },
			failure: core.FailureTLS, says: "presented"},
		{name: "unknown authority", change: func(c *pfsense.Config) { c.TLS = pfsense.SystemRoots() },
			failure: core.FailureTLS, says: "pin the firewall's key"},
		{name: "proxy that is not there", change: func(c *pfsense.Config) { c.Proxy = "http://" + closed.Addr().String() },
			failure: core.FailureConnect, says: "refused"},
		{name: "proxy that refuses", change: throughItself, failure: core.FailureConnect, says: "proxy refused",
			serve: func(c net.Conn) { drainHead(c); say(c, 403, html, "<html>") }},
		{name: "proxy that hangs", change: func(c *pfsense.Config) { throughItself(c); c.Deadlines.Connect = short },
			failure: core.FailureConnect, says: "in time", serve: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
		{name: "proxy that closes", change: throughItself, failure: core.FailureConnect, says: "lost", serve: func(c net.Conn) { drainHead(c) }},
		{name: "DELETE", request: func(m *core.Mutation) { m.Method = "DELETE" }, failure: core.FailurePolicy},
		{name: "GET", request: func(m *core.Mutation) { m.Method = "GET" }, failure: core.FailurePolicy},
		{name: "line end in the method", request: func(m *core.Mutation) { m.Method = "PATCH / HTTP/1.1\r\nX: " }, failure: core.FailurePolicy},
		{name: "query", request: func(m *core.Mutation) { m.Path += "?id=0" }, failure: core.FailurePolicy},
		{name: "path outside", request: func(m *core.Mutation) { m.Path = "/index.php" }, failure: core.FailurePolicy},
		{name: "no body", request: func(m *core.Mutation) { m.Body = nil }, failure: core.FailurePolicy},
		{name: "scalar body", request: func(m *core.Mutation) { m.Body = []byte("5") }, failure: core.FailurePolicy},
		{name: "two bodies", request: func(m *core.Mutation) { m.Body = []byte("{}{}") }, failure: core.FailurePolicy},
		{name: "huge body", request: func(m *core.Mutation) { m.Body = []byte(`{"descr":"` + strings.Repeat("a", 1<<20) + `"}`) }, failure: core.FailurePolicy},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := startWire(t, &wire{identity: signed, raw: c.serve, serve: func(_ *wire, conn *tls.Conn) {
				if n, _ := conn.Read(make([]byte, 1)); n > 0 {
					t.Error("a request byte was received")
				}
			}})
			cfg, m := w.config(t), patch()
			if c.change != nil {
				c.change(&cfg)
			}
			if c.request != nil {
				c.request(&m)
			}
			x := sender(t, cfg).Send(context.Background(), m)
			if x.Sent != core.NotSent || x.Failure != c.failure || x.Status != 0 || !x.LastByteAt.IsZero() {
				t.Errorf("got %+v", x)
			}
			if !strings.Contains(x.Message, c.says) || strings.Contains(x.Message, "\n") {
				t.Errorf("message %q, want one line with %q", x.Message, c.says)
			}
		})
	}
}

// The caller's context counts until the first byte, and not after it.
func TestSenderContext(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		w := newWire(t, func(_ *wire, conn *tls.Conn) { _, _ = conn.Read(make([]byte, 1)) })
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if x := sender(t, w.config(t)).Send(ctx, patch()); x.Sent != core.NotSent || x.Failure != core.FailureConnect {
			t.Errorf("got %+v", x)
		}
	})
	t.Run("after", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := newWire(t, func(w *wire, conn *tls.Conn) {
			w.request(conn)
			cancel()
			time.Sleep(50 * time.Millisecond)
			say(conn, 200, jsonType, frame(200, "SUCCESS", done))
		})
		if x := sender(t, w.config(t)).Send(ctx, patch()); x.Sent != core.FullySent || x.Failure != core.FailureNone || !x.Enveloped {
			t.Errorf("got %+v", x)
		}
	})
}

// Claim: no idle connection and no rewindable body makes a second copy of a
// mutation. The same server behaviour makes Go's own transport send two: that
// is the reason for docs/decisions/0005-one-send.md, and shows that this test
// would notice.
func TestNoReplay(t *testing.T) {
	// Each connection answers its first request and keeps open; a second
	// request on it is read whole and answered with a closed connection.
	serve := func(w *wire, conn *tls.Conn) {
		if w.request(conn) == nil {
			return
		}
		sayKeepAlive(conn, 200, jsonType, frame(200, "SUCCESS", "[]"))
		w.request(conn)
	}
	copies := func(w *wire) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Count(w.received.String(), "PATCH ")
	}

	t.Run("http.Transport sends twice", func(t *testing.T) {
		w := newWire(t, serve)
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		defer client.CloseIdleConnections()
		warm, err := client.Get(w.url() + "/api/v2/firewall/aliases")
		must(t, err)
		_, _ = io.Copy(io.Discard, warm.Body)
		warm.Body.Close()
		request, err := http.NewRequest("PATCH", w.url()+patch().Path, bytes.NewReader(patch().Body))
		must(t, err)
		request.Header.Set("Idempotency-Key", "1")
		answer, err := client.Do(request)
		must(t, err)
		answer.Body.Close()
		if n := copies(w); n != 2 {
			t.Errorf("%d copies: this Go no longer replays, look at the decision again", n)
		}
	})
	for name, read := range map[string]bool{"closed after the request was read": true, "closed at once": false} {
		t.Run("a sender sends once, "+name, func(t *testing.T) {
			var connections atomic.Int32
			w := newWire(t, func(w *wire, conn *tls.Conn) {
				switch {
				case connections.Add(1) == 1:
					serve(w, conn)
				case read:
					w.request(conn)
				}
			})
			cfg := w.config(t)
			_, err := reader(t, cfg).Read(context.Background(), "/api/v2/firewall/aliases")
			must(t, err)
			x := sender(t, cfg).Send(context.Background(), patch())
			if x.Sent == core.NotSent || x.Failure == core.FailureNone {
				t.Errorf("got %+v", x)
			}
			want := 0
			if read {
				want = 1
			}
			if n := copies(w); n != want || connections.Load() != 2 {
				t.Errorf("%d connections, %d copies; want the reading's and the sender's own, and %d", connections.Load(), n, want)
			}
		})
	}
}

// A 401 stops everything that shares the key, in both directions, with no
// further connection.
func TestRefusedKeyIsNotTriedAgain(t *testing.T) {
	w := newWire(t, func(w *wire, conn *tls.Conn) {
		w.request(conn)
		say(conn, 401, jsonType, frame(401, "AUTH_AUTHENTICATION_FAILED", "[]"))
	})
	cfg := w.config(t)
	ctx := context.Background()
	if x := sender(t, cfg).Send(ctx, patch()); x.Status != 401 {
		t.Fatalf("got %+v", x)
	}
	if x := sender(t, cfg).Send(ctx, patch()); x.Sent != core.NotSent || x.Failure != core.FailurePolicy {
		t.Errorf("got %+v", x)
	}
	if _, err := reader(t, cfg).Read(ctx, "/api/v2/firewall/aliases"); err == nil {
		t.Error("a reading with a refused key succeeded")
	}
	if connections, _ := w.count(); connections != 1 || !cfg.Key.Refused() {
		t.Errorf("%d connections", connections)
	}
}

// A request that is given up is not delivered afterwards by the kernel. The
// server takes nothing while the sender waits; what it can read later is less
// than the request, and the time of the last byte is the time of giving up.
func TestGivenUpMeansGivenUp(t *testing.T) {
	gaveUp, read := make(chan struct{}), make(chan int64, 1)
	w := newWire(t, func(_ *wire, conn *tls.Conn) {
		<-gaveUp
		n, _ := io.Copy(io.Discard, conn.NetConn())
		read <- n
	})
	cfg := w.config(t)
	cfg.Deadlines.Whole = 300 * time.Millisecond
	m := patch()
	m.Body = []byte(`{"descr":"` + strings.Repeat("a", 1<<20-20) + `"}`)
	before := time.Now()
	x := sender(t, cfg).Send(context.Background(), m)
	close(gaveUp)
	if x.Sent == core.NotSent || x.Failure != core.FailureTimeout && x.Failure != core.FailureWrite {
		t.Errorf("got %+v", x)
	}
	if waited := x.LastByteAt.Sub(before); waited < 250*time.Millisecond {
		t.Errorf("the last byte is said to have left after %v, though it lay in a buffer until the end", waited)
	}
	if n := <-read; n >= int64(len(m.Body)) {
		t.Errorf("%d bytes were delivered after the sender had given up", n)
	}
}

func TestSenderThroughAProxy(t *testing.T) {
	w := newWire(t, func(w *wire, conn *tls.Conn) {
		w.request(conn)
		say(conn, 200, jsonType, frame(200, "SUCCESS", done))
	})
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer proxy.Close()
	go func() {
		client, err := proxy.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		line := make([]byte, len("CONNECT "+w.listener.Addr().String()))
		_, _ = io.ReadFull(client, line)
		server, err := net.Dial("tcp", strings.TrimPrefix(string(line), "CONNECT "))
		if err != nil {
			return
		}
		defer server.Close()
		drainHead(client)
		fmt.Fprint(client, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(server, client) }()
		_, _ = io.Copy(client, server)
	}()
	cfg := w.config(t)
	cfg.Proxy = "http://" + proxy.Addr().String()
	if x := sender(t, cfg).Send(context.Background(), patch()); !x.Enveloped || x.Status != 200 {
		t.Errorf("got %+v", x)
	}
}

// throughItself makes the server its own proxy.
func throughItself(c *pfsense.Config) { c.Proxy = strings.Replace(c.BaseURL, "https:", "http:", 1) }

// drainHead reads up to the empty line.
func drainHead(r io.Reader) {
	var head []byte
	one := make([]byte, 1)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		if _, err := r.Read(one); err != nil {
			return
		}
		head = append(head, one...)
	}
}
