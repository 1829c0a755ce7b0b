package pfsense

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"countersign/core"
)

// brokenConn accepts some bytes and then fails.
type brokenConn struct {
	net.Conn
	takes int
	wrote int
	calls int
}

func (c *brokenConn) SetDeadline(time.Time) error     { return nil }
func (c *brokenConn) SetReadDeadline(time.Time) error { return nil }
func (c *brokenConn) Read([]byte) (int, error)        { return 0, io.EOF }

func (c *brokenConn) Write(p []byte) (int, error) {
	c.calls++
	n := min(c.takes, len(p))
	c.wrote += n
	if n < len(p) {
		return n, errors.New("broken pipe")
	}
	return n, nil
}

// The mark is partly sent for every write that did not return whole, also one
// that claims to have taken nothing; and there is one write, whatever it says.
func TestSendMark(t *testing.T) {
	request := []byte("PATCH / HTTP/1.1\r\n\r\n{}")
	for takes := range len(request) + 1 {
		broken := &brokenConn{takes: takes}
		c := &sendConn{conn: broken, clock: core.SystemClock{}, limits: DefaultDeadlines()}
		x := c.roundTrip(request)

		sent, failure := core.PartlySent, core.FailureWrite
		if takes == len(request) {
			sent, failure = core.FullySent, core.FailureReset
		}
		if x.Sent != sent || x.Failure != failure || x.LastByteAt.IsZero() || broken.calls != 1 || broken.wrote != takes {
			t.Errorf("%d bytes taken: %+v after %d writes", takes, x, broken.calls)
		}
	}
}
