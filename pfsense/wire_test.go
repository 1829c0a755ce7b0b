package pfsense_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/canon"
	"countersign/core"
	"countersign/pfsense"
)

// identity is a server's certificate, invented for one test.
type identity struct {
	pair tls.Certificate
	leaf *x509.Certificate
}

func newIdentity(t *testing.T) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	// As on a fresh firewall: self-signed, for a name that is not the address,
	// and expired besides.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "pfSense-0123456789abc"},
		DNSNames:     []string{"pfSense-0123456789abc"},
		NotBefore:    time.Now().Add(-48 * time.Hour),
		NotAfter:     time.Now().Add(-24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	return identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf}
}

// newAuthority makes a CA file and a certificate for 127.0.0.1 that it signed.
func newAuthority(t *testing.T) (caFile string, server identity) {
	t.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example CA"},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "fw"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	must(t, err)
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), 0o600))
	return caFile, identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, parsed}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wire is a raw TLS listener: it counts what reaches it, and each test says
// byte for byte what it does.
type wire struct {
	listener net.Listener
	identity identity
	serve    script         // gets a connection after its handshake
	raw      func(net.Conn) // if set, gets the connection before any TLS

	mu          sync.Mutex
	connections int
	received    bytes.Buffer // every decrypted byte of every connection
	done        sync.WaitGroup
}

// script is what the server does with one connection.
type script func(w *wire, conn *tls.Conn)

func newWire(t *testing.T, serve script) *wire {
	t.Helper()
	return startWire(t, &wire{identity: newIdentity(t), serve: serve})
}

func startWire(t *testing.T, w *wire) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w.listener = listener
	w.done.Add(1)
	go w.accept()
	t.Cleanup(func() {
		listener.Close()
		w.done.Wait()
	})
	return w
}

func (w *wire) accept() {
	defer w.done.Done()
	for {
		raw, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		w.connections++
		w.mu.Unlock()
		w.done.Add(1)
		go w.handle(raw)
	}
}

func (w *wire) handle(raw net.Conn) {
	defer w.done.Done()
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
	if w.raw != nil {
		w.raw(raw)
		return
	}
	conn := tls.Server(&recorder{Conn: raw}, &tls.Config{
		Certificates: []tls.Certificate{w.identity.pair}, NextProtos: []string{"h2", "http/1.1"},
	})
	if conn.Handshake() != nil {
		return
	}
	w.serve(w, conn)
}

// recorder only makes sure that the raw connection is reachable for a reset.
type recorder struct{ net.Conn }

// request reads one whole request and records it.
func (w *wire) request(conn *tls.Conn) *http.Request {
	var seen bytes.Buffer
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.received.Write(seen.Bytes())
	}()
	request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &seen)))
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return request
}

// api serves any number of readings on a connection: the status and body of
// each path, 404 in HTML for others.
func api(bodies map[string]string) script {
	return func(w *wire, conn *tls.Conn) {
		for {
			request := w.request(conn)
			if request == nil {
				return
			}
			body, ok := bodies[request.Method+" "+request.URL.Path]
			switch {
			case !ok:
				sayKeepAlive(conn, 404, html, "<html>404</html>")
			default:
				code := 200
				_, _ = fmt.Sscanf(body, `{"code":%d`, &code)
				sayKeepAlive(conn, code, jsonType, body)
			}
		}
	}
}

// count returns the connections accepted and the request lines received.
func (w *wire) count() (connections, requests int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connections, strings.Count(w.received.String(), " HTTP/1.1\r\n")
}

func (w *wire) url() string { return "https://" + w.listener.Addr().String() }

func (w *wire) pin(t *testing.T) pfsense.Trust {
	t.Helper()
	trust, err := pfsense.PinnedKey(pfsense.Fingerprint(w.identity.leaf).String())
	must(t, err)
	return trust
}

// shortly are deadlines that a test can wait for, and that a slow machine does
// not miss by accident.
func shortly() pfsense.Deadlines {
	return pfsense.Deadlines{
		Connect: 5 * time.Second, TLS: 5 * time.Second,
		Header: 5 * time.Second, Whole: 5 * time.Second, Read: 5 * time.Second,
	}
}

func (w *wire) config(t *testing.T) pfsense.Config {
	t.Helper()
	key, err := pfsense.NewAPIKey("invented-key-000000000000")
	must(t, err)
	return pfsense.Config{BaseURL: w.url(), TLS: w.pin(t), Key: key, Deadlines: shortly()}
}

func sender(t *testing.T, cfg pfsense.Config) *pfsense.Sender {
	t.Helper()
	s, err := pfsense.NewSender(cfg)
	must(t, err)
	return s
}

func reader(t *testing.T, cfg pfsense.Config) *pfsense.Reader {
	t.Helper()
	r, err := pfsense.NewReader(cfg)
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

func patch() core.Mutation {
	return core.Mutation{Method: "PATCH", Path: "/api/v2/firewall/alias", Body: []byte(`{"id":0,"name":"web_servers","descr":"new text"}`)}
}

// say writes an answer and its framing.
func say(conn io.Writer, status int, contentType, body string) {
	fmt.Fprintf(conn, "HTTP/1.1 %d Text\r\nServer: nginx\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, contentType, len(body), body)
}

// sayKeepAlive writes an answer and leaves the connection open.
func sayKeepAlive(conn io.Writer, status int, contentType, body string) {
	fmt.Fprintf(conn, "HTTP/1.1 %d Text\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, contentType, len(body), body)
}

// frame is the API's envelope as it writes it.
func frame(code int, id, data string) string {
	return fmt.Sprintf(`{"code":%d,"status":"text","response_id":"%s","message":"words","data":%s}`, code, id, data)
}

// reset ends the TCP connection with a RST.
func reset(conn *tls.Conn) {
	tcp := conn.NetConn().(*recorder).Conn.(*net.TCPConn)
	_ = tcp.SetLinger(0)
	tcp.Close()
}

func sum(data []byte) canon.Digest { return sha256.Sum256(data) }
