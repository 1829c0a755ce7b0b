package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"countersign/core"
)

// What a power cut can leave of a store in WAL mode is its database file and
// some prefix of the log. Every prefix, cut at each frame's edges and inside
// each frame, must be a moment of the history: the commits up to some point
// whole, and nothing of the later ones.
func TestPowerLossLeavesAPrefixOfHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	history := []string{"no tables"}
	var database, log []byte
	remember := func(name string) {
		if filepath.Base(name) != "after commit" {
			return
		}
		history = append(history, dump(t, path))
		database, log = readBoth(t, path)
	}
	if err := playCrash(path, remember); err != nil {
		t.Fatal(err)
	}
	reached := map[int]bool{}
	last, cuts := -1, 0
	for _, cut := range walCuts(log) {
		path := afterCut(t, database, log[:cut])
		at := slices.Index(history, dump(t, path))
		if at < 0 {
			t.Fatalf("cut at %d: a state that never was", cut)
		}
		if at < last {
			t.Fatalf("cut at %d: moment %d, although less was left of the log at moment %d", cut, at, last)
		}
		switch o := (Options{Path: path, StoreID: testID, IntegrityKey: testKey}); {
		case at == last:
		case at == 0: // before the tables were made, and there is no store yet
			if _, err := Verify(t.Context(), o, nil); !errors.Is(err, ErrEmpty) {
				t.Fatalf("cut at %d: verified with %v, want %v", cut, err, ErrEmpty)
			}
		default:
			checkStore(t, o)
		}
		last, cuts = at, cuts+1
		reached[at] = true
		os.RemoveAll(filepath.Dir(path))
	}
	if last != len(history)-1 {
		t.Errorf("the whole log leads to moment %d of %d", last, len(history)-1)
	}
	t.Logf("power loss: %d cuts of a log of %d bytes, each one of %d moments", cuts, len(log), len(reached))
}

func readBoth(t *testing.T, path string) (database, log []byte) {
	t.Helper()
	var errDatabase, errLog error
	// The file may not be opened and closed by this process while SQLite has
	// it locked; a copy by another one may.
	dir := t.TempDir()
	errDatabase = copyFile(path, filepath.Join(dir, "db"))
	errLog = copyFile(path+"-wal", filepath.Join(dir, "wal"))
	database, errA := os.ReadFile(filepath.Join(dir, "db"))
	log, errB := os.ReadFile(filepath.Join(dir, "wal"))
	if err := errors.Join(errDatabase, errLog, errA, errB); err != nil {
		t.Fatal(err)
	}
	return database, log
}

// walCuts are the lengths at which a log is cut: every frame's edge, and
// inside the frames that commit something: after one byte, in the header, in
// the page.
func walCuts(log []byte) []int {
	const header, frameHeader = 32, 24
	cuts := []int{0, header / 2, header}
	if len(log) < header {
		return cuts
	}
	frame := frameHeader + int(binary.BigEndian.Uint32(log[8:12]))
	for at := header; at+frame <= len(log); at += frame {
		if commits := binary.BigEndian.Uint32(log[at+4:]) != 0; commits {
			cuts = append(cuts, at+1, at+frameHeader/2, at+frame/2, at+frame-1)
		}
		cuts = append(cuts, at+frame)
	}
	return cuts
}

// afterCut is the store that is left after the lights went out.
func afterCut(t *testing.T, database, log []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	err := errors.Join(os.Mkdir(filepath.Dir(path), dirMode), os.WriteFile(path, database, fileMode),
		os.WriteFile(path+"-wal", log, fileMode))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A store that was not closed is opened with all that was committed, and a
// second time from its database file alone.
func TestUncleanEndLosesNothing(t *testing.T) {
	r := newRig(t, nil)
	c := r.acquire(r.confirm(r.create("a", "t", "i")))
	database, log := readBoth(t, r.opts.Path)
	dir := filepath.Join(t.TempDir(), "store")
	o := r.opts
	o.Path = filepath.Join(dir, "contracts.sqlite3")
	r.must(errors.Join(os.Mkdir(dir, dirMode), os.WriteFile(o.Path, database, fileMode), os.WriteFile(o.Path+"-wal", log, fileMode)))
	for range 2 {
		s, err := Open(r.ctx, o)
		r.must(err)
		found, err := s.Load(r.ctx, c.ID)
		r.must(err)
		if found.State != core.Executing {
			t.Fatalf("the acquisition is lost: %s", found.State)
		}
		r.must(s.Close())
		if _, err := os.Lstat(o.Path + "-wal"); err == nil {
			t.Fatal("a closed store left its log")
		}
	}
}

// A file that the reference left in the middle of a transaction has a
// rollback journal beside it: the transaction is undone, as SQLite does, and
// what was before it is found.
func TestJournalThatTheReferenceLeft(t *testing.T) {
	m := loadManifest(t)
	o := m.options(t, "v8_small.sqlite3")
	before := rawRows(t, o.Path, "SELECT contract_id, mac FROM contracts ORDER BY 1")
	options := writerOptions()
	options["_pragma"] = []string{"journal_mode(DELETE)", "cache_size(2)"} // pages are written before the commit
	db := layer{}.connect(o.Path, options, 1)
	tx, err := db.Begin()
	must(t, err)
	_, err = tx.Exec("UPDATE contracts SET mac = 'x', payload = zeroblob(4000)")
	must(t, err)
	cut := filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	must(t, errors.Join(os.Mkdir(filepath.Dir(cut), dirMode), copyFile(o.Path, cut), copyFile(o.Path+"-journal", cut+"-journal")))
	must(t, errors.Join(tx.Rollback(), db.Close()))
	o.Path = cut
	s, err := Open(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	after := rawRows(t, cut, "SELECT contract_id, mac FROM contracts ORDER BY 1")
	if !reflect.DeepEqual(before, after) {
		t.Errorf("found %v, want %v", after, before)
	}
	checkStore(t, o)
}
