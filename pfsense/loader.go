package pfsense

import (
	"context"
	"net/http"
	"strings"

	"countersign/core"
)

// Loader asks a subsystem to load what is stored. It implements core.Loader.
type Loader struct {
	once   oneSend
	reader *Reader
}

// NewLoader makes a loader. Errors wrap core.ErrInvalid.
func NewLoader(cfg Config) (*Loader, error) {
	e, err := cfg.check()
	if err != nil {
		return nil, err
	}
	reader, err := NewReader(cfg)
	if err != nil {
		return nil, err
	}
	return &Loader{oneSend{e}, reader}, nil
}

// Close closes the idle connection that further readings would use.
func (l *Loader) Close() { l.reader.Close() }

// Load sends one synchronous request to load and says what it is worth
// (design section 4, rule 7):
//
//   - the firewall tells the truth in its own answer, so only "applied": true
//     there counts;
//   - the DNS resolver and routing work synchronously and answer with the
//     state from before, so the reading right after it counts;
//   - a refusal made before anything was started is LoadRefused, and so is a
//     request that never left;
//   - anything else is LoadUnknown, and is never asked again by itself.
//
// LoadAsked means: accepted, and not claimed to be loaded.
func (l *Loader) Load(ctx context.Context, s core.Subsystem) (core.LoadClaim, core.Exchange) {
	path, ok := applyPath(s)
	if !ok {
		return core.LoadRefused, core.Exchange{Failure: core.FailurePolicy, Message: "nothing has to be loaded"}
	}
	x := l.once.exchange(ctx, core.Mutation{Method: http.MethodPost, Path: path, Body: []byte(`{"async":false}`)})
	claim := judgeLoad(x)
	if claim == core.LoadAsked && l.claims(ctx, s, path, x.Data) {
		claim = core.LoadClaimed
	}
	return claim, x
}

// claims reports whether the subsystem claims to have loaded, in the place
// where its claim is honest.
func (l *Loader) claims(ctx context.Context, s core.Subsystem, path string, own any) bool {
	if s == core.Firewall {
		return saysApplied(own)
	}
	f, err := l.reader.get(context.WithoutCancel(ctx), path, tolerant)
	return err == nil && saysApplied(f.data)
}

func judgeLoad(x core.Exchange) core.LoadClaim {
	switch {
	case x.Sent == core.NotSent:
		return core.LoadRefused
	case x.Failure != core.FailureNone || !x.Enveloped:
		return core.LoadUnknown
	case x.Status == http.StatusOK:
		return core.LoadAsked
	case refusesLoad(x.Status, x.ResponseID):
		return core.LoadRefused
	}
	return core.LoadUnknown
}

// refusesLoad reports whether an answer of the API's own says that nothing was
// started: the checks before the endpoint's work, and the full queue, which an
// apply request meets before it is queued.
func refusesLoad(status int, id string) bool {
	if id == "DISPATCHER_TOO_MANY_QUEUED_PROCESSES" {
		return status == http.StatusServiceUnavailable
	}
	before := strings.HasPrefix(id, "AUTH_") || strings.HasPrefix(id, "ENDPOINT_") || strings.HasPrefix(id, "CONTENT_HANDLER_")
	return before && (status < 500 || status == http.StatusServiceUnavailable)
}

func saysApplied(data any) bool {
	members, _ := data.(map[string]any)
	applied, _ := members["applied"].(bool)
	return applied
}

var _ core.Loader = (*Loader)(nil)
