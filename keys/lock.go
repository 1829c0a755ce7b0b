package keys

import (
	"context"
	"os"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockWait  = 5 * time.Second
	lockRetry = 10 * time.Millisecond
)

// withFileLock runs work while it alone, of all processes and goroutines,
// holds the lock on path. The kernel releases it if we die. Errors: ErrTimeout
// if another holds it too long, ErrDenied if the file cannot be opened.
func withFileLock(ctx context.Context, path string, work func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|openNoFollow), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, lockRetry); !ok {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		_ = err
		return refused(ErrDenied, "its lock file cannot be opened")
	}
	defer func() { _ = lock.Unlock() }()
	return work()
}
