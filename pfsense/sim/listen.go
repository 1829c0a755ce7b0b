package sim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// door is the appliance's TLS port. It counts connections, answers plain HTTP as nginx does, and applies the faults of
// connections before TLS begins.
type door struct {
	srv  *Server
	addr string
	out  chan net.Conn
	done chan struct{}

	mu     sync.Mutex
	tcp    net.Listener // nil while the port is closed
	conns  map[net.Conn]struct{}
	closed bool
}

func openDoor(srv *Server, addr string) (*door, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("sim: listening: %w", err)
	}
	d := &door{srv: srv, addr: l.Addr().String(), out: make(chan net.Conn), done: make(chan struct{}), tcp: l, conns: map[net.Conn]struct{}{}}
	go d.acceptAll(l)
	return d, nil
}

func (d *door) acceptAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		cc := &countedConn{Conn: c, log: d.srv.wire, number: d.srv.wire.connected(), closed: d.forget}
		if !d.keep(cc) {
			_ = c.Close()
			return
		}
		go d.enter(cc)
	}
}

// keep remembers a connection so that Close can end it.
func (d *door) keep(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.conns[c] = struct{}{}
	return true
}

func (d *door) forget(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
}

// enter leads a connection through TLS to the web server.
func (d *door) enter(c *countedConn) {
	cfg := d.srv.right.config()
	if f := d.srv.faults.takeConn(); f != nil {
		switch f.Kind {
		case AcceptHang:
			return
		case BadTLS:
			_, _ = c.Write([]byte("\x00\x00garbage instead of a handshake\x00"))
			_ = c.Close()
			return
		case WrongCertificate:
			cfg = d.srv.wrong.config()
		}
	}
	first, err := c.peek()
	if err != nil {
		_ = c.Close()
		return
	}
	if first != 0x16 {
		d.plainHTTP(c)
		return
	}
	select {
	case d.out <- tls.Server(c, cfg):
	case <-d.done:
		_ = c.Close()
	}
}

// plainHTTP answers a client that speaks plain HTTP to the TLS port. Whatever it sent has crossed in clear.
func (d *door) plainHTTP(c *countedConn) {
	buf := make([]byte, 4096)
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = c.Read(buf)
	_, _ = fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nDate: %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		d.srv.clock.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), len(plainHTTPPage), plainHTTPPage)
	_ = c.Close()
}

// Accept gives the web server its next connection.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.out:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

// Addr is the address of the port.
func (d *door) Addr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", d.addr)
	if err != nil {
		return &net.TCPAddr{}
	}
	return a
}

// Close ends the port and every connection.
func (d *door) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	close(d.done)
	if d.tcp != nil {
		_ = d.tcp.Close()
	}
	open := d.conns
	d.conns = nil
	d.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
	return nil
}

// shut closes the port so that connections are refused; connections that are open stay open.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tcp != nil {
		_ = d.tcp.Close()
		d.tcp = nil
	}
}

func (d *door) isShut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tcp == nil
}

// reopen opens the port again under the same address.
func (d *door) reopen() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.tcp != nil {
		return nil
	}
	var l net.Listener
	var err error
	for attempt := 0; attempt < 50; attempt++ {
		if l, err = net.Listen("tcp", d.addr); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return errors.Join(errors.New("sim: reopening the port"), err)
	}
	d.tcp = l
	go d.acceptAll(l)
	return nil
}

// counted finds the counting connection below TLS.
func counted(c net.Conn) *countedConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	cc, _ := c.(*countedConn)
	return cc
}
