// Package canontest finds, checks and loads the conformance cases for the
// tests of every package. The cases were produced by running the reference
// implementation of the seeds; they are data and never edited.
package canontest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// DirVariable names the environment variable that points tests at another
// directory of conformance cases of the same shape.
const DirVariable = "COUNTERSIGN_CONFORMANCE"

// Locate returns the absolute directory of the conformance cases: the value of
// DirVariable, or testdata/conformance of this module. A relative value counts
// from the root of the module, since a test runs in its package's directory
// and not where the variable was set.
func Locate() (string, error) {
	dir := os.Getenv(DirVariable)
	if filepath.IsAbs(dir) {
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if dir == "" {
		dir = filepath.Join("testdata", "conformance")
	}
	return filepath.Join(root, dir), nil
}

// Dir is Locate for a test, which ends where there is no directory.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := Locate()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// moduleRoot walks up from the working directory, which for a test is the
// directory of its package, to the go.mod file.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}

// Load decodes the named case file, which must have the shape that the tests
// know, into the value that into points at. Numbers that land in an interface
// are json.Number. Fields that into does not have are ignored.
func Load(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Dir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure(name, data); err != nil {
		t.Fatal(err)
	}
	if err := decode(data, into); err != nil {
		t.Fatalf("conformance %s: %v", name, err)
	}
}

// decode reads exactly one JSON value.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Ran logs how many cases of each section of a file a test has run, and fails
// the test where that is not what the file holds and announces: cases that
// were renamed, or not decoded, must not pass unseen.
func Ran(t testing.TB, name string, cases map[string]int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Dir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := measure(name, data)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, s := range sections(name) {
		n, ran := cases[s.path]
		if ran {
			text += fmt.Sprintf(" %d %s,", n, s.path)
		}
		if ran && n != sizes[s.path] {
			t.Errorf("conformance %s: %d of %d %s were run", name, n, sizes[s.path], s.path)
		}
	}
	for path := range cases {
		if _, known := sizes[path]; !known {
			t.Errorf("conformance %s: no section is called %s", name, path)
		}
	}
	t.Logf("conformance %s:%s all of them run", name, text)
}
