package keys

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"countersign/core"
)

var _ core.Sealer = (*Sealer)(nil)

func testSealer(t *testing.T) *Sealer {
	t.Helper()
	return must[*Sealer](t)(NewSealer(NewSecret(bytes.Repeat([]byte{9}, 32)), "enc-1", newTestRandom(t.Name())))
}

func TestSealRoundTrip(t *testing.T) {
	s, ctx := testSealer(t), context.Background()
	rapid.Check(t, func(t *rapid.T) {
		plaintext := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "plaintext")
		id := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:-]{0,40}`).Draw(t, "id")
		role := rapid.SampledFrom([]core.Role{core.RoleTargetIdentity, core.RoleIntent, core.RoleSnapshot}).Draw(t, "role")
		a, err := s.Seal(ctx, id, role, plaintext)
		if err != nil || a.Algorithm != ArtifactAlgorithm || a.KeyID != "enc-1" ||
			len(a.Ciphertext) != nonceSize+len(plaintext)+tagSize {
			t.Fatalf("sealed as %+v (%v)", a, err)
		}
		got, err := s.Open(ctx, id, role, a)
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Fatalf("got %x (%v)", got, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	s, ctx := testSealer(t), context.Background()
	a := must[core.Artifact](t)(s.Seal(ctx, "c-1", core.RoleIntent, []byte("canary")))
	another := must[*Sealer](t)(NewSealer(NewSecret(make([]byte, 32)), "enc-1", newTestRandom("y")))
	renamed := must[*Sealer](t)(NewSealer(NewSecret(bytes.Repeat([]byte{9}, 32)), "enc-2", newTestRandom("y")))
	check := func(what string, s *Sealer, id string, role core.Role, a core.Artifact, want error) {
		t.Helper()
		if got, err := s.Open(ctx, id, role, a); !errors.Is(err, want) || got != nil {
			t.Errorf("%s: got %v", what, err)
		}
	}
	check("another contract", s, "c-2", core.RoleIntent, a, ErrArtifactAuthentication)
	check("another role", s, "c-1", core.RoleSnapshot, a, ErrArtifactAuthentication)
	check("frames shifted", s, "c-1i", "ntent", a, ErrArtifactAuthentication)
	check("another key", another, "c-1", core.RoleIntent, a, ErrArtifactAuthentication)
	check("another key's name", renamed, "c-1", core.RoleIntent, a, ErrArtifactKey)
	for i := range a.Ciphertext {
		flipped := a
		flipped.Ciphertext = bytes.Clone(a.Ciphertext)
		flipped.Ciphertext[i] ^= 1
		check("bit flipped", s, "c-1", core.RoleIntent, flipped, ErrArtifactAuthentication)
	}
	for n := range len(a.Ciphertext) {
		cut := a
		cut.Ciphertext = a.Ciphertext[:n]
		want := ErrArtifactAuthentication
		if n <= nonceSize {
			want = ErrArtifactLength
		}
		check("cut", s, "c-1", core.RoleIntent, cut, want)
	}
	for _, name := range []string{"", "aes-256-gcm-v2", "AES-256-GCM-V1", "aes-256-gcm-v1 "} {
		other := a
		other.Algorithm = name
		check(name, s, "c-1", core.RoleIntent, other, ErrArtifactAlgorithm)
	}
}

func TestSealRefuses(t *testing.T) {
	s, ctx := testSealer(t), context.Background()
	for _, c := range []struct {
		id   string
		role core.Role
	}{{"", core.RoleIntent}, {"a b", core.RoleIntent}, {"c-1", ""}, {"c-1", "Intent"}} {
		if _, err := s.Seal(ctx, c.id, c.role, nil); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q %q: got %v", c.id, c.role, err)
		}
	}
	s.random = bytes.NewReader(make([]byte, 11))
	if _, err := s.Seal(ctx, "c-1", core.RoleIntent, nil); err == nil {
		t.Error("sealed without a whole nonce")
	}
	s.random = newTestRandom("x")
	s.sealed.Store(maxSeals - 1)
	if _, err := s.Seal(ctx, "c-1", core.RoleIntent, nil); err != nil {
		t.Errorf("the last one allowed: %v", err)
	}
	for range 2 {
		if _, err := s.Seal(ctx, "c-1", core.RoleIntent, nil); !errors.Is(err, ErrArtifactNonce) {
			t.Errorf("one too many: %v", err)
		}
	}
	for _, n := range []int{0, 16, 31, 33} {
		if _, err := NewSealer(NewSecret(make([]byte, n)), "k", newTestRandom("x")); !errors.Is(err, ErrArtifactKey) {
			t.Errorf("key of %d bytes: %v", n, err)
		}
	}
	if _, err := NewSealer(NewSecret(make([]byte, 32)), "a b", newTestRandom("x")); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("bad key id: %v", err)
	}
}

// Nothing carries over from one Sealer to the next: no file, no counter, no
// process state that could be lost, restored or shared (lesson 12). Sealers
// that know nothing of each other, as after a restored database, never meet.
func TestNoncesDoNotRepeatAcrossSealers(t *testing.T) {
	ctx, seen := context.Background(), map[string]bool{}
	key := NewSecret(bytes.Repeat([]byte{9}, 32))
	const sealers, each = 50, 200
	for range sealers {
		s := must[*Sealer](t)(NewSealer(key, "enc-1", rand.Reader))
		for range each {
			a := must[core.Artifact](t)(s.Seal(ctx, "c-1", core.RoleIntent, []byte("the same text")))
			seen[string(a.Ciphertext[:nonceSize])] = true
		}
	}
	if len(seen) != sealers*each {
		t.Fatalf("%d nonces for %d artifacts", len(seen), sealers*each)
	}
}
