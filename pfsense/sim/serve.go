package sim

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	maxLine = 8 << 10   // request line, and one header field
	maxBody = 200 << 20 // declared length of a body
)

// ServeHTTP is the web server in front of PHP: limits, error pages, its own patience, and the faults of the transport.
func (srv *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	srv.running.begin()
	defer srv.running.end()
	clean := cleanPath(r.URL.Path)
	faults := srv.faults.takeRequest(r.Method, clean)
	rec := srv.wire.begin(srv.clock.Now(), connNumber(r), r, faults)
	if srv.resetEarly(w, r, faults) {
		return
	}
	if page, bad := overLimits(r); bad {
		srv.answer(w, r, rec, page, nil)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the body never came: PHP is not called
	}
	srv.wire.update(rec, func(rec *WireRequest) { rec.Body, rec.Bytes = body, rec.Bytes+len(body) })
	if find(faults, ResetAfter) != nil {
		abort(w, true)
		return
	}
	if find(faults, DropBeforeRun) != nil {
		abort(w, false)
		return
	}
	srv.at(BeforeProcessing, faults)
	if ans, ok := refusal(faults); ok {
		srv.answer(w, r, rec, locate(ans, r), nil)
		return
	}
	if page, ok := srv.frontPage(r, clean); ok {
		srv.answer(w, r, rec, page, nil)
		return
	}
	srv.prepare(faults)
	ep := srv.profile.tables.endpoints[clean]
	if ep == nil {
		srv.answer(w, r, rec, srv.profile.notFound(), nil)
		return
	}
	srv.runPHP(w, r, rec, newRequest(r, clean, body), ep, faults)
}

// runPHP hands the request to PHP and waits for it as long as the web server does. PHP goes on in any case.
func (srv *Server) runPHP(w http.ResponseWriter, r *http.Request, rec *WireRequest, req *request, ep *endpoint, faults []*armed) {
	done := make(chan answer, 1)
	srv.goRun(func() { done <- srv.php(req, ep, faults, rec) })
	patience := webWait
	if f := find(faults, GatewayTimeout); f != nil {
		patience = f.Delay
	}
	if find(faults, LateWrite) != nil {
		abort(w, false)
		return
	}
	ctx, cancel := context.WithCancel(srv.ctx)
	defer cancel()
	waited := make(chan struct{})
	go func() {
		if srv.clock.Sleep(ctx, patience) == nil {
			close(waited)
		}
	}()
	select {
	case ans := <-done:
		srv.answer(w, r, rec, ans, faults)
	case <-waited:
		srv.answer(w, r, rec, srv.timeoutPage(faults), nil)
	case <-srv.ctx.Done():
		abort(w, false)
	}
}

// timeoutPage is what the web server says when its patience ends. With the old package's web server the page for it was
// missing, so that it said 404.
func (srv *Server) timeoutPage(faults []*armed) answer {
	if srv.profile.stockErrorPages && find(faults, GatewayTimeout) == nil {
		return stockPage(http.StatusNotFound)
	}
	return errorPage(http.StatusGatewayTimeout)
}

// php runs one request against a private copy of the configuration.
func (srv *Server) php(req *request, ep *endpoint, faults []*armed, rec *WireRequest) answer {
	stored := srv.state.snapshot()
	s := &session{srv: srv, profile: srv.profile, cfg: clone(stored).(*dict), req: req, ep: ep, faults: faults,
		client: client{ip: req.client}}
	ans := s.handle()
	if srv.state.condition().NotReloaded { // the web server's own location, with its own headers
		ans.header.Set("X-Frame-Options", "SAMEORIGIN")
	}
	srv.wire.update(rec, func(rec *WireRequest) { rec.Committed = s.changed })
	if s.changed && find(faults, LostUpdate) != nil {
		srv.state.mu.Lock()
		srv.state.stored = stored
		srv.state.mu.Unlock()
	}
	srv.at(BeforeAnswer, faults)
	return afterwards(faults, ans)
}

// prepare does what some faults want done just before the request is processed.
func (srv *Server) prepare(faults []*armed) {
	if find(faults, ReadOnlyMode) != nil {
		srv.Admin().SetReadOnly(true)
	}
	if find(faults, APIDisabled) != nil {
		srv.Admin().SetAPIEnabled(false)
	}
}

// frontPage is what the web server answers without PHP because of the appliance's condition.
func (srv *Server) frontPage(r *http.Request, clean string) (answer, bool) {
	cond := srv.state.condition()
	if cond.NotReloaded {
		return notReloadedPage(r, srv.profile.tables.endpoints[clean] != nil)
	}
	if cond.PHPDown && srv.profile.tables.endpoints[clean] != nil {
		return errorPage(http.StatusBadGateway), true
	}
	return answer{}, false
}

// notReloadedPage: without the package's own location the web server serves the endpoint's directory.
func notReloadedPage(r *http.Request, known bool) (answer, bool) {
	switch {
	case !known:
		return answer{}, false
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return stockPage(http.StatusMethodNotAllowed), true
	case strings.HasSuffix(r.URL.Path, "/"):
		return answer{}, false
	}
	a := stockPage(http.StatusMovedPermanently)
	to := url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path + "/", RawQuery: r.URL.RawQuery}
	a.header.Set("Location", to.String())
	a.header.Set("X-Frame-Options", "SAMEORIGIN")
	return a, true
}

