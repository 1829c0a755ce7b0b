package pfsense

import (
	"slices"
	"strings"

	"countersign/canon"
	"countersign/core"
	"countersign/pfsense/sim"
)

// checkDrift changes every fingerprinted field of a reading, one at a time:
// none may go unnoticed before the send.
func checkDrift(b *bench) {
	r, req, o := b.prepare()
	for name := range o.Projection {
		tried := 0
		for _, other := range []any{"x", true, int64(1), []any{"x"}, nil} {
			drifted := deepCopy(r)
			if !b.drift(drifted, o, name, other) {
				continue
			}
			tried++
			now, err := b.c.Observe(drifted, b.c.Identity(req))
			if err == nil && b.fingerprint(now) == b.fingerprint(o) && !(blank(other) && blank(o.Projection[name])) {
				b.t.Errorf("a change of %s to %v is not seen", name, other)
			}
		}
		if tried == 0 {
			b.t.Errorf("%s was not tried", name)
		}
	}
}

// drift puts another value where a fingerprinted field comes from.
func (b *bench) drift(r core.Reading, o core.Observation, name string, other any) bool {
	row, ok := r.Data[b.spec.ReadPath].(core.Object)
	if !ok {
		row = b.targetRow(r, o)
	}
	if short, linked := strings.CutPrefix(name, linkedPrefix); linked && b.test.symbol == "NAT_PORT_FORWARD_ENABLED" {
		if short == "follows" {
			other := map[string]string{sim.Profile243: "v2.7.0"}[b.server.Profile()]
			if other == "" {
				other = "v2.6.9"
			}
			r.Data[pathAPIVersion].(core.Object)["current_version"] = other
			return true
		}
		rules := objectsIn(r, rulesPath)
		for _, rule := range rules {
			if rule["tracker"] == o.Projection[linkedPrefix+"tracker"] {
				row, name = rule, short
			}
		}
	}
	if same(row[name], other) || blank(row[name]) && blank(other) {
		return false
	}
	row[name] = other
	return true
}

func (b *bench) targetRow(r core.Reading, o core.Observation) core.Object {
	for _, row := range objectsIn(r, b.spec.ReadPath) {
		if row["id"] == o.Locator {
			return row
		}
	}
	b.t.Fatal("the target is not in its list")
	return nil
}

func deepCopy(r core.Reading) core.Reading {
	out := core.Reading{At: r.At, Data: map[string]any{}}
	for path, v := range r.Data {
		out.Data[path] = deepValue(v)
	}
	return out
}

func deepValue(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = deepValue(v[i])
		}
		return out
	case core.Object:
		out := core.Object{}
		for k := range v {
			out[k] = deepValue(v[k])
		}
		return out
	}
	return v
}

// checkNeighbours changes, removes, adds and moves other rows: the target's
// fingerprint stays, and the neighbours' digests do not.
func checkNeighbours(b *bench) {
	r, req, o := b.prepare()
	if _, settings := r.Data[b.spec.ReadPath].(core.Object); settings {
		if len(o.Neighbours) != 0 {
			b.t.Error("a settings object has neighbours")
		}
		b.spared = "a settings object has none"
		return
	}
	for name, edit := range map[string]func([]any) []any{
		"changed": func(rows []any) []any { b.other(rows, o)["descr"] = "changed meanwhile"; return rows },
		"removed": func(rows []any) []any { return without(rows, b.other(rows, o)) },
		"added":   func(rows []any) []any { return append(rows, core.Object{"id": int64(len(rows)), "name": "new"}) },
		"moved":   func(rows []any) []any { slices.Reverse(rows); return rows },
	} {
		if name == "moved" && len(o.Neighbours) < 2 {
			b.t.Log("not moved: one neighbour has no order")
			continue
		}
		edited := deepCopy(r)
		edited.Data[b.spec.ReadPath] = edit(edited.Data[b.spec.ReadPath].([]any))
		now, err := b.c.Observe(edited, b.c.Identity(req))
		if err != nil {
			b.t.Errorf("%s: %v", name, err)
			continue
		}
		if same(now.Neighbours, o.Neighbours) {
			b.t.Errorf("a neighbour that was %s is not seen", name)
		}
		if b.fingerprint(now) != b.fingerprint(o) {
			b.t.Errorf("a neighbour that was %s changes the target", name)
		}
	}
}

// other is a neighbour of the target.
func (b *bench) other(rows []any, o core.Observation) core.Object {
	for _, item := range rows {
		if row := item.(core.Object); row["id"] != o.Locator {
			return row
		}
	}
	b.t.Fatal("there is no neighbour")
	return nil
}

func without(rows []any, gone core.Object) []any {
	var out []any
	for _, item := range rows {
		if item.(core.Object)["id"] != gone["id"] {
			out = append(out, item)
		}
	}
	return out
}

