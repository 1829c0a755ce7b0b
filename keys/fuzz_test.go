package keys

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode"

	"countersign/core"
)

// A request is refused, or it is exactly what would be written for it, and
// its text is safe to show whatever it says.
func FuzzDecodeRequest(f *testing.F) {
	for _, kind := range OffHostKinds() {
		f.Add(encodeRequest(f, testRequest(f, kind, "old", "new")))
		f.Add(encodeRequest(f, testRequest(f, kind, "a\x1b[2J\n\u202e", "\\\"\u200b")))
	}
	f.Add([]byte(`{"schema":"countersign-request","version":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := DecodeRequest(raw)
		if err != nil {
			if !errors.Is(err, ErrFile) && !errors.Is(err, ErrNewerFile) {
				t.Fatalf("no class: %v", err)
			}
			return
		}
		if again, err := EncodeRequest(r); err != nil || !bytes.Equal(raw, again) {
			t.Fatalf("%v, other bytes again:\n%s\n%s", err, raw, again)
		}
		text, err := RenderRequest(raw, testCaps)
		if err != nil {
			return
		}
		for _, c := range strings.ReplaceAll(text, "\n", "") {
			if !unicode.IsPrint(c) {
				t.Fatalf("the text holds %U", c)
			}
		}
	})
}

// Evidence is refused, or it is exactly what would be written for it, and
// valid in form.
func FuzzDecodeEvidence(f *testing.F) {
	key := testSigningKey(f, "owner-1")
	for _, kind := range OffHostKinds() {
		raw, err := SignRequest(context.Background(), key, encodeRequest(f, testRequest(f, kind, "old", "new")), testCaps, testNow)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"schema":"countersign-evidence","version":2}`))
	pinned := pinsOf(f, key)
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := DecodeEvidence(raw)
		if err != nil {
			if !errors.Is(err, ErrFile) && !errors.Is(err, ErrNewerFile) {
				t.Fatalf("no class: %v", err)
			}
			return
		}
		again, err := EncodeEvidence(e)
		if err != nil || !bytes.Equal(raw, again) {
			t.Fatalf("%v, other bytes again:\n%s\n%s", err, raw, again)
		}
		payload, err := e.payload()
		if err != nil || e.validate() != nil {
			t.Fatalf("accepted, and not valid: %v, %v", err, e.validate())
		}
		if err := pinned.Verify(context.Background(), e.Kind, "owner-1", Ed25519Algorithm(e.Kind), payload, e.proof()); err != nil && !errors.Is(err, core.ErrProof) {
			t.Fatal(err)
		}
	})
}
