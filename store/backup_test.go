package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A copy holds exactly one moment, whatever happens meanwhile, and opens as a
// store of its own.
func TestBackupIsOneMoment(t *testing.T) {
	r := newRig(t, nil)
	a := r.create("a", "t-a", "i-a")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				r.create(fmt.Sprintf("more-%d", i), fmt.Sprintf("t-%d", i), "i")
			}
		}
	}()
	path := filepath.Join(t.TempDir(), "copies", "copy.sqlite3")
	r.must(os.MkdirAll(filepath.Dir(path), 0o700))
	r.must(r.Backup(r.ctx, path))
	close(stop)
	<-done
	info, err := os.Stat(path)
	r.must(err)
	if info.Mode().Perm() != fileMode {
		t.Fatalf("the copy has mode %v", info.Mode())
	}
	opts := r.opts
	opts.Path = path
	copied, err := Open(r.ctx, opts)
	r.must(err)
	defer copied.Close()
	if _, err := copied.Load(r.ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.Backup(r.ctx, path); !errors.Is(err, ErrExists) {
		t.Fatalf("a second copy over the first: %v", err)
	}
}

// What is flawed is not passed on as a good copy, and nothing is left behind.
func TestBackupRefusesAFlawedStore(t *testing.T) {
	r := newRig(t, nil)
	c := r.create("a", "t-a", "i-a")
	if _, err := r.writer.Exec("UPDATE contracts SET mac = ? WHERE contract_id = ?", "00", c.ID); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(r.opts.Path), "copy.sqlite3")
	if err := r.Backup(r.ctx, path); !errors.Is(err, ErrBackup) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("the flawed copy is still there")
	}
}

func TestBackupCancelledLeavesNothing(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", "t-a", "i-a")
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	path := filepath.Join(filepath.Dir(r.opts.Path), "copy.sqlite3")
	if err := r.Backup(ctx, path); err == nil {
		t.Fatal("a cancelled copy was reported as made")
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("the unfinished copy is still there")
	}
}

// playBackupChild copies a store in a process of its own and kills itself at
// the n-th fault point.
func playBackupChild(args []string) int {
	n, _ := strconv.Atoi(args[2])
	o := Options{Path: args[0], StoreID: testID, IntegrityKey: testKey, Clock: &testClock{now: testStart}, FaultPoint: killAt(n)}
	s, err := Open(context.Background(), o)
	if err == nil {
		err = s.Backup(context.Background(), args[1])
	}
	fmt.Println("survived:", err)
	return 3
}

// copies is what is in a folder of copies: those under their own names, and
// those that are not finished.
func copies(t *testing.T, dir string) (finished, partial []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != fileMode {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
		if strings.Contains(e.Name(), unfinished) {
			partial = append(partial, e.Name())
		} else {
			finished = append(finished, e.Name())
		}
	}
	return finished, partial
}

// A process that is killed while it copies leaves a whole, verified copy under
// the final name or none at all; what else it leaves is named as unfinished
// and is in nobody's way.
func TestCrashMatrixOfBackup(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(200)
	points := []string{"before copy", "after copy", "before name", "after name"}
	for n, name := range points {
		o := r.opts
		o.Path = filepath.Join(t.TempDir(), "copies", "copy.sqlite3")
		must(t, os.Mkdir(filepath.Dir(o.Path), dirMode))
		out, err := child("backup", r.opts.Path, o.Path, strconv.Itoa(n+1)).CombinedOutput()
		if err == nil || strings.Contains(string(out), "survived") {
			t.Fatalf("%s: the process was not killed: %v %s", name, err, out)
		}
		finished, partial := copies(t, filepath.Dir(o.Path))
		named := name == "after name"
		if (len(finished) == 1) != named || len(partial) != 1 {
			t.Fatalf("%s: left %v and %v", name, finished, partial)
		}
		if err := r.Backup(r.ctx, o.Path); named != errors.Is(err, ErrExists) || (err != nil) != named {
			t.Fatalf("%s: the next copy: %v", name, err)
		}
		checkStore(t, o)
		if finished, still := copies(t, filepath.Dir(o.Path)); len(finished) != 1 || !slices.Equal(still, partial) {
			t.Fatalf("%s: after the next copy: %v and %v", name, finished, still)
		}
	}
	t.Logf("backup: killed at %d points; no unfinished copy under its final name", len(points))
}

// The same while SQLite is writing the copy, at a moment that nobody chose.
func TestCrashMatrixOfACopyUnderWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fill(1000)
	inTheMiddle := 0
	for range 3 {
		path := filepath.Join(t.TempDir(), "copies", "copy.sqlite3")
		must(t, os.Mkdir(filepath.Dir(path), dirMode))
		process := child("backup", r.opts.Path, path, "0")
		must(t, process.Start())
		ended := make(chan struct{})
		go func() { process.Wait(); close(ended) }()
		for begun := false; !begun; {
			select {
			case <-ended:
				t.Fatal("the process ended before it was seen copying")
			case <-time.After(time.Millisecond):
				names, _ := filepath.Glob(path + unfinished + "*")
				for _, name := range names {
					info, err := os.Stat(name)
					begun = begun || err == nil && info.Size() > 0
				}
			}
		}
		must(t, process.Process.Kill())
		<-ended
		o := r.opts
		o.Path = path
		if finished, _ := copies(t, filepath.Dir(path)); len(finished) == 0 {
			inTheMiddle++
			must(t, r.Backup(r.ctx, path))
		}
		checkStore(t, o)
	}
	t.Logf("backup: of 3 processes killed while they copied, %d left no copy, the others a whole one", inTheMiddle)
}

// A name that is taken meanwhile is not overwritten.
func TestBackupOverwritesNothing(t *testing.T) {
	r := newRig(t, nil)
	path := filepath.Join(filepath.Dir(r.opts.Path), "copy.sqlite3")
	other := newStore(r.opts)
	other.faultPoint = func(name string) {
		if name == "backup/before name" {
			r.must(os.WriteFile(path, []byte("somebody else's"), fileMode))
		}
	}
	if err := other.Backup(r.ctx, path); !errors.Is(err, ErrBackup) || !errors.Is(err, ErrExists) {
		t.Fatalf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "somebody else's" {
		t.Fatalf("%q %v", text, err)
	}
	if left, err := filepath.Glob(path + unfinished + "*"); err != nil || len(left) != 0 {
		t.Fatalf("left %v %v", left, err)
	}
}