// checkRoundTrip sends the change and its rollback over HTTPS, twice: one
// write each, nothing else changes, and the fingerprint comes back.
func checkRoundTrip(b *bench) {
	_, req, before := b.prepare()
	if b.c.Applied(req, before.Projection, before) {
		b.t.Error("seen as applied before it was")
	}
	for range 2 {
		wire := b.server.Wire()
		state, _ := b.send(core.Forward, b.forward(req, before), req, before)
		after := b.observe()
		if state != core.Verified || b.server.Wire().Since(wire).Mutations != 1 {
			b.t.Fatalf("the change ended in %s", state)
		}
		if !same(after.Projection, b.c.Intended(req, before.Projection)) {
			b.t.Error("what is there is not what was intended")
		}
		if !same(after.Neighbours, before.Neighbours) {
			b.t.Error("neighbours changed")
		}
		if err := b.c.Admit(b.read(), after, req); err == nil || !strings.Contains(err.Error(), core.ErrNoChange.Error()) {
			b.t.Errorf("the same change again gave %v", err)
		}
		body, err := b.c.Rollback(before.Projection, after)
		if err != nil {
			b.t.Fatal(err)
		}
		if state, _ := b.send(core.Backward, body, req, after); state == core.RollbackFailed {
			b.t.Error("the rollback had no effect")
		}
		restored := b.observe()
		if b.fingerprint(restored) != b.fingerprint(before) || restored.Locator != before.Locator {
			b.t.Error("the rollback does not restore the fingerprint")
		}
		if !same(restored.Neighbours, before.Neighbours) {
			b.t.Error("neighbours changed")
		}
		before = restored
	}
}

func (b *bench) forward(req core.Request, o core.Observation) []byte {
	b.t.Helper()
	body, err := b.c.Forward(req, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return body
}

// checkGuard moves the target between the last reading and the send: the
// appliance itself refuses, as proof, and nothing is written.
func checkGuard(b *bench) {
	if b.test.unguarded != "" {
		b.spared = b.test.unguarded
		if _, _, o := b.prepare(); o.Guard != nil {
			b.t.Error("there is a guard after all")
		}
		return
	}
	_, req, o := b.prepare()
	b.test.shift(b.server.Admin())
	stored := b.server.StoredXML("")
	state, x := b.send(core.Forward, b.forward(req, o), req, o)
	if state != core.Failed || x.ResponseID != "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE" {
		b.t.Errorf("ended in %s with %d %s", state, x.Status, x.ResponseID)
	}
	if b.server.StoredXML("") != stored {
		b.t.Error("something was written")
	}
}

// checkRefusals breaks every member of the request in turn: whatever the
// appliance then refuses is on the list of proofs, and nothing is written.
func checkRefusals(b *bench) {
	_, req, o := b.prepare()
	var body core.Object
	if v, err := canon.ParseObject(b.forward(req, o)); err != nil {
		b.t.Fatal(err)
	} else {
		body = v
	}
	stored := b.server.StoredXML("")
	for name, v := range body {
		if name == "apply" {
			continue // anything but true is taken as false, without a word
		}
		broken, err := canon.Encode(with(body, core.Object{name: wrongly(name, v)}))
		if err != nil {
			b.t.Fatal(err)
		}
		state, x := b.send(core.Forward, broken, req, o)
		if state != core.Failed || x.Status < 400 || x.Status >= 500 {
			b.t.Errorf("a wrong %s ended in %s with %d %s", name, state, x.Status, x.ResponseID)
		}
	}
	if b.server.StoredXML("") != stored {
		b.t.Error("a refused request was written")
	}
}

// wrongly is a value that a member cannot have.
func wrongly(name string, v any) any {
	switch v.(type) {
	case string:
		return int64(5)
	case int64:
		if name == "id" {
			return int64(99999)
		}
	}
	return "x"
}

// checkValueFree breaks the reading and the request in every place and looks
// whether a refusal repeats what is there (seed 003, Audit contract).
func checkValueFree(b *bench) {
	const secret = "Geheimnis-4711"
	r, req, o := b.prepare()
	free := func(err error) {
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n")) {
			b.t.Errorf("a refusal repeats a value, or has several lines: %v", err)
		}
	}
	for name := range req.Fields {
		for _, v := range []any{secret, secret + "\x01", []any{secret + "!"}, core.Object{secret: secret}} {
			_, err := b.c.ParseRequest(with(req.Fields, core.Object{name: v}))
			free(err)
		}
	}
	_, err := b.c.ParseRequest(with(req.Fields, core.Object{secret: secret}))
	free(err)
	for name := range o.Projection {
		for _, v := range []any{secret, secret + "\x01", "e\u0301" + secret, []any{secret}, []any{secret, int64(1)}} {
			broken := deepCopy(r)
			if !b.drift(broken, o, name, v) {
				continue
			}
			now, err := b.c.Observe(broken, b.c.Identity(req))
			free(err)
			if err == nil {
				free(b.c.Admit(broken, now, req))
			}
		}
	}
}
