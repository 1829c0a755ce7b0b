package canon_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
)

// jsonText is a JSON text as the case files give it: whole, or in parts that
// are expanded and concatenated.
type jsonText struct {
	Input *string `json:"input"`
	Parts []part  `json:"input_parts"`
}

func (j jsonText) bytes() []byte {
	if j.Input != nil {
		return []byte(*j.Input)
	}
	var b strings.Builder
	for _, p := range j.Parts {
		b.WriteString(p.text)
	}
	return []byte(b.String())
}

// part is one piece of a text: a string, or a description that stands for a
// long one.
type part struct{ text string }

func (p *part) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &p.text)
	}
	var long struct {
		Repeat    *string `json:"repeat"`
		Times     int     `json:"times"`
		Enumerate *struct {
			Prefix    string `json:"prefix"`
			Suffix    string `json:"suffix"`
			Separator string `json:"separator"`
			From      int    `json:"from"`
			Count     int    `json:"count"`
			Width     int    `json:"width"`
		} `json:"enumerate"`
		Units []string `json:"invalid_utf16_units"`
	}
	if err := json.Unmarshal(data, &long); err != nil {
		return err
	}
	switch {
	case long.Repeat != nil:
		p.text = strings.Repeat(*long.Repeat, long.Times)
	case long.Enumerate != nil:
		e := long.Enumerate
		items := make([]string, e.Count)
		for i := range items {
			items[i] = fmt.Sprintf("%s%0*d%s", e.Prefix, e.Width, e.From+i, e.Suffix)
		}
		p.text = strings.Join(items, e.Separator)
	case long.Units != nil:
		for _, unit := range long.Units {
			var u uint16
			if _, err := fmt.Sscanf(unit, "%x", &u); err != nil {
				return err
			}
			p.text += wobbly(u)
		}
	default:
		return errors.New("unknown kind of input part")
	}
	return nil
}

// wobbly encodes a UTF-16 unit as UTF-8 would if surrogates were scalar
// values: Go's way to hold a string that is not valid Unicode.
func wobbly(u uint16) string {
	if u < 0x80 {
		return string(rune(u))
	}
	return string([]byte{0xe0 | byte(u>>12), 0x80 | byte(u>>6&0x3f), 0x80 | byte(u&0x3f)})
}

func TestConformanceFiles(t *testing.T) { canontest.Check(t) }

func TestConformanceCanonicalAccept(t *testing.T) {
	const file = "canonical_accept.json"
	var cases struct {
		Cases []struct {
			jsonText
			Name   string  `json:"name"`
			Hex    *string `json:"canonical_utf8_hex"`
			Len    int     `json:"canonical_len"`
			SHA256 string  `json:"canonical_sha256"`
		} `json:"cases"`
	}
	canontest.Load(t, file, &cases)
	for _, c := range cases.Cases {
		t.Run(c.Name, func(t *testing.T) {
			value, err := canon.Parse(c.bytes())
			if err != nil {
				t.Fatal(err)
			}
			got, err := canon.Encode(value)
			if err != nil {
				t.Fatal(err)
			}
			if c.Hex != nil && hex.EncodeToString(got) != *c.Hex {
				t.Errorf("canonical bytes %x, want %s", got, *c.Hex)
			}
			if len(got) != c.Len {
				t.Errorf("length %d, want %d", len(got), c.Len)
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(got)); sum != c.SHA256 {
				t.Errorf("SHA-256 %s, want %s", sum, c.SHA256)
			}
			checkOtherPaths(t, c.bytes(), got)
		})
	}
	canontest.Ran(t, file, map[string]int{"cases": len(cases.Cases)})
}

// checkOtherPaths asserts that reading without NFC and normalising later, and
// reading the canonical bytes again, lead to the same bytes.
func checkOtherPaths(t *testing.T, text, want []byte) {
	t.Helper()
	again, err := canon.Parse(want)
	if err != nil {
		t.Fatalf("canonical bytes are refused: %v", err)
	}
	if got, err := canon.Encode(again); err != nil || !bytes.Equal(got, want) {
		t.Errorf("canonical bytes are not a fixed point (%v)", err)
	}
	raw, err := canon.ParseRaw(text)
	if err != nil {
		// Only a string that NFC shortens may be too long as it is.
		if !errors.Is(err, canon.ErrStringBytes) {
			t.Errorf("ParseRaw: %v", err)
		}
		return
	}
	if got, err := canon.Encode(raw); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Encode(ParseRaw(text)) differs (%v)", err)
	}
	normal, err := canon.Normalize(raw)
	if err != nil {
		t.Fatalf("Normalize: %v", err)
	}
	if got, err := canon.Encode(normal); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Encode(Normalize(ParseRaw(text))) differs (%v)", err)
	}
}

