package canon_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"countersign/canon"
)

// texts draws strings rich in what bites: marks, jamo, controls, quotes,
// characters on both sides of the surrogates.
func texts() *rapid.Generator[string] {
	awkward := []rune("ab\"\\/\x00\x1f\x7f\n\u00e9e\u0301\u0323\u0345\u212b\u1100\u1161\u11a8\uac00" +
		"\u2028\u200d\ud7ff\ue000\uffff\U00010000😀\U0010ffff")
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom(awkward), 0, 12, -1),
		rapid.StringN(0, 12, -1),
	)
}

// values draws values of at most the given depth. Their strings are valid but
// not in NFC, and their keys may collide under it.
func values(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Int64().AsAny(),
		texts().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return values(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 5).AsAny(),
		rapid.MapOfN(texts(), inner, 0, 5).AsAny(),
	)...)
}

// normalValues draws values in normal form.
func normalValues() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		v, err := canon.Normalize(values(4).Draw(t, "value"))
		if errors.Is(err, canon.ErrKeyCollision) {
			t.Skip("keys collide")
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	})
}

func TestCanonicalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := normalValues().Draw(t, "normal")
		data, err := canon.Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := canon.Parse(data)
		if err != nil || !reflect.DeepEqual(back, value) {
			t.Fatalf("Parse(%q) = %#v, %v; want %#v", data, back, err, value)
		}
		raw, err := canon.ParseRaw(data)
		if err != nil || !reflect.DeepEqual(raw, value) {
			t.Fatalf("ParseRaw(%q) = %#v, %v; want %#v", data, raw, err, value)
		}
	})
}

func TestASCIIRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := values(4).Draw(t, "value")
		data, err := canon.EncodeASCII(value)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(data, func(b byte) bool { return b < ' ' || b > '~' }); i >= 0 {
			t.Fatalf("byte %d of %q is not printable ASCII", i, data)
		}
		back, err := canon.ParseRaw(data)
		if err != nil || !reflect.DeepEqual(back, value) {
			t.Fatalf("ParseRaw(%q) = %#v, %v; want %#v", data, back, err, value)
		}
	})
}

// The encoding depends on the value alone: not on normalisation, and not on
// the order in which a map was filled or a text was written.
func TestEncodingIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := values(4).Draw(t, "value")
		data, err := canon.Encode(value)
		normal, errNormal := canon.Normalize(value)
		if (err == nil) != (errNormal == nil) {
			t.Fatalf("Encode: %v, Normalize: %v", err, errNormal)
		}
		if err != nil {
			return
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for _, same := range []any{normal, refill(value, random), refill(normal, random)} {
			if got, err := canon.Encode(same); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("Encode(%#v) = %q, %v; want %q", same, got, err, data)
			}
		}
	})
}

// refill copies a value, filling its maps in a random order.
func refill(v any, random *rand.Rand) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = refill(v[i], random)
		}
		return out
	case map[string]any:
		var keys []string
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		out := map[string]any{}
		for _, k := range keys {
			out[k] = refill(v[k], random)
		}
		return out
	default:
		return v
	}
}

// Different values have different canonical bytes.
func TestEncodingIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := normalValues().Draw(t, "a")
		b := normalValues().Draw(t, "b")
		dataA, errA := canon.Encode(a)
		dataB, errB := canon.Encode(b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if bytes.Equal(dataA, dataB) != reflect.DeepEqual(a, b) {
			t.Fatalf("%#v and %#v encode to %q and %q", a, b, dataA, dataB)
		}
	})
}

// Different lists of parts have different frames, also where their
// concatenations agree.
func TestFrameIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringOfN(rapid.RuneFrom([]rune{0, 1, 'a'}), 0, 10, -1).Draw(t, "whole")
		a := cut(t, whole, "a")
		b := cut(t, whole, "b")
		if bytes.Equal(canon.FrameStrings(a...), canon.FrameStrings(b...)) != slices.Equal(a, b) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}

// cut divides a string into parts, some of them perhaps empty.
func cut(t *rapid.T, whole, label string) []string {
	at := rapid.SliceOfN(rapid.IntRange(0, len(whole)), 0, 3).Draw(t, label)
	slices.Sort(at)
	var parts []string
	start := 0
	for _, end := range append(at, len(whole)) {
		parts = append(parts, whole[start:end])
		start = end
	}
	return parts
}

// A digest changes with each of its inputs, and only with them.
func TestSumSeparates(t *testing.T) {
	purposes := rapid.SampledFrom([]canon.Purpose{
		canon.TargetIdentity, canon.TargetFingerprint, canon.Intent, canon.Snapshot, canon.Confirmation,
		canon.Idempotency, canon.Reconciliation, canon.Plan, canon.ExecutionIntent,
	})
	contexts := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "ab", "b", "intent"}), 0, canon.MaxContext)
	rapid.Check(t, func(t *rapid.T) {
		p, q := purposes.Draw(t, "p"), purposes.Draw(t, "q")
		c, d := contexts.Draw(t, "c"), contexts.Draw(t, "d")
		v, w := normalValues().Draw(t, "v"), normalValues().Draw(t, "w")
		base, err := canon.Sum(p, c, v)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []struct {
			purpose canon.Purpose
			context []string
			value   any
		}{{p, c, v}, {q, c, v}, {p, d, v}, {p, c, w}, {q, d, w}} {
			got, err := canon.Sum(other.purpose, other.context, other.value)
			if err != nil {
				t.Fatal(err)
			}
			same := other.purpose == p && slices.Equal(other.context, c) && reflect.DeepEqual(other.value, v)
			if (got == base) != same {
				t.Fatalf("digests of %v and %v", other, []any{p, c, v})
			}
		}
	})
}
