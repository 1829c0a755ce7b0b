package canarytest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"testing"
)

const text = "Qz7canary4Xk"

// Find must see the canary in the middle of what real encoders make of a
// longer text, at every alignment, and must see nothing where there is nothing.
func TestFindSeesRealEncodings(t *testing.T) {
	set, err := New(Canary{"one", text}, Canary{"other", "Jp3sparrow9Wd"})
	if err != nil {
		t.Fatal(err)
	}
	for before := range 7 {
		long := string(bytes.Repeat([]byte{'-'}, before)) + text + "é\"<end"
		quoted, _ := json.Marshal(long)
		for name, encoded := range map[string]string{
			"raw": long, "JSON": string(quoted), "base64": base64.StdEncoding.EncodeToString([]byte(long)),
			"URL base64": base64.URLEncoding.EncodeToString([]byte(long)), "hex": fmt.Sprintf("%x", long),
			"HEX": fmt.Sprintf("%X", long), "% x": fmt.Sprintf("% x", long), "bytes": fmt.Sprint([]byte(long)),
			"Go bytes": fmt.Sprintf("%#v", []byte(long)), "query": url.QueryEscape(long), "quoted": strconv.QuoteToASCII(long),
		} {
			hits := set.Find([]byte(encoded))
			if len(hits) == 0 || hits[0].Canary != "one" {
				t.Errorf("%s at %d is not found (%v)", name, before, hits)
			}
		}
	}
	if hits := set.Find([]byte("nothing here, only Qz7canary and other words")); len(hits) != 0 {
		t.Errorf("found %v where there is nothing", hits)
	}
	if hits := set.Without("one").Find([]byte(text)); len(hits) != 0 {
		t.Errorf("found %v that was left out", hits)
	}
}

// Every encoding must be found by its own name, once for each of its forms.
func TestFindSeesEveryEncoding(t *testing.T) {
	set, err := New(Canary{"one", text})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Encodings() {
		for i, form := range e.Encode(text) {
			found := false
			for _, h := range set.Find(append([]byte("x"), form...)) {
				found = found || h.Encoding == e.Name || e.Name == "base64, URL alphabet" && h.Encoding == "base64"
			}
			if !found {
				t.Errorf("%s, form %d is not found", e.Name, i)
			}
		}
	}
}

func TestNewRefusesWeakCanaries(t *testing.T) {
	for _, bad := range [][]Canary{{{"short", "abc123"}}, {{"not plain", "with a blank"}}, {{"a", text}, {"b", text}}} {
		if _, err := New(bad...); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
