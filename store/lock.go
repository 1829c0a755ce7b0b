package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"countersign/core"
)

// Lock is the executor lock: an advisory lock of the operating system on a
// file beside the store, which the kernel releases when its holder dies
// (design section 4, rule 8). Who holds it is written in a second file, for
// people; nothing is decided by that text.
type Lock struct {
	mu     sync.Mutex
	file   *flock.Flock
	holder string // path of the description
	mine   string
	held   bool
}

var _ core.Lock = (*Lock)(nil)

// NewLock names the lock of the store at path; it takes nothing yet. The
// directory must be the owner's alone (ErrPath).
func NewLock(path string) (*Lock, error) {
	if _, _, err := checkPath(path); err != nil {
		return nil, err
	}
	return &Lock{file: flock.New(path+".lock", flock.SetPermissions(fileMode)), holder: path + ".holder"}, nil
}

// TryAcquire reports whether this process now holds the lock.
func (l *Lock) TryAcquire() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return true, nil
	}
	got, err := l.file.TryLock()
	if err != nil {
		return false, fmt.Errorf("%w: the executor lock", ErrIO)
	}
	if !got {
		return false, nil
	}
	l.held, l.mine = true, describeHolder(time.Now())
	// A description that cannot be written only costs the others a name.
	_ = os.WriteFile(l.holder, []byte(l.mine+"\n"), fileMode)
	return true, nil
}

// Held reports whether this process holds the lock.
func (l *Lock) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// Holder describes who holds the lock: "jo@jump1 since 13:58 (process
// 4121)"; "" when nobody has said.
func (l *Lock) Holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return l.mine
	}
	const most = 200
	text, err := os.ReadFile(l.holder)
	if err != nil || len(text) > most {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Release gives the lock up. The lock file stays: deleting it would let two
// processes lock two different files.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return nil
	}
	l.held = false
	if err := os.Remove(l.holder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%w: the executor lock's description", ErrIO), l.file.Close())
	}
	return l.file.Close()
}

func describeHolder(now time.Time) string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return fmt.Sprintf("%s@%s since %s (process %d)", name, host, now.Format("15:04"), os.Getpid())
}
