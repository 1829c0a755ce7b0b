package sim_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/pfsense/sim"
)

// received is what came back.
type received struct {
	status int // 0 if no answer came
	header http.Header
	body   []byte
}

func (r *replay) send(tr *transcript) received {
	if tr.byHand() {
		return r.sendRaw(tr)
	}
	done := make(chan received, 1)
	go func() { done <- r.exchange(context.Background(), tr) }()
	return r.await(tr, done)
}

// await waits for an answer, moving the clock on while everybody waits for it. Where the recorded answer came at once,
// it is more patient before it moves the clock: the wait seen may be the end of the request before.
func (r *replay) await(tr *transcript, done chan received) received {
	patience := 1
	if tr.Elapsed < 0.5 {
		patience = 50
	}
	waited := 0
	for {
		select {
		case got := <-done:
			return got
		case <-time.After(2 * time.Millisecond):
			if r.clock.Sleepers() <= 1 {
				waited = 0
			} else if waited++; waited >= patience {
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

// clientSets are headers that a client library sets by itself. A recording that has one among those of the request
// was sent by hand.
var clientSets = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect"}

// byHand says that a client library would not send this request as it was recorded.
func (tr *transcript) byHand() bool {
	return tr.http10() || tr.plainToTLS() || abbreviated.MatchString(tr.Request.Path) ||
		slices.ContainsFunc(clientSets, func(h string) bool { return tr.Request.Headers[h] != "" })
}

func (tr *transcript) http10() bool { return strings.Contains(tr.Note, "HTTP/1.0") }

// plainToTLS: nginx says so itself, and the recording has no other sign of it.
func (tr *transcript) plainToTLS() bool {
	return tr.Response.BodyRaw != nil && strings.Contains(*tr.Response.BodyRaw, "plain HTTP request was sent to HTTPS port")
}

// sendRaw speaks HTTP by hand, for what a client library would not send.
func (r *replay) sendRaw(tr *transcript) received {
	host := strings.TrimPrefix(r.srv.URL(), "https://")
	var conn net.Conn
	var err error
	if tr.plainToTLS() {
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
	var arrived *sim.Gate
	if declared := tr.Request.Headers["Content-Length"]; tr.Response.Status == nil && declared == strconv.Itoa(len(body)) {
		arrived = sim.NewGate() // the client leaves when PHP has the whole request, before it has done anything
		r.srv.Inject(sim.Fault{Kind: sim.Block, At: sim.BeforeProcessing, Gate: arrived, Method: tr.Request.Method})
	}
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
		r.leave(conn, arrived)
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

// leave closes the connection without reading an answer, and waits until the appliance is done.
func (r *replay) leave(conn net.Conn, arrived *sim.Gate) {
	if arrived == nil { // a part of a request never gets to PHP, so there is nothing to wait for but a mistake
		_ = conn.Close()
		time.Sleep(50 * time.Millisecond)
	} else {
		<-arrived.Arrived()
		_ = conn.Close()
		arrived.Open()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = r.srv.Wait(ctx)
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
	if tr.http10() {
		proto = "HTTP/1.0"
	}
	body = spaced(string(q.body()))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\n", q.Method, path, proto)
	for _, k := range slices.Sorted(maps.Keys(q.Headers)) {
		fmt.Fprintf(&b, "%s: %s\r\n", k, spellOut(q.Headers[k]))
	}
	switch {
	case q.Headers["Transfer-Encoding"] == "chunked":
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case body != "" && q.Headers["Content-Length"] == "":
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n", body
}

// spaced writes compact JSON with a space after each comma and colon, as it was sent by hand: the declared lengths
// count them.
func spaced(text string) string {
	var b strings.Builder
	inText, escaped := false, false
	for _, c := range text {
		b.WriteRune(c)
		switch {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case !inText && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
