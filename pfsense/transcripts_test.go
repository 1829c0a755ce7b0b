package pfsense

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// transcript is one recorded exchange with the real package.
type transcript struct {
	Request struct {
		Path string `json:"path"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
		Raw     *string           `json:"body_raw"`
	} `json:"response"`
}

// Every envelope that the real package was seen to write is one to us, with
// its own response_id, and nothing else is. Numbers with a fraction occur in
// the machine's readings only, which Identify and Status read tolerantly.
func TestTranscriptsEnvelopes(t *testing.T) {
	dir := os.Getenv("COUNTERSIGN_TRANSCRIPTS")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "pfrest", "transcripts")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	indexed := readIndex(t, filepath.Join(dir, "index.json"))
	framed, fractions, others := 0, 0, 0
	for _, file := range files {
		if filepath.Base(file) == "index.json" {
			continue
		}
		if !indexed[filepath.Base(file)] {
			t.Errorf("%s is not in index.json, so it is no transcript", filepath.Base(file))
			continue
		}
		x := readTranscript(t, file)
		a := answer{status: x.Response.Status, contentType: x.Response.Headers["content-type"], body: x.Response.Body}
		if x.Response.Raw != nil {
			a.body = []byte(*x.Response.Raw)
		}
		env, ok := a.envelope(exact)
		if !ok {
			if env, ok = a.envelope(tolerant); ok {
				fractions++
				if !strings.HasPrefix(x.Request.Path, pathSystemStatus) {
					t.Errorf("%s: a fraction in %s", filepath.Base(file), x.Request.Path)
				}
			}
		}
		var said struct {
			ID string `json:"response_id"`
		}
		isOne := x.Response.Raw == nil && json.Unmarshal(x.Response.Body, &said) == nil && said.ID != ""
		switch {
		case ok != isOne || env.responseID != said.ID:
			t.Errorf("%s: envelope %v with %q, want %v with %q", filepath.Base(file), ok, env.responseID, isOne, said.ID)
		case ok:
			framed++
		default:
			others++
		}
	}
	if read := framed + others; read == 0 && !t.Failed() {
		t.Errorf("no transcript of %s was read", dir)
	}
	t.Logf("%d answers: %d in the API's envelope (%d with fractions), %d others", framed+others, framed, fractions, others)
}

func readTranscript(t *testing.T, file string) transcript {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var x transcript
	if err := json.Unmarshal(data, &x); err != nil {
		t.Fatalf("%s: %v", filepath.Base(file), err)
	}
	return x
}

// readIndex reads the names of the files that the index has: a step is one name, or one for each version.
func readIndex(t *testing.T, file string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Scenarios map[string]struct{ Steps []any }
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatalf("%s: %v", filepath.Base(file), err)
	}
	names := map[string]bool{}
	for _, sc := range index.Scenarios {
		for _, step := range sc.Steps {
			versions, several := step.([]any)
			if !several {
				versions = []any{step}
			}
			for _, v := range versions {
				name, _ := v.(string)
				names[name] = true
			}
		}
	}
	return names
}
