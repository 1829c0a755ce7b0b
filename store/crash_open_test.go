package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Opening changes a file in three ways: it makes an empty store, migrates one,
// or takes one over. A process is killed at every fault point of that and
// before every single write, sync, cut and removal of a file that SQLite
// makes meanwhile. What it leaves is the file before a step or after it.

// playOpenChild opens a store in a process of its own and kills itself at the
// n-th fault point, or before the n-th change of a file.
func playOpenChild(args []string) int {
	path, id, keyText, kind := args[0], args[1], args[2], args[3]
	n, _ := strconv.Atoi(args[4])
	key, err := hex.DecodeString(keyText)
	o := Options{Path: path, StoreID: id, IntegrityKey: key, Clock: &testClock{now: testStart}, Settle: -1}
	if kind == "change" {
		err = errors.Join(err, registerWatchedVFS())
		o.layer.vfs = watchedVFS
		watched.dieBefore.Store(int64(n))
	} else {
		o.FaultPoint = killAt(n)
	}
	if err == nil {
		_, err = Open(context.Background(), o)
	}
	fmt.Println("survived:", err)
	return 3
}

// content is all that is in a database, as text, after SQLite has undone what
// was not committed: every table, and the text of every object.
func content(t *testing.T, path string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy")
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			must(t, copyFile(path+suffix, copied+suffix))
		}
	}
	db := layer{}.connect(copied, inspectOptions("rw"), 1)
	defer db.Close()
	return everything(t, db)
}

// everything is the schema and every row of an open database.
func everything(t *testing.T, db *sql.DB) string {
	t.Helper()
	objects := rowsOf(t, db, "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2")
	all := []any{objects}
	for _, o := range objects {
		if o[0] == "table" {
			all = append(all, o[1], rowsOf(t, db, fmt.Sprintf("SELECT * FROM %q ORDER BY 1, 2", o[1])))
		}
	}
	text, err := json.Marshal(all)
	must(t, err)
	return string(text)
}

// moments are the contents that a file goes through while it is opened, and
// how many fault points there are.
func moments(t *testing.T, o Options) (seen []string, points []string) {
	t.Helper()
	seen = []string{content(t, o.Path)}
	o.FaultPoint = func(name string) {
		points = append(points, name)
		if strings.HasSuffix(name, "/after commit") {
			seen = append(seen, content(t, o.Path))
		}
	}
	s, err := Open(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	return seen, points
}

func TestCrashMatrixOfOpening(t *testing.T) {
	t.Parallel()
	m := loadManifest(t)
	for _, c := range []struct {
		file    string
		moments int
		// changes: also before every change of a file. Schema 6 goes through all
		// of it; the others would only show parts of it again.
		changes bool
	}{
		{"v6.sqlite3", 3, true},
		{"v7.sqlite3", 3, false},
		{"v8.sqlite3", 2, false},
		{"corrupted/57_file_empty.sqlite3", 2, false},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			t.Parallel()
			o := m.options(t, c.file)
			seen, points := moments(t, o)
			if len(seen) != c.moments || len(points) != 2*(c.moments-1) {
				t.Fatalf("%d moments, points %v", len(seen), points)
			}
			for n, name := range points {
				at := n / 2
				if strings.HasSuffix(name, "/after commit") {
					at++
				}
				if got := killOpening(t, m, c.file, "point", n+1); got.content != seen[at] {
					t.Errorf("killed at %s: neither before nor after", name)
				}
			}
			t.Logf("opening %s: killed at %s; nothing between before and after", c.file, strings.Join(points, ", "))
			if c.changes {
				killBeforeEveryChange(t, m, c.file, seen)
			}
		})
	}
}

func killBeforeEveryChange(t *testing.T, m manifest, file string, seen []string) {
	t.Helper()
	changes, last := 0, 0
	for ; ; changes++ {
		got := killOpening(t, m, file, "change", changes+1)
		if got.survived {
			break
		}
		at := slices.Index(seen, got.content)
		if at < last {
			t.Fatalf("killed before change %d: moment %d, and one before at %d", changes+1, at, last)
		}
		last = at
	}
	if changes < 100 || last != len(seen)-1 {
		t.Fatalf("%d changes lead to moment %d of %d", changes, last, len(seen)-1)
	}
	t.Logf("opening %s: killed before each of %d changes of a file; %d moments, nothing between them", file, changes, len(seen))
}

type leftBehind struct {
	content  string
	survived bool
}

// killOpening kills a process that opens a file and returns what it left. The
// next opening finishes it.
func killOpening(t *testing.T, m manifest, file, kind string, n int) leftBehind {
	t.Helper()
	o := m.options(t, file)
	defer os.RemoveAll(filepath.Dir(o.Path))
	out, err := child("open", o.Path, o.StoreID, m.Key, kind, strconv.Itoa(n)).CombinedOutput()
	if strings.Contains(string(out), "survived: <nil>") {
		return leftBehind{survived: true}
	}
	if err == nil || len(out) != 0 {
		t.Fatalf("%s %d: the process was not killed: %v %s", kind, n, err, out)
	}
	left := leftBehind{content: content(t, o.Path)}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("%s %d: it cannot be opened any more: %v", kind, n, err)
	}
	must(t, s.Close())
	checkStore(t, o)
	return left
}
