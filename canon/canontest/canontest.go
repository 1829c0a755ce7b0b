// Package canontest finds and loads the conformance cases for the tests of
// every package. The cases were produced by running the reference
// implementation of the seeds; they are data and never edited.
package canontest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// DirVariable names the environment variable that points tests at another
// directory of conformance cases of the same shape.
const DirVariable = "COUNTERSIGN_CONFORMANCE"

// Dir returns the directory of the conformance cases: the value of
// DirVariable, or testdata/conformance of this module.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir
	}
	return filepath.Join(moduleRoot(t), "testdata", "conformance")
}

// moduleRoot walks up from the working directory, which for a test is the
// directory of its package, to the go.mod file.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}

// Load decodes the named case file, which must hold one JSON value, into the
// value that into points at. Numbers that land in an interface are
// json.Number. Fields that into does not have are ignored.
func Load(t testing.TB, name string, into any) {
	t.Helper()
	file, err := os.Open(filepath.Join(Dir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("conformance %s: %v", name, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("conformance %s: more than one JSON value", name)
	}
}

// Count logs how many cases of a file were run, and fails the test if there
// were none: an empty or renamed list must not pass unseen.
func Count(t testing.TB, file string, n int) {
	t.Helper()
	if n == 0 {
		t.Errorf("conformance %s: no cases", file)
		return
	}
	t.Logf("conformance %s: %d cases", file, n)
}
