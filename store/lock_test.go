package store

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// playLockChild holds the executor lock until it is killed.
func playLockChild(args []string) int {
	l, err := NewLock(args[0])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	held, err := l.TryAcquire()
	fmt.Println(held, err)
	time.Sleep(time.Minute)
	return 0
}

// Two consoles, two processes: one executor. The kernel frees the lock when
// its holder is killed, and whoever waits can say who holds it.
func TestLockBetweenProcesses(t *testing.T) {
	r := newRig(t, nil)
	cmd := child("lock", r.opts.Path)
	out, err := cmd.StdoutPipe()
	r.must(err)
	r.must(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	r.must(err)
	if line != "true <nil>\n" {
		t.Fatalf("the other process says %q", line)
	}
	l, err := NewLock(r.opts.Path)
	r.must(err)
	if held, err := l.TryAcquire(); err != nil || held || l.Held() {
		t.Fatalf("both hold the lock: %v %v", held, err)
	}
	if want := fmt.Sprintf("(process %d)", cmd.Process.Pid); !strings.Contains(l.Holder(), want) || !strings.Contains(l.Holder(), "@") {
		t.Errorf("holder %q, want %s", l.Holder(), want)
	}
	r.must(cmd.Process.Kill())
	cmd.Wait()
	if held, err := l.TryAcquire(); err != nil || !held || !l.Held() {
		t.Fatalf("not free after its holder died: %v %v", held, err)
	}
	if want := fmt.Sprintf("(process %d)", os.Getpid()); !strings.Contains(l.Holder(), want) {
		t.Errorf("holder %q, want %s", l.Holder(), want)
	}
	if again, err := l.TryAcquire(); err != nil || !again {
		t.Errorf("asking again: %v %v", again, err)
	}
	r.must(l.Release())
	r.must(l.Release())
	if l.Held() || l.Holder() != "" {
		t.Errorf("after the release: held %v, holder %q", l.Held(), l.Holder())
	}
	for _, name := range []string{".lock"} {
		info, err := os.Stat(r.opts.Path + name)
		r.must(err)
		if info.Mode().Perm() != fileMode {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// Two locks of one process exclude each other as well, and a directory that
// others may enter is refused.
func TestLockInOneProcess(t *testing.T) {
	r := newRig(t, nil)
	a, err := NewLock(r.opts.Path)
	r.must(err)
	b, err := NewLock(r.opts.Path)
	r.must(err)
	for _, l := range []*Lock{a, b} {
		held, err := l.TryAcquire()
		r.must(err)
		if held != (l == a) {
			t.Fatalf("held %v", held)
		}
	}
	r.must(a.Release())
	r.must(os.Chmod(filepath.Dir(r.opts.Path), 0o755))
	if _, err := NewLock(r.opts.Path); err == nil {
		t.Error("a lock in a directory that others may enter")
	}
	r.must(os.Chmod(filepath.Dir(r.opts.Path), dirMode))
}
