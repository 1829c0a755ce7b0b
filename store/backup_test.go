package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
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
