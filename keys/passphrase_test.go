package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/core"
)

func wrapped(t *testing.T, passphrase string, secret []byte, context ...string) []byte {
	t.Helper()
	return must[[]byte](t)(Wrap(newTestRandom(t.Name()), cheap, []byte(passphrase), secret, context...))
}

func TestWrapRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		passphrase := rapid.StringMatching(`[a-zA-Z0-9 äöü€漢]{8,40}`).Draw(t, "passphrase")
		secret := rapid.SliceOfN(rapid.Byte(), 1, maxWrapped).Draw(t, "secret")
		context := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "context")
		raw, err := Wrap(newTestRandom("x"), cheap, []byte(passphrase), secret, context...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unwrap([]byte(passphrase), raw, context...)
		if err != nil || !bytes.Equal(got, secret) {
			t.Fatalf("got %v (%v)", got, err)
		}
		if len(raw) > MaxSecret {
			t.Fatalf("%d bytes do not fit in a keyring item", len(raw))
		}
	})
}

func TestWrapFormat(t *testing.T) {
	raw := wrapped(t, "correct horse", []byte("k"), "operator-key", "s", "jo")
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"v": 1.0, "kdf": "argon2id", "aead": "xchacha20-poly1305",
		"memory_kib": 8.0, "time": 1.0, "threads": 1.0} {
		if fields[name] != want {
			t.Errorf("%s is %v", name, fields[name])
		}
	}
	if again := wrapped(t, "correct horse", []byte("k"), "operator-key", "s", "jo"); !bytes.Equal(raw, again) {
		t.Error("more than the injected randomness went in")
	}
	if c := DefaultCost(); c.MemoryKiB < 64*1024 || c.Time < 3 || !c.valid() {
		t.Errorf("the default cost is %+v", c)
	}
}

