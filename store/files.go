package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The modes of a store: its owner alone may look (seed 003, Persistence and
// integrity). Directory and file are made with them before SQLite sees them;
// SQLite gives its own files beside it the same mode.
const (
	dirMode  = fs.FileMode(0o700)
	fileMode = fs.FileMode(0o600)
)

// sidecars are the files that SQLite may keep beside a database.
func sidecars(path string) []string { return []string{path + "-wal", path + "-shm", path + "-journal"} }

// checkPath accepts an absolute path whose directory and file are the
// owner's alone and no symbolic links. exists is false where there is no
// file yet; an error wraps ErrPath. The file is never opened here: closing
// it would drop SQLite's own locks in this process.
func checkPath(path string) (exists bool, size int64, err error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false, 0, pathError("give an absolute path without . or ..")
	}
	dir, err := os.Lstat(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, pathError("its directory cannot be examined")
	}
	if err := checkOwnerOnly(dir, true); err != nil {
		return false, 0, err
	}
	file, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, pathError("it cannot be examined")
	}
	if err := checkOwnerOnly(file, false); err != nil {
		return false, 0, err
	}
	for _, name := range sidecars(path) {
		if beside, err := os.Lstat(name); err == nil {
			if err := checkOwnerOnly(beside, false); err != nil {
				return false, 0, err
			}
		}
	}
	return true, file.Size(), nil
}

func pathError(what string) error { return fmt.Errorf("%w: %s", ErrPath, what) }

// checkOwnerOnly refuses links, other kinds of files, foreign owners and
// wider modes.
func checkOwnerOnly(info fs.FileInfo, dir bool) error {
	kind := "file"
	if dir {
		kind = "directory"
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return pathError("the " + kind + " is a symbolic link")
	case dir != info.IsDir(), !dir && !info.Mode().IsRegular():
		return pathError("it is not a regular " + kind)
	case !ownedByUser(info):
		return pathError("the " + kind + " belongs to somebody else")
	case widerThanOwner(info):
		return pathError("others may look into the " + kind + "; run chmod go-rwx on it")
	}
	return nil
}

// makeFile makes the directory if it is missing, and an empty file that must
// not exist yet, both durable before SQLite opens it.
func makeFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return pathError("its directory cannot be made; does the one above exist?")
	}
	exists, _, err := checkPath(path)
	if err != nil {
		return err
	}
	if exists {
		return ErrExists
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return pathError("the file cannot be made")
	}
	if err := errors.Join(f.Sync(), f.Close(), syncDir(dir)); err != nil {
		return errors.Join(fmt.Errorf("%w: making the file", ErrIO), Discard(path))
	}
	return nil
}

// Discard removes the files of a store that Create made and nothing was kept
// in: where what is to follow it fails, an installation takes it back. The
// store is closed.
func Discard(path string) error {
	for _, name := range append(sidecars(path), path) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: removing what was made of a store", ErrIO)
		}
	}
	return nil
}

// syncDir makes the entries of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("%w: opening the directory", ErrIO)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w: syncing the directory", ErrIO)
	}
	return nil
}
