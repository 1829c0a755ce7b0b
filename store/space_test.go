package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"countersign/core"
)

// A disk that fills up at any moment: the change that met it is refused with
// its class, what was there is untouched, and when there is space again the
// same change goes through.
func TestDiskFull(t *testing.T) {
	r := newRig(t, func(o *Options) { o.layer.vfs = useWatchedVFS(t) })
	c := r.confirm(r.create("a", "t", "i"))
	_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
	r.must(err)
	refused := 0
	for space := int64(0); ; space += 3000 {
		watched.space.Store(space)
		_, err := r.Acquire(r.ctx, c.ID, c.StateVersion)
		watched.space.Store(-1)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrFull) {
			t.Fatalf("with %d bytes left: %v", space, err)
		}
		refused++
		if now, err := r.Load(r.ctx, c.ID); err != nil || now.State != core.Prepared {
			t.Fatalf("with %d bytes left: %s, %v", space, now.State, err)
		}
	}
	if refused < 3 {
		t.Fatalf("only %d refusals", refused)
	}
	now, err := r.Load(r.ctx, c.ID)
	r.must(err)
	if now.State != core.Executing {
		t.Fatalf("state %s", now.State)
	}
	r.reopen()
	r.check()
	t.Logf("disk full: refused at %d sizes, then done", refused)
}

// Of a new store that could not be made whole for want of space nothing is
// left, and it is made when there is some.
func TestDiskFullAtCreation(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "store", "contracts.sqlite3"), StoreID: testID, IntegrityKey: testKey,
		Clock: &testClock{now: testStart}, layer: layer{vfs: useWatchedVFS(t)}}
	watched.space.Store(20_000)
	_, err := Create(t.Context(), o)
	watched.space.Store(-1)
	if !errors.Is(err, ErrFull) {
		t.Fatalf("got %v", err)
	}
	if left := names(t, filepath.Dir(o.Path)); left != "" {
		t.Fatalf("left behind: %s", left)
	}
	s, err := Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	checkStore(t, o)
}

// A directory or a file that may not be written gives its class and a sound
// store. Root may write everywhere, so as root another user runs the test.
func TestReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here that keep an owner from writing; TestReadOnlyFileLayer covers the error")
	}
	if os.Geteuid() == 0 {
		runAsNobody(t)
		return
	}
	r := newRig(t, nil)
	r.create("a", "t", "i")
	r.must(r.Store.Close())
	dir := filepath.Dir(r.opts.Path)
	r.must(os.Chmod(dir, 0o500))
	defer os.Chmod(dir, dirMode)
	_, err := Open(r.ctx, r.opts)
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	r.check()
	r.Store = newStore(r.opts)
}

// The same as SQLite reports it, for every user.
func TestReadOnlyFileLayer(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", "t", "i")
	r.must(r.Store.Close())
	s := newStore(r.opts)
	options := writerOptions()
	options.Set("mode", "ro")
	s.writer = layer{}.connect(s.path, options, 1)
	err := s.bare(r.ctx, "try", func(t *tx) error { _, err := t.exec("DELETE FROM contracts"); return err })
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	s.disconnect()
	r.check()
	r.Store = newStore(r.opts)
}
