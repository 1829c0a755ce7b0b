package pfsense

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"countersign/core"
)

// dialer opens verified connections to one firewall. One attempt at a time:
// no second TCP connection is raced against a slow first one.
type dialer struct {
	address string // host:port
	name    string // for the certificate
	proxy   string // host:port, or ""
	limits  Deadlines
	config  func() *tls.Config
}

func newDialer(base string, trust Trust, proxy string, limits Deadlines) (dialer, error) {
	u, err := url.Parse(base)
	if err != nil {
		return dialer{}, badURL("it is not a URL")
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	d := dialer{address: net.JoinHostPort(u.Hostname(), port), name: u.Hostname(), limits: limits}
	d.config = func() *tls.Config { return trust.config(d.name) }
	d.proxy, err = proxyAddress(proxy)
	return d, err
}

func proxyAddress(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%w: a proxy must be http://host:port", core.ErrInvalid)
	}
	return u.Host, nil
}

// open connects, through the proxy if there is one, and finishes the TLS
// handshake. It writes no request byte. Errors are *Error.
func (d dialer) open(ctx context.Context) (*tls.Conn, error) {
	raw, err := d.connect(ctx)
	if err != nil {
		return nil, connectError(err, d.address)
	}
	conn := tls.Client(raw, d.config())
	ctx, cancel := context.WithTimeout(ctx, d.limits.TLS)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, tlsError(err, d.address)
	}
	return conn, nil
}

func (d dialer) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limits.Connect)
	defer cancel()
	direct := net.Dialer{FallbackDelay: -1}
	if d.proxy == "" {
		return direct.DialContext(ctx, "tcp", d.address)
	}
	conn, err := direct.DialContext(ctx, "tcp", d.proxy)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	if err := d.tunnel(conn); err != nil || !stop() {
		conn.Close()
		return nil, errors.Join(err, ctx.Err())
	}
	return conn, nil
}

var errProxy = errors.New("the proxy refused the connection")

// tunnel asks the proxy for a connection. The firewall speaks only after we
// do, so nothing of it can be left in the buffer.
func (d dialer) tunnel(conn net.Conn) error {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", d.address, d.address); err != nil {
		return err
	}
	in := bufio.NewReader(&bounded{from: conn, left: maxHeaderBytes})
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || in.Buffered() > 0 {
		return errProxy
	}
	return nil
}
