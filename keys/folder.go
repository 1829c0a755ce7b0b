package keys

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// folder is a directory that was found to be ours alone, held open: whatever
// its path names later, files are looked for in the one that was checked.
type folder struct {
	*os.Root
	path string
}

// openFolder checks a directory, not following a link, and holds on to it.
func openFolder(path string) (folder, error) {
	seen, err := checkFolder(path)
	if err != nil {
		return folder{}, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return folder{}, missingDir(err)
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		_ = root.Close()
		return folder{}, refused(ErrDenied, "the folder was replaced meanwhile")
	}
	return folder{root, path}, nil
}

func checkFolder(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, missingDir(err)
	}
	return info, checkGuarded(info, fs.ModeDir|0o700)
}

// checkGuarded refuses what is not of want's kind, not ours, or open to others.
func checkGuarded(info fs.FileInfo, want fs.FileMode) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return refused(ErrDenied, "it is a symbolic link")
	case info.Mode().Type() != want.Type():
		return refused(ErrDenied, "it is not of the expected kind")
	case info.Mode().Perm()&^want.Perm() != 0:
		if want.IsDir() {
			return refused(ErrDenied, "the folder's mode is wider than 0700")
		}
		return refused(ErrDenied, "the file's mode is wider than 0600")
	}
	return checkOwner(info)
}

// inspect looks at a file without following it. Only a folder that is still
// in its place can say that a file is not there.
func (f folder) inspect(file string) (fs.FileInfo, error) {
	info, err := f.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		ours, err1 := f.Stat(".")
		named, err2 := os.Lstat(f.path)
		if err1 != nil || err2 != nil || !os.SameFile(ours, named) {
			return nil, refused(ErrNoService, "its folder is gone")
		}
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, ioClass(err)
	}
	return info, checkGuarded(info, 0o600)
}

// read reads a checked file of at most max bytes; a longer one is ErrTooLarge.
func (f folder) read(file string, max int64) ([]byte, error) {
	opened, err := f.openChecked(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	raw, err := io.ReadAll(io.LimitReader(opened, max+1))
	if err != nil {
		clear(raw)
		return nil, ioClass(err)
	}
	if int64(len(raw)) > max {
		clear(raw)
		return nil, ErrTooLarge
	}
	return raw, nil
}

// openChecked opens the very file that inspect saw. If a Replace came between
// the two it looks again.
func (f folder) openChecked(file string) (*os.File, error) {
	for range 10 {
		seen, err := f.inspect(file)
		if err != nil {
			return nil, err
		}
		opened, err := f.OpenFile(file, os.O_RDONLY|openNoFollow, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, ioClass(err)
		}
		if info, err := opened.Stat(); err == nil && os.SameFile(seen, info) {
			return opened, nil
		}
		_ = opened.Close()
	}
	return nil, refused(ErrDenied, "the file keeps being replaced")
}

// list returns up to max names, in no order; all of them if max is not positive.
func (f folder) list(max int) ([]string, error) {
	dir, err := f.Open(".")
	if err != nil {
		return nil, ioClass(err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(max)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, ioClass(err)
}

func (f folder) sync() error { return syncDir(f.Open(".")) }

func syncPath(path string) error { return syncDir(os.Open(path)) }

func syncDir(dir *os.File, err error) error {
	if err != nil {
		return ioClass(err)
	}
	defer func() { _ = dir.Close() }()
	return ioClass(dir.Sync())
}

// missingDir: a folder that is not there may just not be mounted, so it never
// means "no key yet".
func missingDir(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return refused(ErrNoService, "there is no such folder; init makes it")
	}
	return ioClass(err)
}

func ioClass(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return ErrDenied
	case errors.Is(err, fs.ErrNotExist):
		return refused(ErrNoService, "its folder or a part of it is missing")
	}
	return refused(ErrNoService, "the file system failed")
}
