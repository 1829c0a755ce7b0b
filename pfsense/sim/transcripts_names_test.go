package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTranscriptsRenamed: how an exchange is played, and what must agree, do not hang on what somebody called it.
// It plays a copy with other names: all scenarios with something special in them and a tenth of the others.
func TestTranscriptsRenamed(t *testing.T) {
	if testing.Short() {
		t.Skip("replays a good part of the transcripts a second time: not under -short")
	}
	excused := readExcuses(t)
	dir := t.TempDir()
	index, oldNames := renamedCopy(t, transcriptDir(), dir)
	outcome, _ := replayAll(t, dir, index)
	for _, problem := range missed(t, dir, index, outcome, nil) {
		t.Error(problem)
	}
	for _, name := range slices.Sorted(maps.Keys(outcome)) {
		if old := oldNames[name]; len(outcome[name]) > 0 && excused[old] == "" {
			t.Errorf("%s, renamed %s:\n%s", old, name, strings.Join(outcome[name], "\n"))
		}
	}
	t.Logf("transcripts: %d files of %d scenarios replayed under other names", len(outcome), len(index.Scenarios))
}

// renamedCopy writes the copy and returns its index and the old name of each file.
func renamedCopy(t *testing.T, from, to string) (renamed transcriptIndex, oldNames map[string]string) {
	var index transcriptIndex
	readJSONFile(t, filepath.Join(from, "index.json"), &index)
	renamed = transcriptIndex{Scenarios: map[string]scenario{}}
	oldNames = map[string]string{}
	for i, key := range slices.Sorted(maps.Keys(index.Scenarios)) {
		sc := index.Scenarios[key]
		if i%10 != 0 && !special(t, from, sc) {
			continue
		}
		out := scenario{StartsFrom: sc.StartsFrom}
		for _, files := range sc.Steps {
			var names step
			for _, file := range files {
				name := fmt.Sprintf("exchange%04d", len(oldNames))
				oldNames[name] = strings.TrimSuffix(file, ".json")
				copyRenamed(t, filepath.Join(from, file), filepath.Join(to, name+".json"), name)
				names = append(names, name+".json")
			}
			out.Steps = append(out.Steps, names)
		}
		renamed.Scenarios[fmt.Sprintf("area.scenario%03d", i)] = out
	}
	return renamed, oldNames
}

// special: the scenario is more than requests that a client library sends one after the other to the built-in start.
func special(t *testing.T, dir string, sc scenario) bool {
	if sc.StartsFrom != "seed" {
		return true
	}
	for _, file := range slices.Concat(sc.Steps...) {
		tr := &transcript{}
		readJSONFile(t, filepath.Join(dir, file), tr)
		if tr.byHand() || tr.Response.Status == nil || tr.Response.Headers["content-encoding"] != "" {
			return true
		}
	}
	return false
}

func copyRenamed(t *testing.T, from, to, name string) {
	fields := map[string]json.RawMessage{}
	readJSONFile(t, from, &fields)
	for _, k := range []string{"name", "area", "scenario", "does", "differs_from"} {
		if _, has := fields[k]; has {
			fields[k], _ = json.Marshal(name)
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTranscriptsMissed: a directory that is not replayed in full does not pass.
func TestTranscriptsMissed(t *testing.T) {
	one := transcriptIndex{Scenarios: map[string]scenario{"a": {StartsFrom: "seed", Steps: []step{{"one.json", "two.json"}}}}}
	both := map[string][]string{"one": nil, "two": nil}
	for _, c := range []struct {
		name    string
		index   transcriptIndex
		files   []string
		outcome map[string][]string
		excused map[string]string
		want    string // in the only problem; empty: none
	}{
		{"all replayed", one, []string{"index.json", "one.json", "two.json", "notes.txt"}, both, nil, ""},
		{"excused", one, []string{"one.json"}, map[string][]string{"one": nil}, map[string]string{"two": "reason"}, ""},
		{"nothing replayed", transcriptIndex{}, []string{"index.json"}, nil, nil, "no transcript of "},
		{"a file that no scenario has", one, []string{"one.json", "extra.json"}, both, nil, "extra.json is not in index.json"},
		{"a version that no profile has", one, []string{"one.json"}, map[string][]string{"one": nil}, nil, "two.json was not replayed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := missed(t, dir, c.index, c.outcome, c.excused)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("problems %q, want none", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("problems %q, want only %q", got, c.want)
			}
		})
	}
}
