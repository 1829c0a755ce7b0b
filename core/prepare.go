package core

import (
	"context"
	"fmt"
)

func (e *Engine) capability(symbol string) (Capability, error) {
	c, ok := e.p.Capabilities.ByEndpoint(symbol)
	if !ok {
		return nil, fmt.Errorf("%w: no such endpoint", ErrPolicy)
	}
	return c, nil
}

// Targets reads what a capability can be applied to, live.
func (e *Engine) Targets(ctx context.Context, symbol string) ([]Target, error) {
	c, err := e.capability(symbol)
	if err != nil {
		return nil, err
	}
	reading, err := ReadFor(ctx, e.p.Reader, c.Spec(), e.p.Clock)
	if err != nil {
		return nil, err
	}
	return c.Targets(reading)
}

// Form reads a target afresh and describes what to fill in.
func (e *Engine) Form(ctx context.Context, symbol string, t Target) ([]Field, error) {
	c, err := e.capability(symbol)
	if err != nil {
		return nil, err
	}
	if t.Refused != "" {
		return nil, fmt.Errorf("%w: %s", ErrTargetUnsupported, t.Refused)
	}
	reading, err := ReadFor(ctx, e.p.Reader, c.Spec(), e.p.Clock)
	if err != nil {
		return nil, err
	}
	o, err := c.Observe(reading, c.Identity(Request{Fields: t.Fields}))
	if err != nil {
		return nil, err
	}
	return c.Form(o), nil
}

// Prepare makes a draft from a fresh authoritative reading. It changes
// nothing anywhere (design section 2, step 1).
func (e *Engine) Prepare(ctx context.Context, symbol string, fields Object, requestKey string) (Draft, error) {
	c, err := e.capability(symbol)
	if err != nil {
		return Draft{}, err
	}
	req, err := c.ParseRequest(fields)
	if err != nil {
		return Draft{}, err
	}
	d, err := e.prepareFresh(ctx, c, req)
	if err != nil {
		return Draft{}, err
	}
	d.RequestKey = requestKey
	if d.RequestKey == "" {
		if d.RequestKey, err = NewIdentifier(e.p.Random, "request"); err != nil {
			return Draft{}, err
		}
	}
	return d, nil
}

func (e *Engine) prepareFresh(ctx context.Context, c Capability, req Request) (Draft, error) {
	id, err := e.p.Reader.Identify(ctx)
	if err != nil {
		return Draft{}, err
	}
	appliance, err := id.Digest()
	if err != nil {
		return Draft{}, err
	}
	status, err := e.p.Reader.Status(ctx)
	if err != nil {
		return Draft{}, err
	}
	if status.ReadOnly {
		return Draft{}, ErrReadOnlyAppliance
	}
	reading, o, err := observeNow(ctx, e.p.Reader, c, c.Identity(req), e.p.Clock)
	if err != nil {
		return Draft{}, err
	}
	if err := c.Admit(reading, o, req); err != nil {
		return Draft{}, err
	}
	d, err := Bind(c, req, o, appliance)
	if err != nil {
		return Draft{}, err
	}
	d.Operator, d.PreparedAt = e.set.Operator, reading.At
	d.Changes = c.Changes(req, o.Projection)
	d.Waiting, err = e.waitingIn(ctx, status, c.Spec().Loads, "")
	return d, err
}

// again prepares the same request once more, for comparison with what was
// authorized: equal in every digest and in the locator, or refused.
func (e *Engine) again(ctx context.Context, d Draft) (Draft, error) {
	c, err := e.capability(d.Spec.EndpointSymbol)
	if err != nil {
		return Draft{}, err
	}
	fresh, err := e.prepareFresh(ctx, c, d.Request)
	if err != nil {
		return Draft{}, err
	}
	if !d.Matches(fresh) {
		return Draft{}, fmt.Errorf("%w since the draft was made", ErrDrift)
	}
	fresh.RequestKey, fresh.Operator = d.RequestKey, d.Operator
	return fresh, nil
}
