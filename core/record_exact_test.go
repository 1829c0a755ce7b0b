package core

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"countersign/canon/canontest"
)

// exactPayloads are all payloads of the cases, valid or not.
func exactPayloads(t testing.TB) [][]byte {
	data, err := os.ReadFile(filepath.Join(canontest.Dir(t), "contracts.json"))
	if err != nil {
		t.Fatal(err)
	}
	type payload struct {
		Text string `json:"payload"`
		B64  string `json:"payload_b64"`
	}
	var cases struct{ Cases, Invalid, Lenient []payload }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, list := range [][]payload{cases.Cases, cases.Invalid, cases.Lenient} {
		for _, p := range list {
			b, _ := base64.StdEncoding.DecodeString(p.B64)
			if p.Text != "" {
				b = []byte(p.Text)
			}
			all = append(all, b)
		}
	}
	return all
}

// sameDecoding: what the one-pass reader accepts, the general reader accepts
// with the same contract, and nothing that decodes is decoded otherwise.
func sameDecoding(t *testing.T, payload []byte) (exact bool) {
	fast, ok := decodeExact(payload)
	if !ok {
		return false
	}
	slow, err := decodeGeneral(payload)
	if err != nil {
		if fast.Validate() == nil {
			t.Fatalf("the general reader refuses (%v) what the one-pass reader takes: %s", err, payload)
		}
		return true
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Fatalf("decoded differently:\n%+v\n%+v", fast, slow)
	}
	return true
}

func TestExactDecodingAgrees(t *testing.T) {
	exact := 0
	for _, payload := range exactPayloads(t) {
		if sameDecoding(t, payload) {
			exact++
		}
	}
	if exact < 54 {
		t.Fatalf("only %d payloads were read in one pass, the 54 valid ones must be", exact)
	}
}

// FuzzDecodeContract looks for a record that the two readers read
// differently, or that does not survive a round trip.
func FuzzDecodeContract(f *testing.F) {
	for _, payload := range exactPayloads(f) {
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		sameDecoding(t, payload)
		c, err := DecodeContract(payload)
		if err != nil {
			return
		}
		again, err := EncodeContract(c)
		if err != nil || string(again) != string(payload) {
			t.Fatalf("%v: %s was written again as %s", err, payload, again)
		}
	})
}
