package canontest_test

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/canon/canontest"
)

func TestDir(t *testing.T) {
	t.Setenv(canontest.DirVariable, "")
	dir := canontest.Dir(t)
	if _, err := os.Stat(filepath.Join(dir, "digests.json")); err != nil {
		t.Errorf("Dir() = %s: %v", dir, err)
	}
	other := t.TempDir()
	t.Setenv(canontest.DirVariable, other)
	if got := canontest.Dir(t); got != other {
		t.Errorf("Dir() = %s, want the directory of the environment %s", got, other)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(canontest.DirVariable, dir)
	text := `{"count":9007199254740993,"more":[1]}`
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Count any `json:"count"`
	}
	canontest.Load(t, "x.json", &got)
	if number, isNumber := got.Count.(interface{ String() string }); !isNumber || number.String() != "9007199254740993" {
		t.Errorf("count = %v, want every digit of it", got.Count)
	}
}
