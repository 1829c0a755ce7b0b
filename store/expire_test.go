package store

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/core"
)

// shippedIdentifiers calls f with every identifier of every file that ships.
func shippedIdentifiers(t *testing.T, f func(path string, id *ast.Ident)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				f(filepath.ToSlash(path), id)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d files were read", files)
	}
}

// Releasing a PREPARED contract is the owner's decision: no command, screen,
// sweep or timer reaches ExpirePrepared (design rule 9; seed 000).
func TestNothingReachesExpirePrepared(t *testing.T) {
	const name = "ExpirePrepared"
	mentioned := map[string]int{}
	shippedIdentifiers(t, func(path string, id *ast.Ident) {
		if id.Name == name {
			mentioned[path]++
		}
	})
	if len(mentioned) != 1 || mentioned["../store/expire.go"] != 1 {
		t.Errorf("%s is mentioned in %v; only its definition in store/expire.go may", name, mentioned)
	}
	if _, found := reflect.TypeFor[core.Store]().MethodByName(name); found {
		t.Errorf("the engine's port offers %s", name)
	}
	if _, found := reflect.TypeFor[*core.Engine]().MethodByName(name); found {
		t.Errorf("the engine offers %s", name)
	}
}

// The store cannot contact the appliance or the anchor: it knows none of
// their ports and no network, so nothing it does, expiry included, can touch them.
func TestTheStoreKnowsNoApplianceAndNoAnchor(t *testing.T) {
	ports := map[string]bool{"Anchor": true, "Reader": true, "Sender": true, "Loader": true}
	core := 0
	entries, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range entries {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			switch name, err := strconv.Unquote(spec.Path.Value); {
			case err != nil:
				t.Fatal(err)
			case name == "net/url": // names a database file, and contacts nothing
			case name == "net", strings.HasPrefix(name, "net/"), name == "crypto/tls", name == "os/exec":
				t.Errorf("%s imports %s", path, name)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "core" {
					core++
					if ports[s.Sel.Name] {
						t.Errorf("%s mentions core.%s", path, s.Sel.Name)
					}
				}
			}
			return true
		})
	}
	if core < 100 {
		t.Fatalf("only %d mentions of core were found", core)
	}
}

// The four preconditions: exactly PREPARED, really expired by the store's own
// clock, never confirmed, and the version that was seen. Each failure leaves
// everything as it was; success frees the key and touches nothing else.
func TestExpirePreparedPreconditions(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("a", "t", "i")
	markOf := func() uint64 {
		t.Helper()
		h, err := r.Health(r.ctx)
		r.must(err)
		return h.Mark
	}
	mark := markOf()
	says := map[string]string{
		"its window is open": "has not expired", "one microsecond is left": "has not expired",
		"another version was seen": "changed meanwhile", "it has another version by now": "changed meanwhile",
		"it has expired already": "only a PREPARED contract", "it was confirmed": "is confirmed",
	}
	refuse := func(why string, version int64) {
		t.Helper()
		before := everything(t, r.readers)
		_, err := r.ExpirePrepared(r.ctx, c.ID, version)
		if !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), says[why]) {
			t.Fatalf("although %s: got %v, want %v: %s", why, err, core.ErrConflict, says[why])
		}
		if everything(t, r.readers) != before {
			t.Fatalf("although %s: the refusal left something behind", why)
		}
	}
	refuse("its window is open", c.StateVersion)
	r.clock.add(testValidity - time.Microsecond)
	refuse("one microsecond is left", c.StateVersion)
	r.clock.add(time.Microsecond)
	refuse("another version was seen", c.StateVersion+1)
	expired, err := r.ExpirePrepared(r.ctx, c.ID, c.StateVersion)
	if err != nil || expired.State != core.Expired {
		t.Fatalf("got %s, %v", expired.State, err)
	}
	refuse("it has another version by now", c.StateVersion)
	refuse("it has expired already", expired.StateVersion)
	if markOf() != mark {
		t.Fatal("expiring moved the high-water mark")
	}
	b := r.create("b", "t", "i")
	confirmed := r.confirm(b)
	r.clock.add(2 * testValidity)
	c = confirmed
	refuse("it was confirmed", confirmed.StateVersion)
	r.check()
}
