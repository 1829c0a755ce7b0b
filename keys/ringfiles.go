package keys

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const maxRingFile = 4 * MaxSecret // bytes of an item's file

// makeDirs makes the missing ones of folders, each inside the one before, for
// the owner alone.
func makeDirs(folders ...string) error {
	for _, folder := range folders {
		err := os.Mkdir(folder, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return ioClass(err)
		}
		if err := syncPath(filepath.Dir(folder)); err != nil {
			return err
		}
	}
	return nil
}

// openRoot checks a store's folder and the one around it, and holds on to the
// very folder it checked.
func openRoot(c FileRingConfig, dir string) (*FileRing, error) {
	outer, err := os.Lstat(filepath.Dir(dir))
	if err != nil {
		return nil, missingDir(err)
	}
	inner, err := os.Lstat(dir)
	if err != nil {
		return nil, missingDir(err)
	}
	for _, folder := range []fs.FileInfo{outer, inner} {
		if err := checkGuarded(folder, fs.ModeDir|0o700); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, missingDir(err)
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(inner, opened) {
		_ = root.Close()
		return nil, refused(ErrDenied, "the folder was replaced meanwhile")
	}
	return &FileRing{path: dir, store: c.StoreID, dir: root, random: c.Random}, nil
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
func (r *FileRing) inspect(file string) (fs.FileInfo, error) {
	info, err := r.dir.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		ours, err1 := r.dir.Stat(".")
		named, err2 := os.Lstat(r.path)
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

func (r *FileRing) readFile(file string) ([]byte, error) {
	f, err := r.openChecked(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxRingFile+1))
	if err != nil || len(raw) > maxRingFile {
		clear(raw)
		return nil, ErrCorrupt
	}
	return raw, nil
}

// openChecked opens the very file that inspect saw. If a Replace came between
// the two it looks again.
func (r *FileRing) openChecked(file string) (*os.File, error) {
	for range 10 {
		seen, err := r.inspect(file)
		if err != nil {
			return nil, err
		}
		f, err := r.dir.OpenFile(file, os.O_RDONLY|openNoFollow, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, ioClass(err)
		}
		if opened, err := f.Stat(); err == nil && os.SameFile(seen, opened) {
			return f, nil
		}
		_ = f.Close()
	}
	return nil, refused(ErrDenied, "the file keeps being replaced")
}

// write makes raw durable in a new file, lets put move it to its place, and
// makes that durable too. It is called under the lock.
func (r *FileRing) write(raw []byte, put func(temp string) error) error {
	r.sweep()
	temp := ringTempPrefix + rand.Text()
	defer func() { _ = r.dir.Remove(temp) }()
	f, err := r.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return ioClass(err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err != nil {
		return ioClass(err)
	}
	if err := put(temp); err != nil {
		return err
	}
	return r.syncDir()
}

// sweep removes what a crash left half-done; under the lock nobody else owns it.
func (r *FileRing) sweep() {
	names, _ := r.list()
	for _, name := range names {
		if strings.HasPrefix(name, ringTempPrefix) {
			_ = r.dir.Remove(name)
		}
	}
}

func (r *FileRing) hasNoItems() (bool, error) {
	names, err := r.list()
	for _, name := range names {
		if !strings.HasPrefix(name, ".") {
			return false, nil
		}
	}
	return err == nil, err
}

func (r *FileRing) list() ([]string, error) {
	folder, err := r.dir.Open(".")
	if err != nil {
		return nil, ioClass(err)
	}
	defer func() { _ = folder.Close() }()
	names, err := folder.Readdirnames(-1)
	return names, ioClass(err)
}

func (r *FileRing) syncDir() error {
	folder, err := r.dir.Open(".")
	if err != nil {
		return ioClass(err)
	}
	defer func() { _ = folder.Close() }()
	return ioClass(folder.Sync())
}

func syncPath(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return ioClass(err)
	}
	defer func() { _ = folder.Close() }()
	return ioClass(folder.Sync())
}

// missingDir: a folder that is not there may just not be mounted, so it never
// means "no key yet".
func missingDir(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return refused(ErrNoService, "there is no such keyring; init makes one")
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
