//go:build !unix

package keys

import "io/fs"

const openNonBlocking, openNoFollow = 0, 0

// checkOwner refuses: without Unix owners and modes nothing here can prove
// that files are the owner's alone.
func checkOwner(fs.FileInfo) error {
	return refused(ErrDenied, "a file keyring needs a Unix system")
}

func ownedByRoot(fs.FileInfo) bool { return false }
