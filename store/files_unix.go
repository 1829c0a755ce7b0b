//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUser reports whether the user of this process owns the file.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// widerThanOwner reports whether anybody but the owner has any right.
func widerThanOwner(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
