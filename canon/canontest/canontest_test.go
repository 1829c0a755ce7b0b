package canontest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDir(t *testing.T) {
	t.Setenv(DirVariable, "")
	dir := Dir(t)
	if _, err := os.Stat(filepath.Join(dir, "digests.json")); err != nil {
		t.Errorf("Dir() = %s: %v", dir, err)
	}
	other := t.TempDir()
	t.Setenv(DirVariable, other)
	if got := Dir(t); got != other {
		t.Errorf("Dir() = %s, want the directory of the environment %s", got, other)
	}
	t.Setenv(DirVariable, "testdata/conformance")
	if got := Dir(t); got != dir {
		t.Errorf("Dir() = %s, want a relative directory to count from the module's root: %s", got, dir)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(DirVariable, dir)
	text := `{"count":1,"cases":[9007199254740993]}`
	if err := os.WriteFile(filepath.Join(dir, "idempotency.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Cases []any `json:"cases"`
	}
	Load(t, "idempotency.json", &got)
	if fmt.Sprint(got.Cases) != "[9007199254740993]" {
		t.Errorf("cases = %v, want every digit of the number", got.Cases)
	}
}

func TestCheck(t *testing.T) { Check(t) }

// Whatever is lost from the directory of the cases, or added to it, is named.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Setenv(DirVariable, "") // the numbers below are those of our directory
	for _, c := range []struct {
		file, old, new string // an empty old is the whole file, an empty new no file
		want           string
	}{
		{"new_cases.json", "", "{}", "new_cases.json: no test knows this file"},
		{"stores/extra.sqlite3", "", "x", "stores/extra.sqlite3: no test knows this file"},
		{"stores/v8.sqlite3", "", "", "stores/v8.sqlite3: the file is missing"},
		{"digests.json", "", "", "digests.json: the file is missing"},
		{"digests.json", `"pairs"`, `"pears"`, "pairs is missing or empty"},
		{"digests.json", `"pairs"`, `"pears"`, "no test knows its member pears"},
		{"digests.json", `"reject_count": 14`, `"reject_count": 15`, "14 rejects, but reject_count is 15"},
		{"digests.json", `"reject_count"`, `"rejects_count"`, "reject_count is <nil>"},
		{"idempotency.json", "", `{"count":0,"cases":[]}`, "cases is missing or empty"},
		{"store_ops.json", "", `{"count":2,"scenarios":[{"steps":[1]},{"steps":[]}]}`, "scenarios.*.steps is missing or empty"},
		{"store_ops.json", "", `{"count":1,"scenarios":[{}]}`, "scenarios.*.steps is missing or empty"},
		{"idempotency.json", "", `{"count":1,"cases":[1]}{}`, "more than one JSON value"},
		{"stores/manifest.json", "v7.sqlite3", "v6.sqlite3", "v6.sqlite3 is listed twice"},
	} {
		dir := copyOf(t)
		if dir[c.file] == nil {
			dir[c.file] = &fstest.MapFile{}
		}
		switch data := string(dir[c.file].Data); {
		case c.new == "":
			delete(dir, c.file)
		case c.old == "":
			dir[c.file].Data = []byte(c.new)
		case !strings.Contains(data, c.old):
			t.Fatalf("%s does not contain %s", c.file, c.old)
		default:
			dir[c.file].Data = []byte(strings.ReplaceAll(data, c.old, c.new))
		}
		if err := errors.Join(checkDir(dir)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
	}
}

// copyOf is the directory of the cases in memory. The store files,
// which are not read, are empty there.
func copyOf(t *testing.T) fstest.MapFS {
	t.Helper()
	from, dir := os.DirFS(Dir(t)), fstest.MapFS{}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		dir[name] = &fstest.MapFile{}
		if strings.HasSuffix(name, ".json") {
			dir[name].Data, err = fs.ReadFile(from, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
