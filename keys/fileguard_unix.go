//go:build unix

package keys

import (
	"io/fs"
	"os"
	"syscall"
)

const (
	// openNonBlocking: do not wait for a FIFO's other end.
	openNonBlocking = syscall.O_NONBLOCK
	// openNoFollow: do not follow a link either.
	openNoFollow = syscall.O_NOFOLLOW | openNonBlocking
)

func checkOwner(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return refused(ErrDenied, "it belongs to somebody else")
	}
	return nil
}

func ownedByRoot(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0
}
