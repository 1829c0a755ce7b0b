//go:build !unix

package store

import "io/fs"

// ownedByUser: ownership is not a number here; the directory's own access
// rules protect the store.
func ownedByUser(fs.FileInfo) bool { return true }

// widerThanOwner: Unix modes mean nothing here.
func widerThanOwner(fs.FileInfo) bool { return false }