// cleanPath finds the endpoint: doubled and trailing slashes and /index.php do not matter, case does.
func cleanPath(p string) string {
	p = path.Clean("/" + p)
	return strings.TrimSuffix(p, "/index.php")
}

func overLimits(r *http.Request) (answer, bool) {
	if len(r.RequestURI)+len(r.Method)+len(r.Proto)+2 > maxLine {
		return stockPage(http.StatusRequestURITooLong), true
	}
	for name, values := range r.Header {
		for _, v := range values {
			if len(name)+len(v)+4 > maxLine {
				return stockPage(http.StatusBadRequest), true
			}
		}
	}
	if r.ContentLength > maxBody {
		return stockPage(http.StatusRequestEntityTooLarge), true
	}
	return answer{}, false
}

func newRequest(r *http.Request, clean string, body []byte) *request {
	peer, _, _ := net.SplitHostPort(r.RemoteAddr)
	local := ""
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		local, _, _ = net.SplitHostPort(a.String())
	}
	return &request{method: r.Method, path: clean, query: r.URL.RawQuery, header: r.Header.Clone(), body: body, client: peer, local: local}
}

// locate completes a redirect with where it leads: the same path on the same host.
func locate(a answer, r *http.Request) answer {
	if a.status >= 300 && a.status < 400 {
		a.header.Set("Location", "https://"+r.Host+r.URL.RequestURI())
	}
	return a
}

// answer sends what there is to send, in the way that the armed faults want.
func (srv *Server) answer(w http.ResponseWriter, r *http.Request, rec *WireRequest, a answer, faults []*armed) {
	for _, f := range faults {
		switch f.Kind {
		case CommitThenDrop:
			abort(w, false)
			return
		case CommitThenReset:
			abort(w, true)
			return
		case CommitThenHang:
			srv.hang(r)
			abort(w, false)
			return
		case CutHeader, CutBody:
			cut(w, r, a, f.Kind == CutHeader)
			return
		case Trickle:
			srv.wire.update(rec, func(rec *WireRequest) { rec.Status = a.status })
			srv.trickle(w, r, a, f.delay(100*time.Millisecond))
			return
		}
	}
	srv.wire.update(rec, func(rec *WireRequest) { rec.Status = a.status })
	send(w, r, a)
	srv.at(AfterAnswer, faults)
}

// hang waits until the client has gone or the simulator is closed.
func (srv *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-srv.ctx.Done():
	}
}

func writeHead(w http.ResponseWriter, a answer) {
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	h.Set("Server", "nginx")
	if a.status == http.StatusOK && h.Get("X-Frame-Options") == "" {
		h.Set("Strict-Transport-Security", "max-age=31536000")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	w.WriteHeader(a.status)
}

// send writes an answer as nginx does: pages with their length, PHP's output in chunks and compressed if asked for.
func send(w http.ResponseWriter, r *http.Request, a answer) {
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		writeHead(w, a)
		_, _ = w.Write(a.body)
		return
	}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && a.status == http.StatusOK {
		w.Header().Set("Content-Encoding", "gzip")
		writeHead(w, a)
		flush(w)
		z := gzip.NewWriter(w)
		_, _ = z.Write(a.body)
		_ = z.Close()
		return
	}
	writeHead(w, a)
	flush(w)
	_, _ = w.Write(a.body)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func (srv *Server) trickle(w http.ResponseWriter, r *http.Request, a answer, gap time.Duration) {
	writeHead(w, a)
	for i := range a.body {
		if _, err := w.Write(a.body[i : i+1]); err != nil {
			return
		}
		flush(w)
		if srv.clock.Sleep(r.Context(), gap) != nil {
			return
		}
	}
}

// cut sends a part of the answer and closes the connection: half of the head, or the head and half of the body.
func cut(w http.ResponseWriter, r *http.Request, a answer, inHead bool) {
	conn := hijack(w)
	if conn == nil {
		panic(http.ErrAbortHandler)
	}
	head := "HTTP/1.1 " + strconv.Itoa(a.status) + " " + http.StatusText(a.status) + "\r\nServer: nginx\r\nContent-Type: " +
		a.header.Get("Content-Type") + "\r\nContent-Length: " + strconv.Itoa(len(a.body)) + "\r\nConnection: keep-alive\r\n\r\n"
	if inHead {
		_, _ = io.WriteString(conn, head[:len(head)/2])
	} else {
		_, _ = io.WriteString(conn, head)
		_, _ = conn.Write(a.body[:len(a.body)/2])
	}
	_ = conn.Close()
}

// resetEarly resets the connection before or in the middle of the body.
func (srv *Server) resetEarly(w http.ResponseWriter, r *http.Request, faults []*armed) bool {
	switch {
	case find(faults, ResetBefore) != nil:
	case find(faults, ResetMiddle) != nil:
		_, _ = io.CopyN(io.Discard, r.Body, max(r.ContentLength/2, 0))
	default:
		return false
	}
	abort(w, true)
	return true
}

// abort ends the connection without an answer.
func abort(w http.ResponseWriter, reset bool) {
	conn := hijack(w)
	if conn == nil {
		panic(http.ErrAbortHandler)
	}
	if c := counted(conn); c != nil && reset {
		c.reset()
		return
	}
	_ = conn.Close()
}

func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil || errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return conn
}

func connNumber(r *http.Request) int {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		if cc := counted(c); cc != nil {
			return cc.number
		}
	}
	return 0
}