func TestConformanceCanonicalReject(t *testing.T) {
	const file = "canonical_reject.json"
	var cases struct {
		Cases []struct {
			jsonText
			Name   string      `json:"name"`
			Reason canon.Class `json:"reason"`
		} `json:"cases"`
	}
	canontest.Load(t, file, &cases)
	for _, c := range cases.Cases {
		t.Run(c.Name, func(t *testing.T) {
			value, err := canon.Parse(c.bytes())
			if !errors.Is(err, c.Reason) || value != nil {
				t.Errorf("Parse: %v, want class %s", err, c.Reason)
			}
			// What only bounds or collisions forbid can be built in Go, and
			// must be refused for the same reason there.
			raw, err := canon.ParseRaw(c.bytes())
			if err != nil {
				return
			}
			if _, err := canon.Encode(raw); !errors.Is(err, c.Reason) {
				t.Errorf("Encode: %v, want class %s", err, c.Reason)
			}
			if _, err := canon.Normalize(raw); !errors.Is(err, c.Reason) {
				t.Errorf("Normalize: %v, want class %s", err, c.Reason)
			}
		})
	}
	canontest.Ran(t, file, map[string]int{"cases": len(cases.Cases)})
}

type digestCase struct {
	Name    string        `json:"name"`
	Purpose canon.Purpose `json:"purpose"`
	Context []part        `json:"context"`
	Value   string        `json:"value"`
	SHA256  string        `json:"sha256"`
	Reason  canon.Class   `json:"reason"`
}

func (c digestCase) sum() (canon.Digest, error) {
	value, err := canon.Parse([]byte(c.Value))
	if err != nil {
		return canon.Digest{}, err
	}
	var context []string
	for _, p := range c.Context {
		context = append(context, p.text)
	}
	return canon.Sum(c.Purpose, context, value)
}

func TestConformanceDigests(t *testing.T) {
	const file = "digests.json"
	var cases struct {
		Cases   []digestCase `json:"cases"`
		Rejects []digestCase `json:"rejects"`
		Pairs   []struct {
			Name string `json:"name"`
			A    int    `json:"a"`
			B    int    `json:"b"`
		} `json:"pairs"`
	}
	canontest.Load(t, file, &cases)
	for _, c := range cases.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if got, err := c.sum(); err != nil || got.String() != c.SHA256 {
				t.Errorf("digest %s (%v), want %s", got, err, c.SHA256)
			}
		})
	}
	for _, c := range cases.Rejects {
		t.Run("reject "+c.Name, func(t *testing.T) {
			if got, err := c.sum(); !errors.Is(err, c.Reason) || !got.IsZero() {
				t.Errorf("%v, want class %s", err, c.Reason)
			}
		})
	}
	for _, pair := range cases.Pairs {
		t.Run("pair "+pair.Name, func(t *testing.T) {
			a, errA := cases.Cases[pair.A].sum()
			b, errB := cases.Cases[pair.B].sum()
			if errA != nil || errB != nil || a == b {
				t.Errorf("digests %s (%v) and %s (%v), want two different ones", a, errA, b, errB)
			}
		})
	}
	canontest.Ran(t, file, map[string]int{"cases": len(cases.Cases), "rejects": len(cases.Rejects), "pairs": len(cases.Pairs)})
}

// The idempotency key is the digest that decides whether an operation was
// already attempted (seed 000); core derives it, here its bytes are checked.
func TestConformanceIdempotency(t *testing.T) {
	const file = "idempotency.json"
	var cases struct {
		Cases []struct {
			Name                 string `json:"name"`
			Capability           string `json:"capability"`
			EndpointSymbol       string `json:"endpoint_symbol"`
			HTTPMethod           string `json:"http_method"`
			TargetIdentityDigest string `json:"target_identity_digest"`
			TargetFingerprint    string `json:"target_fingerprint"`
			LifecycleLocator     int64  `json:"lifecycle_locator"`
			IntentDigest         string `json:"intent_digest"`
			SnapshotDigest       string `json:"snapshot_digest"`
			RollbackPlanVersion  string `json:"rollback_plan_version"`
			IdempotencyKey       string `json:"idempotency_key"`
		} `json:"cases"`
	}
	canontest.Load(t, file, &cases)
	for _, c := range cases.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := canon.Sum(canon.Idempotency,
				[]string{c.Capability, c.EndpointSymbol, c.HTTPMethod},
				map[string]any{
					"target_identity_digest": c.TargetIdentityDigest,
					"target_fingerprint":     c.TargetFingerprint,
					"lifecycle_locator":      c.LifecycleLocator,
					"intent_digest":          c.IntentDigest,
					"snapshot_digest":        c.SnapshotDigest,
					"rollback_plan_version":  c.RollbackPlanVersion,
				})
			if err != nil || got.String() != c.IdempotencyKey {
				t.Errorf("key %s (%v), want %s", got, err, c.IdempotencyKey)
			}
		})
	}
	canontest.Ran(t, file, map[string]int{"cases": len(cases.Cases)})
}

// Every stored payload is the ASCII encoding of its own value: the encoder
// must give back the exact bytes that the record's MAC covers.
func TestConformanceStoredPayloads(t *testing.T) {
	const file = "contracts.json"
	var cases struct {
		Cases []struct {
			Name    string `json:"name"`
			Payload []byte `json:"payload_b64"`
		} `json:"cases"`
	}
	canontest.Load(t, file, &cases)
	for _, c := range cases.Cases {
		t.Run(c.Name, func(t *testing.T) {
			value, err := canon.ParseRaw(c.Payload)
			if err != nil {
				t.Fatal(err)
			}
			got, err := canon.EncodeASCII(value)
			if err != nil || !bytes.Equal(got, c.Payload) {
				t.Errorf("%s (%v), want %s", got, err, c.Payload)
			}
		})
	}
	canontest.Ran(t, file, map[string]int{"cases": len(cases.Cases)})
}
