package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file without a table is not a store: verifying it says so instead of
// praising no records, and whoever wants a store that exists leaves it as it
// is. Only an opening that may make one does.
func TestFileThatIsNotAStoreYet(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, path string){
		"zero bytes": func(*testing.T, string) {},
		"a database without tables": func(t *testing.T, path string) {
			db := layer{}.connect(path, writerOptions(), 1)
			defer db.Close()
			for _, statement := range []string{"CREATE TABLE t (x)", "DROP TABLE t", "PRAGMA journal_mode = DELETE"} {
				_, err := db.Exec(statement)
				must(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Path: filepath.Join(t.TempDir(), "store", "contracts.sqlite3"), StoreID: testID, IntegrityKey: testKey,
				Clock: &testClock{now: testStart}, Limits: openLimits}
			must(t, makeFile(o.Path))
			fill(t, o.Path)
			before := fileSum(t, o.Path)
			report, err := Verify(t.Context(), o, nil)
			if !errors.Is(err, ErrEmpty) || report.OK || report.Explain != ErrEmpty.Error() {
				t.Errorf("verified with %v as %+v", err, report)
			}
			existing := o
			existing.Existing = true
			if _, err := Open(t.Context(), existing); !errors.Is(err, ErrEmpty) {
				t.Errorf("opened as one that exists: %v", err)
			}
			if fileSum(t, o.Path) != before || names(t, filepath.Dir(o.Path)) != filepath.Base(o.Path) {
				t.Error("something was changed")
			}
			s, err := Open(t.Context(), o)
			must(t, err)
			must(t, s.Close())
			s, err = Open(t.Context(), existing)
			must(t, err)
			must(t, s.Close())
			checkStore(t, o)
			must(t, os.Remove(o.Path))
			if _, err := Open(t.Context(), existing); !errors.Is(err, ErrMissing) {
				t.Errorf("opened where nothing is: %v", err)
			}
		})
	}
}
