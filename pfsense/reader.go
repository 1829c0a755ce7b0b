package pfsense

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"countersign/canon"
	"countersign/core"
)

const (
	apiPrefix      = "/api/v2/"
	mediaJSON      = "application/json"
	userAgent      = "countersign"
	maxHeaderBytes = 64 << 10
)

// Reader makes GET requests to one firewall, and can make no others. It
// implements core.Reader and is safe for concurrent use.
type Reader struct {
	endpoint
	transport *http.Transport
}

// NewReader makes a reader. Errors wrap core.ErrInvalid.
func NewReader(cfg Config) (*Reader, error) {
	e, err := cfg.check()
	if err != nil {
		return nil, err
	}
	return &Reader{endpoint: e, transport: &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := e.dialer.open(ctx)
			if err != nil {
				return nil, err // not conn: a nil *tls.Conn is no nil net.Conn
			}
			return conn, nil
		},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}}, nil
}

// Close closes the idle connection that further readings would use.
func (r *Reader) Close() { r.transport.CloseIdleConnections() }

// Read fetches the current data of an endpoint, whole, as canon values;
// numbers with a fraction are an error. path is /api/v2/..., without a query.
// Errors are *Error.
func (r *Reader) Read(ctx context.Context, path string) (any, error) {
	f, err := r.get(ctx, path, exact)
	if err != nil {
		return nil, err
	}
	return f.data, nil
}

var endpointPath = regexp.MustCompile(`\A/api/v2(/[a-z0-9_]+)+\z`)

// found is what one GET found.
type found struct {
	data any
	pin  canon.Digest // of the server that answered
	took time.Duration
}

func (r *Reader) get(ctx context.Context, path string, n numbers) (found, error) {
	if !endpointPath.MatchString(path) {
		return found{}, failed(Refused, nil, "this is not the path of a reading; a capability of this build is wrong")
	}
	use, err := r.key.admit(ctx)
	if err != nil {
		return found{}, err
	}
	defer use.done()
	start := time.Now()
	a, pin, err := r.fetch(ctx, path)
	if err != nil {
		return found{}, readError(err, path)
	}
	env, ok := a.envelope(n)
	use.answered(a.status, ok)
	if !ok || a.status != http.StatusOK {
		return found{}, answerError(a, env, ok, path)
	}
	return found{data: env.data, pin: pin, took: time.Since(start)}, nil
}

// fetch makes one GET and reads the whole answer. The transport follows no
// redirects and keeps no cookies. It may repeat a GET on a fresh connection
// when an idle one turns out to be closed, which changes nothing.
func (r *Reader) fetch(ctx context.Context, path string) (answer, canon.Digest, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limits.Read)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		return answer{}, canon.Digest{}, err
	}
	r.key.authenticate(request.Header)
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		return answer{}, canon.Digest{}, err
	}
	defer response.Body.Close()
	body, err := readBody(response.Body)
	if err != nil {
		return answer{}, canon.Digest{}, err
	}
	pin, err := peerPin(*response.TLS)
	return answer{response.StatusCode, response.Header.Get("Content-Type"), body}, pin, err
}

func (k *APIKey) authenticate(h http.Header) {
	h.Set("X-Api-Key", k.secret())
	h.Set("Accept", mediaJSON)
	h.Set("User-Agent", userAgent)
}

var errTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxBodyBytes>>20)

func readBody(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxBodyBytes+1))
	if err == nil && len(data) > maxBodyBytes {
		err = errTooLarge
	}
	return data, err
}

// privilege names the right that an endpoint and method need.
func privilege(path, method string) string {
	name := strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(path, apiPrefix))
	return "api-v2-" + name + "-" + strings.ToLower(method)
}

var _ core.Reader = (*Reader)(nil)