// The production cost really is used when it is asked for (one slow case).
func TestWrapAtProductionCost(t *testing.T) {
	raw := must[[]byte](t)(Wrap(newTestRandom("x"), DefaultCost(), []byte("correct horse"), []byte("k")))
	if got, err := Unwrap([]byte("correct horse"), raw); err != nil || string(got) != "k" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestUnwrapRefusesWithoutDetail(t *testing.T) {
	raw := wrapped(t, "correct horse", []byte("the key"), "operator-key", "store-1", "jo")
	for name, try := range map[string]struct {
		passphrase string
		context    []string
	}{
		"another passphrase":   {"correct horsf", []string{"operator-key", "store-1", "jo"}},
		"upper case":           {"Correct horse", []string{"operator-key", "store-1", "jo"}},
		"trailing space":       {"correct horse ", []string{"operator-key", "store-1", "jo"}},
		"too short":            {"c", []string{"operator-key", "store-1", "jo"}},
		"empty":                {"", []string{"operator-key", "store-1", "jo"}},
		"invalid text":         {"correct\xff horse", []string{"operator-key", "store-1", "jo"}},
		"another operator":     {"correct horse", []string{"operator-key", "store-1", "mika"}},
		"another store":        {"correct horse", []string{"operator-key", "store-2", "jo"}},
		"another purpose":      {"correct horse", []string{"signing-key", "store-1", "jo"}},
		"no context":           {"correct horse", nil},
		"context joined":       {"correct horse", []string{"operator-key", "store-1jo"}},
		"context with nothing": {"correct horse", []string{"operator-key", "store-1", "jo", ""}},
	} {
		_, err := Unwrap([]byte(try.passphrase), raw, try.context...)
		if err != core.ErrWrongPassphrase { // exactly: no detail wrapped around it
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUnwrapRefusesEveryChangedField(t *testing.T) {
	raw := wrapped(t, "correct horse", []byte("the key"))
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	changes := map[string]func(e *envelope){
		"memory":     func(e *envelope) { e.MemoryKiB++ },
		"time":       func(e *envelope) { e.Time++ },
		"salt":       func(e *envelope) { e.Salt[0] ^= 1 },
		"nonce":      func(e *envelope) { e.Nonce[23] ^= 1 },
		"ciphertext": func(e *envelope) { e.Ciphertext[0] ^= 1 },
		"tag":        func(e *envelope) { e.Ciphertext[len(e.Ciphertext)-1] ^= 1 },
	}
	damages := map[string]func(e *envelope){
		"version":          func(e *envelope) { e.Version = 2 },
		"kdf":              func(e *envelope) { e.KDF = "argon2i" },
		"aead":             func(e *envelope) { e.AEAD = "aes-256-gcm" },
		"no memory":        func(e *envelope) { e.MemoryKiB = 0 },
		"all our memory":   func(e *envelope) { e.MemoryKiB = 1 << 30 },
		"no pass":          func(e *envelope) { e.Time = 0 },
		"endless passes":   func(e *envelope) { e.Time = 1 << 30 },
		"no lane":          func(e *envelope) { e.Threads = 0 },
		"too many lanes":   func(e *envelope) { e.Threads = 255 },
		"salt cut":         func(e *envelope) { e.Salt = e.Salt[1:] },
		"nonce cut":        func(e *envelope) { e.Nonce = e.Nonce[1:] },
		"nothing inside":   func(e *envelope) { e.Ciphertext = e.Ciphertext[:16] },
		"far too much":     func(e *envelope) { e.Ciphertext = make([]byte, maxWrapped+17) },
		"ciphertext empty": func(e *envelope) { e.Ciphertext = nil },
	}
	try := func(change func(*envelope)) error {
		c := e
		c.Salt, c.Nonce, c.Ciphertext = slices.Clone(e.Salt), slices.Clone(e.Nonce), slices.Clone(e.Ciphertext)
		change(&c)
		text := must[[]byte](t)(encodeExact(c))
		_, err := Unwrap([]byte("correct horse"), text)
		return err
	}
	if err := try(func(*envelope) {}); err != nil {
		t.Fatal(err)
	}
	for name, change := range changes {
		if err := try(change); !errors.Is(err, core.ErrWrongPassphrase) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, damage := range damages {
		if err := try(damage); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "null": "null", "a list": "[]", "empty object": "{}", "spaces": " " + string(raw),
		"newline": string(raw) + "\n", "twice": string(raw) + string(raw), "cut": string(raw[:len(raw)-1]),
		"duplicate field": strings.Replace(string(raw), `"v":1`, `"v":1,"v":1`, 1),
		"unknown field":   strings.Replace(string(raw), `"v":1`, `"v":1,"w":1`, 1),
		"upper case name": strings.Replace(string(raw), `"v":1`, `"V":1`, 1),
		"float":           strings.Replace(string(raw), `"v":1`, `"v":1.0`, 1),
		"escaped":         strings.Replace(string(raw), `argon2id`, `\u0061rgon2id`, 1),
		"too long":        string(raw) + strings.Repeat(" ", MaxSecret),
	} {
		if _, err := Unwrap([]byte("correct horse"), []byte(text)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPassphraseRules(t *testing.T) {
	for name, c := range map[string]struct {
		passphrase string
		ok         bool
	}{
		"eight":                         {"12345678", true},
		"seven":                         {"1234567", false},
		"empty":                         {"", false},
		"eight characters, more bytes":  {"äöüßäöüß", true},
		"seven characters, more bytes":  {"漢漢漢漢漢漢漢", false},
		"eight runes, seven after NFC":  {"a\u0308234567", false},
		"nine runes, eight after NFC":   {"a\u03082345678", true},
		"spaces are characters":         {"a b c d e", true},
		"256":                           {strings.Repeat("x", 256), true},
		"257":                           {strings.Repeat("x", 257), false},
		"far too long":                  {strings.Repeat("x", 5000), false},
		"newline":                       {"12345678\n", false},
		"escape":                        {"\x1b[31m12345678", false},
		"delete":                        {"12345678\x7f", false},
		"C1 control":                    {"12345678\u0085", false},
		"NUL":                           {"1234\x005678", false},
		"not UTF-8":                     {"12345678\xff", false},
		"lone surrogate in three bytes": {"12345678\xed\xa0\x80", false},
	} {
		given := []byte(c.passphrase)
		_, err := Wrap(newTestRandom("x"), cheap, given, []byte("k"))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrPassphrase) {
			t.Errorf("%s: got %v", name, err)
		}
		if !bytes.Equal(given, make([]byte, len(given))) {
			t.Errorf("%s: not zeroed", name)
		}
	}
}

func TestPassphraseIsNormalised(t *testing.T) {
	raw := wrapped(t, "Caf\u00e9 \u212bngstr\u00f6m", []byte("k"))
	for _, same := range []string{"Cafe\u0301 A\u030angstro\u0308m", "Caf\u00e9 \u00c5ngstr\u00f6m"} {
		given := []byte(same)
		if _, err := Unwrap(given, raw); err != nil {
			t.Errorf("%+q: %v", same, err)
		}
		if !bytes.Equal(given, make([]byte, len(given))) {
			t.Errorf("%+q: not zeroed", same)
		}
	}
}

func TestWrapRefusesBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		cost   Cost
		secret []byte
	}{
		"no cost":         {Cost{}, []byte("k")},
		"too little":      {Cost{MemoryKiB: 15, Time: 1, Threads: 2}, []byte("k")},
		"empty secret":    {cheap, nil},
		"too long secret": {cheap, make([]byte, maxWrapped+1)},
	} {
		if _, err := Wrap(newTestRandom("x"), c.cost, []byte("correct horse"), c.secret); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Wrap(bytes.NewReader(make([]byte, 39)), cheap, []byte("correct horse"), []byte("k")); err == nil {
		t.Error("wrapped without enough randomness")
	}
}

// Whatever the decoder accepts is within bounds and is the one spelling of itself.
func FuzzEnvelope(f *testing.F) {
	raw, err := Wrap(newTestRandom("x"), cheap, []byte("correct horse"), []byte("the key"), "operator-key")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"aead":"xchacha20-poly1305"}`))
	f.Add(bytes.Replace(raw, []byte(`"time":1`), []byte(`"time":-1`), 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEnvelope(raw)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("class of %v", err)
			}
			return
		}
		if again := must[[]byte](t)(encodeExact(e)); !bytes.Equal(again, raw) {
			t.Fatalf("two spellings: %q and %q", raw, again)
		}
		if !e.cost().valid() || len(e.Salt) != saltSize || len(e.Nonce) != 24 || len(e.Ciphertext) <= 16 {
			t.Fatalf("out of bounds: %+v", e)
		}
	})
}
