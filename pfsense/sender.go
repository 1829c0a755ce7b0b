package pfsense

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"countersign/core"
)

// Sender makes exactly one exchange for one mutation. It implements
// core.Sender. It cannot read.
type Sender struct{ once oneSend }

// NewSender makes a sender. Errors wrap core.ErrInvalid.
func NewSender(cfg Config) (*Sender, error) {
	e, err := cfg.check()
	if err != nil {
		return nil, err
	}
	return &Sender{oneSend{e}}, nil
}

// Send opens one connection, writes the request to it once, and reports what
// came back. It obeys ctx until the first request byte is about to be written;
// from then on only its own deadlines end it. It never returns an error and
// never sends again, whatever happens.
//
// Only PATCH and POST with a JSON object are sent: no capability of this build
// uses another method. Where nothing was sent, Message says why in one line.
func (s *Sender) Send(ctx context.Context, m core.Mutation) core.Exchange {
	return s.once.exchange(ctx, m)
}

// oneSend is the one way in which anything is sent.
type oneSend struct{ endpoint }

const maxRequestBytes = 1 << 20

func (o oneSend) exchange(ctx context.Context, m core.Mutation) core.Exchange {
	start := time.Now()
	x := o.attempt(ctx, m)
	x.Elapsed = time.Since(start)
	return x
}

func (o oneSend) attempt(ctx context.Context, m core.Mutation) core.Exchange {
	request, ok := o.encode(m)
	if !ok {
		return core.Exchange{Failure: core.FailurePolicy, Message: "this build does not send such a request"}
	}
	use, err := o.key.admit(ctx)
	if err != nil {
		return core.Exchange{Failure: notSent(err), Message: err.Error()}
	}
	defer use.done()
	raw, err := o.dialer.open(ctx)
	if err != nil {
		return core.Exchange{Failure: notSent(err), Message: err.Error()}
	}
	defer raw.Close()
	if err := discardOnClose(raw.NetConn(), true); err != nil || ctx.Err() != nil {
		return core.Exchange{Failure: core.FailureConnect, Message: "stopped before anything was sent"}
	}
	conn := &sendConn{conn: raw, clock: o.clock, limits: o.limits}
	x := conn.roundTrip(request)
	if x.Failure == core.FailureNone {
		_ = discardOnClose(raw.NetConn(), false)
	}
	use.answered(x.Status, x.Enveloped)
	return x
}

// discardOnClose makes the end of a connection, also by the death of this
// process, throw away what the kernel has not sent yet. Without it the kernel
// may go on delivering a request for minutes after it was given up.
func discardOnClose(conn net.Conn, on bool) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	if on {
		return tcp.SetLinger(0)
	}
	return tcp.SetLinger(-1)
}

// notSent classes what happened before the connection stood.
func notSent(err error) core.FailureClass {
	switch classOf(err) {
	case BadKey:
		return core.FailurePolicy
	case TLSRefused, WrongPin:
		return core.FailureTLS
	}
	return core.FailureConnect
}

// encode builds the complete request before any connection is opened, so that
// nothing can fail halfway through writing it but the connection.
func (o oneSend) encode(m core.Mutation) ([]byte, bool) {
	allowed := (m.Method == http.MethodPatch || m.Method == http.MethodPost) &&
		endpointPath.MatchString(m.Path) &&
		len(m.Body) <= maxRequestBytes && isObject(m.Body)
	if !allowed {
		return nil, false
	}
	request, err := http.NewRequest(m.Method, o.base+m.Path, bytes.NewReader(m.Body))
	if err != nil {
		return nil, false
	}
	o.key.authenticate(request.Header)
	request.Header.Set("Content-Type", mediaJSON)
	request.Close = true
	var wire bytes.Buffer
	if err := request.Write(&wire); err != nil {
		return nil, false
	}
	return wire.Bytes(), true
}

func isObject(body []byte) bool {
	return len(body) > 0 && body[0] == '{' && json.Valid(body)
}

var _ core.Sender = (*Sender)(nil)
