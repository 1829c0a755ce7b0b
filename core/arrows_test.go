package core_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed says which rooms a room may import, and which modules besides the
// standard library (design section 1). Arrows point inward.
var allowed = map[string]struct{ rooms, modules []string }{
	"canon":   {nil, []string{"golang.org/x/text"}},
	"core":    {[]string{"canon"}, nil},
	"store":   {[]string{"core", "canon"}, []string{"modernc.org/sqlite", "github.com/gofrs/flock", "golang.org/x/sys"}},
	"pfsense": {[]string{"core", "canon"}, nil},
	"keys":    {[]string{"core", "canon"}, []string{"github.com/zalando/go-keyring", "github.com/godbus/dbus/v5", "github.com/gofrs/flock", "golang.org/x/crypto", "golang.org/x/sys", "golang.org/x/text"}},
	"views":   {[]string{"core"}, []string{"github.com/charmbracelet", "github.com/mattn/go-runewidth", "github.com/aymanbagabas/go-osc52", "github.com/muesli/termenv"}},
	"tui": {[]string{"views", "core"}, []string{"github.com/charmbracelet", "github.com/spf13/cobra", "github.com/BurntSushi/toml",
		"github.com/adrg/xdg", "golang.org/x/term", "github.com/aymanbagabas/go-osc52", "github.com/muesli/termenv"}},
	"": {[]string{"canon", "core", "store", "pfsense", "keys", "views", "tui"}, []string{"golang.org/x/sys", "golang.org/x/term"}},
}

// TestArrows lists the imports of every package that ships and requires that
// each points where the design allows.
func TestArrows(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; packages++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		checkArrows(t, p.ImportPath, p.Imports)
	}
	if packages < 7 {
		t.Fatalf("go list found only %d packages", packages)
	}
}

func checkArrows(t *testing.T, path string, imports []string) {
	t.Helper()
	room := roomOf(path)
	rule, ok := allowed[room]
	if !ok {
		t.Errorf("%s is in a room the design does not know", path)
		return
	}
	for _, imported := range imports {
		switch {
		case imported == "countersign" || strings.HasPrefix(imported, "countersign/"):
			if other := roomOf(imported); other != room && !slices.Contains(rule.rooms, other) {
				t.Errorf("%s imports %s: no arrow from %q to %q", path, imported, room, other)
			}
		case strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
			if !slices.ContainsFunc(rule.modules, func(m string) bool { return strings.HasPrefix(imported, m) }) && !testSupport(path, imported) {
				t.Errorf("%s imports %s, which its room may not", path, imported)
			}
		}
	}
}

// testSupport: packages that only tests import may use what tests use.
func testSupport(path, imported string) bool {
	return strings.HasSuffix(path, "test") &&
		(strings.HasPrefix(imported, "pgregory.net/rapid") || strings.HasPrefix(imported, "golang.org/x/sys"))
}

func roomOf(path string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, "countersign"), "/")
	room, _, _ := strings.Cut(rest, "/")
	return room
}
