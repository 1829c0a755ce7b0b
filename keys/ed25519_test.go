package keys

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"countersign/core"
)

var (
	_ core.Verifier  = (*Pinned)(nil)
	_ core.Authority = (*SigningKey)(nil)
)

func testPair(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

func TestPinnedVerifies(t *testing.T) {
	ctx := context.Background()
	public, private := testPair(1)
	retired, oldPrivate := testPair(2)
	p := must[*Pinned](t)(NewPinned(
		PinnedKey{"owner", core.ProofConfirmation, public, true},
		PinnedKey{"retired", core.ProofConfirmation, retired, false},
	))
	payload := []byte("payload")
	proof := ed25519.Sign(private, payload)
	if err := p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, proof); err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(proof)
	flipped[3] ^= 4
	for name, err := range map[string]error{
		"unknown":         p.Verify(ctx, core.ProofConfirmation, "Owner", "ed25519-v1", payload, proof),
		"retired":         p.Verify(ctx, core.ProofConfirmation, "retired", "ed25519-v1", payload, ed25519.Sign(oldPrivate, payload)),
		"another's":       p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, ed25519.Sign(oldPrivate, payload)),
		"another kind":    p.Verify(ctx, core.ProofReconciliation, "owner", "ed25519-reconciliation-v2", payload, proof),
		"algorithm":       p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-reconciliation-v2", payload, proof),
		"upper case":      p.Verify(ctx, core.ProofConfirmation, "owner", "ED25519-V1", payload, proof),
		"empty":           p.Verify(ctx, core.ProofConfirmation, "owner", "", payload, proof),
		"unknown kind":    p.Verify(ctx, "", "owner", "", payload, proof),
		"payload":         p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", []byte("payloae"), proof),
		"bit":             p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, flipped),
		"cut":             p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, proof[:63]),
		"longer":          p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, append(bytes.Clone(proof), 0)),
		"no proof":        p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, nil),
		"nobody is known": (&Pinned{}).Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, proof),
	} {
		if err != core.ErrProof {
			t.Errorf("%s: got %v", name, err)
		}
	}
	public[0] ^= 1 // the caller's slice is not ours
	if err := p.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", payload, proof); err != nil {
		t.Error("the pin changed")
	}
}

func TestNewPinnedRefuses(t *testing.T) {
	a, _ := testPair(1)
	b, _ := testPair(2)
	for name, keys := range map[string][]PinnedKey{
		"no name":               {{"", core.ProofConfirmation, a, true}},
		"bad name":              {{"a b", core.ProofConfirmation, a, true}},
		"no kind":               {{"x", "", a, true}},
		"unknown kind":          {{"x", "decline", a, true}},
		"short key":             {{"x", core.ProofConfirmation, a[:31], true}},
		"no key":                {{"x", core.ProofConfirmation, nil, true}},
		"key of zeros":          {{"x", core.ProofConfirmation, make([]byte, 32), true}},
		"one name, two keys":    {{"x", core.ProofConfirmation, a, true}, {"x", core.ProofConfirmation, b, false}},
		"one key, two kinds":    {{"x", core.ProofConfirmation, a, true}, {"x", core.ProofReconciliation, a, true}},
		"one key, two names":    {{"x", core.ProofConfirmation, a, true}, {"y", core.ProofConfirmation, a, true}},
		"one key, once retired": {{"x", core.ProofConfirmation, a, false}, {"y", core.ProofReconciliation, a, true}},
	} {
		if _, err := NewPinned(keys...); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := NewPinned(PinnedKey{"x", core.ProofConfirmation, a, true}, PinnedKey{"x", core.ProofReconciliation, b, true}); err != nil {
		t.Errorf("one name with a key for each kind: %v", err)
	}
}

func TestParsePublicKey(t *testing.T) {
	good := strings.Repeat("0a", 32)
	if key, err := ParsePublicKey(good); err != nil || len(key) != 32 || key[0] != 10 {
		t.Fatalf("got %v, %v", key, err)
	}
	for _, bad := range []string{"", good[1:], good + "00", strings.ToUpper(good), good + "\n", "zz" + good[2:]} {
		if _, err := ParsePublicKey(bad); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestSigningKey(t *testing.T) {
	ctx, ring := context.Background(), newMemRing()
	kinds := []core.ProofKind{core.ProofAuthorization, core.ProofConfirmation, core.ProofReconciliation, core.ProofApproval}
	made := must[*SigningKey](t)(CreateSigningKey(ctx, ring, newTestRandom("x"), cheap, "owner", []byte("correct horse")))
	var pins []PinnedKey
	for _, kind := range kinds {
		pins = append(pins, PinnedKey{"owner", kind, must[ed25519.PublicKey](t)(made.PublicKey(kind)), true})
	}
	pinned := must[*Pinned](t)(NewPinned(pins...)) // refuses if two kinds had one key
	made.Close()

	opened := must[*SigningKey](t)(OpenSigningKey(ctx, ring, "owner", []byte("correct horse")))
	for _, kind := range kinds {
		proof := must[[]byte](t)(opened.Sign(kind, []byte("p")))
		for _, v := range []core.Verifier{pinned, opened} {
			if err := v.Verify(ctx, kind, opened.ID(), opened.Algorithm(kind), []byte("p"), proof); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if err := v.Verify(ctx, kind, opened.ID(), opened.Algorithm(kind), []byte("q"), proof); !errors.Is(err, core.ErrProof) {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	if _, err := OpenSigningKey(ctx, ring, "owner", []byte("correct horsf")); !errors.Is(err, core.ErrWrongPassphrase) {
		t.Errorf("wrong passphrase: %v", err)
	}
	if _, err := OpenSigningKey(ctx, ring, "nobody", []byte("correct horse")); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := CreateSigningKey(ctx, ring, newTestRandom("y"), cheap, "owner", []byte("correct horse")); !errors.Is(err, ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := CreateSigningKey(ctx, ring, newTestRandom("y"), cheap, "a b", []byte("correct horse")); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("bad name: %v", err)
	}
	ring.items[ItemSigningKey("owner")] = []byte("{}")
	if _, err := OpenSigningKey(ctx, ring, "owner", []byte("correct horse")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
	opened.Close()
	opened.Close()
	if _, err := opened.Sign(core.ProofConfirmation, []byte("p")); !errors.Is(err, ErrClosed) {
		t.Errorf("signed after Close: %v", err)
	}
	if err := opened.Verify(ctx, core.ProofConfirmation, "owner", "ed25519-v1", nil, nil); !errors.Is(err, core.ErrVerifierFailed) {
		t.Errorf("verified after Close: %v", err)
	}
}
