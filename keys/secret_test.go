package keys

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Every way of printing the things that hold a secret is searched for it, in
// the encodings it could take.
func TestNothingPrintsASecret(t *testing.T) {
	canary := "canary-5f1c-0123456789abcdefghij" // 32 bytes, as a key
	seed := []byte(canary)
	sealer := must[*Sealer](t)(NewSealer(NewSecret(seed), "k", newTestRandom("x")))
	holders := map[string]any{
		"Secret":           NewSecret(seed),
		"Secret pointer":   &StoreKeys{Integrity: NewSecret(seed)},
		"StoreKeys":        StoreKeys{Integrity: NewSecret(seed), Artifact: NewSecret(seed), ArtifactKeyID: "k"},
		"StoreKeyConfig":   StoreKeyConfig{IntegrityKey: NewSecret(seed)},
		"unexported field": struct{ s Secret }{NewSecret(seed)},
		"Unlocked":         &Unlocked{id: "jo", key: NewSecret(seed)},
		"SigningKey":       &SigningKey{id: "jo", seed: NewSecret(seed)},
		"FileRing":         &FileRing{master: NewSecret(seed)},
		"Sealer":           sealer,
		"slice":            []Secret{NewSecret(seed)},
	}
	for name, v := range holders {
		var shown strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%10.3v", "%T", "%c", "%b"} {
			fmt.Fprintf(&shown, verb+"\n", v)
		}
		fmt.Fprintln(&shown, v, errors.New("wrapped"), fmt.Errorf("%v", v))
		if encoded, err := json.Marshal(v); err == nil {
			shown.Write(encoded)
		}
		slog.New(slog.NewTextHandler(&shown, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&shown, nil)).Info("x", "v", v)
		for _, form := range formsOf(seed) {
			if strings.Contains(shown.String(), form) {
				t.Errorf("%s prints the secret as %q", name, form)
			}
		}
	}
	if got := fmt.Sprintf("%v %#v %s %x", NewSecret(seed), NewSecret(seed), NewSecret(seed), NewSecret(seed)); got !=
		"[secret] [secret] [secret] [secret]" {
		t.Errorf("got %q", got)
	}
}

// formsOf lists how the beginning of a secret could look in text.
func formsOf(secret []byte) []string {
	head := secret[:12]
	return []string{
		string(head), hex.EncodeToString(head), strings.ToUpper(hex.EncodeToString(head)),
		base64.StdEncoding.EncodeToString(head), base64.URLEncoding.EncodeToString(head),
		strings.Trim(fmt.Sprint(head), "[]"), strings.Trim(fmt.Sprintf("%#v", head), "[]byte{}"),
	}
}

func TestSecretOwnsItsBytes(t *testing.T) {
	given := []byte("some secret")
	s := NewSecret(given)
	given[0] = 'X'
	copied := s
	if !s.Equal([]byte("some secret")) || s.Len() != 11 {
		t.Fatal("the caller's slice is shared")
	}
	inside := s.Bytes()
	s.Clear()
	if copied.Len() != 0 || !bytes.Equal(inside, make([]byte, 11)) {
		t.Fatal("Clear left something behind")
	}
	s.Clear()
	Secret{}.Clear()
	if (Secret{}).Len() != 0 || !(Secret{}).Equal(nil) {
		t.Fatal("the zero Secret is not empty")
	}
}
