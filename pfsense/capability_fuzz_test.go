package pfsense

import (
	"errors"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/core"
)

// FuzzParseRequest gives every capability any object as a request: it is
// refused in one line, or it is normal, and survives in an intent.
func FuzzParseRequest(f *testing.F) {
	for _, test := range suiteCases() {
		text, err := canon.Encode(with(test.target, test.values))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"alias_name":"\u212a1","description":"e\u0301\u0000"}`)
	f.Add(`{"alias_name":"a","add":["x y||z"],"remove":[null]}`)
	f.Add(`{"timezone":{"timezone":"UTC"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := canon.ParseObject([]byte(text))
		if err != nil {
			t.Skip("not an object")
		}
		for _, c := range Capabilities() {
			req, err := c.ParseRequest(fields)
			if err != nil {
				if !errors.Is(err, core.ErrRequest) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
					t.Errorf("%s: %v", c.Spec().Title, err)
				}
				continue
			}
			checkNormal(t, c, req)
		}
	})
}

func checkNormal(t *testing.T, c core.Capability, req core.Request) {
	t.Helper()
	again, err := c.ParseRequest(req.Fields)
	if err != nil || !same(again, req) {
		t.Errorf("%s: not normal: %v", c.Spec().Title, err)
	}
	intent := with(c.Intent(req), core.Object{"operation": c.Spec().SemanticUnit,
		"raw_target_hint": c.Identity(req), "appliance_target_digest": ""})
	text, err := canon.Encode(intent)
	if err != nil {
		t.Errorf("%s: no canonical intent: %v", c.Spec().Title, err)
		return
	}
	stored, err := canon.ParseObject(text)
	if err != nil {
		t.Errorf("%s: the intent cannot be read: %v", c.Spec().Title, err)
		return
	}
	if restored, err := c.RequestFromIntent(stored); err != nil || !same(restored, req) {
		t.Errorf("%s: the intent gives another request: %v", c.Spec().Title, err)
	}
}

// FuzzObserve gives every capability any reading: it finds a target that can
// be bound, or refuses in one line.
func FuzzObserve(f *testing.F) {
	f.Add(`[{"id":0,"name":"a","type":"host","descr":"","address":[],"detail":[]}]`)
	f.Add(`[{"id":0,"tracker":1,"disabled":false},{"id":1,"tracker":1}]`)
	f.Add(`[{"id":0,"host":"a","domain":"example.net","ip":["192.0.2.1"],"aliases":[null]}]`)
	f.Add(`{"timezone":"UTC"}`)
	f.Add(`[null,5,[]]`)
	f.Fuzz(func(t *testing.T, text string) {
		data, err := canon.ParseRaw([]byte(text))
		if err != nil {
			t.Skip("not JSON")
		}
		for _, c := range Capabilities() {
			r := core.Reading{Data: map[string]any{}}
			for _, path := range append(c.Spec().Reads(), c.Spec().OptionalReads...) {
				r.Data[path] = data
			}
			targets, err := c.Targets(r)
			if err != nil {
				continue
			}
			for _, target := range targets {
				observeAny(t, c, r, target)
			}
		}
	})
}

func observeAny(t *testing.T, c core.Capability, r core.Reading, target core.Target) {
	t.Helper()
	o, err := c.Observe(r, c.Identity(core.Request{Fields: target.Fields}))
	if err != nil {
		if strings.ContainsAny(reason(err), "\n\r\x1b") {
			t.Errorf("%s: %v", c.Spec().Title, err)
		}
		return
	}
	_ = c.Form(o)
	if _, err := c.Rollback(o.Projection, o); err != nil {
		t.Errorf("%s: an observed state cannot be written back: %v", c.Spec().Title, err)
	}
}
