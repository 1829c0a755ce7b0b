package pfsense

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"time"

	"countersign/core"
)

// sendConn is the connection of one exchange. It knows how much of the request
// may have left, because everything that leaves goes through it.
type sendConn struct {
	conn   net.Conn
	clock  core.Clock
	limits Deadlines

	mark core.SendMark
	last time.Time // when the last request byte was written
	ends time.Time // of the whole exchange
}

// roundTrip writes the request once and reads the answer.
func (c *sendConn) roundTrip(request []byte) core.Exchange {
	err := c.write(request)
	x := core.Exchange{Sent: c.mark, LastByteAt: c.last}
	if err != nil {
		x.Failure = core.FailureWrite
		return x
	}
	c.receive(&x)
	return x
}

// write hands the request to the connection. From the moment the call begins
// a byte may have left, whatever it returns.
func (c *sendConn) write(request []byte) error {
	c.ends = time.Now().Add(c.limits.Whole)
	if err := c.conn.SetDeadline(c.ends); err != nil {
		return err
	}
	c.mark = core.PartlySent
	_, err := c.conn.Write(request)
	c.last = c.clock.Now()
	if err == nil {
		c.mark = core.FullySent
	}
	return err
}

// receive reads one answer into x. What cannot be read whole is a failure;
// what can is described and not judged. As long as no byte of an answer has
// come, the request may still lie in a buffer of this machine: its last byte
// then left, at the latest, when the connection was given up.
func (c *sendConn) receive(x *core.Exchange) {
	in := &bounded{from: c.conn, left: maxHeaderBytes}
	a, err := c.readAnswer(in)
	x.Status = a.status
	if err != nil {
		x.Failure = answerFailure(cmp.Or(in.err, err), in.any)
		if !in.any {
			x.LastByteAt = c.clock.Now()
		}
		return
	}
	if env, ok := a.envelope(exact); ok {
		x.Enveloped, x.ResponseID, x.Message, x.Data = true, env.responseID, env.message, env.data
	}
}

func (c *sendConn) readAnswer(in *bounded) (answer, error) {
	header := time.Now().Add(c.limits.Header)
	if header.After(c.ends) {
		header = c.ends
	}
	if err := c.conn.SetReadDeadline(header); err != nil {
		return answer{}, err
	}
	response, err := readHeader(bufio.NewReader(in))
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, contentType: response.Header.Get("Content-Type")}
	if err := c.conn.SetReadDeadline(c.ends); err != nil {
		return a, err
	}
	in.left = math.MaxInt64 // from here on the body is bounded
	a.body, err = readBody(response.Body)
	return a, err
}

// readHeader reads the header of the final answer; informational ones, which
// were not asked for, are passed over.
func readHeader(in *bufio.Reader) (*http.Response, error) {
	const most = 5
	for range most {
		response, err := http.ReadResponse(in, nil)
		if err != nil || response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
	return nil, errors.New("only informational answers")
}

// answerFailure classes an answer that did not come whole; any says whether a
// byte of it did.
func answerFailure(err error, any bool) core.FailureClass {
	switch {
	case isTimeout(err):
		return core.FailureTimeout
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if any {
			return core.FailureTruncated
		}
		return core.FailureReset
	case isLost(err):
		return core.FailureReset
	}
	return core.FailureMalformed
}

// bounded reads at most left bytes. It remembers whether there were any, and
// the error at which the reading ended: parsers hide it when it comes in the
// middle of a line.
type bounded struct {
	from io.Reader
	left int64
	any  bool
	err  error
}

var errHeaderTooLarge = errors.New("the header of the answer is too large")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.err = errHeaderTooLarge
		return 0, b.err
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	b.any = b.any || n > 0
	b.err = err
	return n, err
}
