package sim

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Wire is what has arrived at the appliance so far, counted from outside of anything the client says about itself.
type Wire struct {
	Connections int   // TCP connections accepted
	Requests    int   // requests whose head has arrived
	Mutations   int   // of these, with a method other than GET
	Committed   int   // requests that replaced the stored configuration
	BytesIn     int64 // bytes received on all connections, TLS included
	BytesOut    int64 // bytes sent
	// Spoken has, for each connection from number 1 on, the bytes that arrived on it inside TLS, whether or not they ever
	// became a request. Handshake, alerts and sealing are not among them. Exact for TLS 1.3; 0 before that.
	Spoken []int64
	Log    []WireRequest
}

// WireRequest is one request as it arrived.
type WireRequest struct {
	Time       time.Time // appliance time of its arrival
	Connection int       // number of its connection, from 1
	Proto      string
	Method     string
	Path       string
	Query      string
	Bytes      int // length of request line, head and body
	Body       []byte
	Status     int  // status of the answer, 0 while there is none or if there never was one
	Committed  bool // it replaced the stored configuration
	Faults     []Kind
}

// Since is what came after an earlier snapshot.
func (w Wire) Since(before Wire) Wire {
	spoken := slices.Clone(w.Spoken)
	for i, n := range before.Spoken {
		spoken[i] -= n
	}
	return Wire{
		Connections: w.Connections - before.Connections, Requests: w.Requests - before.Requests,
		Mutations: w.Mutations - before.Mutations, Committed: w.Committed - before.Committed,
		BytesIn: w.BytesIn - before.BytesIn, BytesOut: w.BytesOut - before.BytesOut,
		Spoken: spoken, Log: w.Log[min(len(before.Log), len(w.Log)):],
	}
}

// wireLog collects. Byte counts are atomic because connections write them.
type wireLog struct {
	mu          sync.Mutex
	connections int
	spoken      []int64
	in, out     atomic.Int64
	requests    []*WireRequest
}

func (l *wireLog) connected() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connections++
	l.spoken = append(l.spoken, 0)
	return l.connections
}

func (l *wireLog) spoke(conn int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoken[conn-1] += bytes
}

func (l *wireLog) begin(now time.Time, conn int, r *http.Request, faults []*armed) *WireRequest {
	rec := &WireRequest{Time: now, Connection: conn, Proto: r.Proto, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Bytes: headLength(r)}
	for _, f := range faults {
		rec.Faults = append(rec.Faults, f.Kind)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, rec)
	return rec
}

// headLength is the length of the request line and the header fields.
func headLength(r *http.Request) int {
	n := len(r.Method) + 1 + len(r.RequestURI) + 1 + len(r.Proto) + 2 + len("Host: ") + len(r.Host) + 2 + 2
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + 2 + len(v) + 2
		}
	}
	return n
}

func (l *wireLog) update(rec *WireRequest, change func(*WireRequest)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(rec)
}

func (l *wireLog) snapshot() Wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := Wire{Connections: l.connections, Requests: len(l.requests), BytesIn: l.in.Load(), BytesOut: l.out.Load(),
		Spoken: slices.Clone(l.spoken)}
	for _, rec := range l.requests {
		if rec.Method != http.MethodGet {
			w.Mutations++
		}
		if rec.Committed {
			w.Committed++
		}
		w.Log = append(w.Log, *rec)
	}
	return w
}

// countedConn counts the bytes of a connection and can give back what was looked at.
type countedConn struct {
	net.Conn
	log    *wireLog
	number int
	peeked []byte
	tls    records
	closed func(net.Conn) // called once, when the connection is closed
	once   sync.Once
}

// Close closes the connection.
func (c *countedConn) Close() error {
	if c.closed != nil {
		c.once.Do(func() { c.closed(c) })
	}
	return c.Conn.Close()
}

func (c *countedConn) Read(p []byte) (int, error) {
	if len(c.peeked) > 0 {
		n := copy(p, c.peeked)
		c.peeked = c.peeked[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.log.in.Add(int64(n))
	if spoken := c.tls.spoken(p[:n]); spoken > 0 {
		c.log.spoke(c.number, spoken)
	}
	return n, err
}

// records follows the TLS records of a client (RFC 8446, section 5) to know how much it says, without their key.
type records struct {
	head     []byte // of the record that has begun, up to five bytes
	rest     int    // what is still to come of that record
	finished bool   // the client's end of the handshake has passed: the first sealed record
}

// spoken is how many bytes of application data the records hold that end or begin in p.
func (r *records) spoken(p []byte) (bytes int64) {
	const headLength, sealed, sealing, alert = 5, 23, 1 + 16, 2
	for len(p) > 0 {
		if r.rest > 0 {
			n := min(r.rest, len(p))
			r.rest, p = r.rest-n, p[n:]
			continue
		}
		n := min(headLength-len(r.head), len(p))
		r.head, p = append(r.head, p[:n]...), p[n:]
		if len(r.head) < headLength {
			return bytes
		}
		r.rest = int(r.head[3])<<8 | int(r.head[4])
		if r.head[0] == sealed {
			if said := r.rest - sealing; r.finished && said != alert {
				bytes += int64(said)
			}
			r.finished = true
		}
		r.head = r.head[:0]
	}
	return bytes
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.log.out.Add(int64(n))
	return n, err
}

// peek looks at the first byte without taking it.
func (c *countedConn) peek() (byte, error) {
	var b [1]byte
	n, err := c.Read(b[:])
	if n == 0 {
		return 0, err
	}
	c.peeked = append(c.peeked, b[0])
	return b[0], nil
}

// reset closes the connection so that the peer sees it reset.
func (c *countedConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
