package canon_test

import (
	"encoding/json"
	"testing"
	"time"

	"countersign/canon"
	"countersign/canon/canontest"
)

// storedPayload returns a contract record of the conformance cases: what the
// verified scan at start reads once per contract.
func storedPayload(tb testing.TB) []byte {
	var cases struct {
		Cases []struct {
			Payload []byte `json:"payload_b64"`
		} `json:"cases"`
	}
	canontest.Load(tb, "contracts.json", &cases)
	return cases.Cases[0].Payload
}

// BenchmarkParseRecord reads one stored record. x-json is the time against
// encoding/json, which is lenient, on the same bytes.
func BenchmarkParseRecord(b *testing.B) {
	payload := storedPayload(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, err := canon.ParseRaw(payload); err != nil {
			b.Fatal(err)
		}
	}
	reportRatio(b, func() error {
		var v any
		return json.Unmarshal(payload, &v)
	})
}

// BenchmarkEncodeRecord writes one stored record; x-json as above.
func BenchmarkEncodeRecord(b *testing.B) {
	value, err := canon.ParseRaw(storedPayload(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canon.EncodeASCII(value); err != nil {
			b.Fatal(err)
		}
	}
	reportRatio(b, func() error {
		_, err := json.Marshal(value)
		return err
	})
}

// BenchmarkSum computes one idempotency key.
func BenchmarkSum(b *testing.B) {
	context := []string{"ALIAS_WRITE", "FIREWALL_ALIAS_DESCRIPTION", "PATCH"}
	digest := canon.Digest{1}
	value := map[string]any{
		"target_identity_digest": digest,
		"target_fingerprint":     digest,
		"lifecycle_locator":      3,
		"intent_digest":          digest,
		"snapshot_digest":        digest,
		"rollback_plan_version":  "firewall-alias-description-rollback-v1",
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canon.Sum(canon.Idempotency, context, value); err != nil {
			b.Fatal(err)
		}
	}
}

// reportRatio reports the time of one iteration of the benchmark against the
// mean time of base.
func reportRatio(b *testing.B, base func() error) {
	perOp := float64(b.Elapsed()) / float64(b.N)
	const rounds = 2000
	start := time.Now()
	for range rounds {
		if err := base(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(perOp/(float64(time.Since(start))/rounds), "x-json")
}
