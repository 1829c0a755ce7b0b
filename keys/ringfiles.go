package keys

import (
	"crypto/rand"
	"errors"
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

// openRoot checks a store's folder and the one around it.
func openRoot(c FileRingConfig, dir string) (*FileRing, error) {
	if _, err := checkFolder(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	checked, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	return &FileRing{store: c.StoreID, dir: checked, random: c.Random}, nil
}

func (r *FileRing) readFile(file string) ([]byte, error) {
	raw, err := r.dir.read(file, maxRingFile)
	if errors.Is(err, ErrTooLarge) {
		return nil, ErrCorrupt
	}
	return raw, err
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
	return r.dir.sync()
}

// sweep removes what a crash left half-done; under the lock nobody else owns it.
func (r *FileRing) sweep() {
	names, _ := r.dir.list(0)
	for _, name := range names {
		if strings.HasPrefix(name, ringTempPrefix) {
			_ = r.dir.Remove(name)
		}
	}
}

func (r *FileRing) hasNoItems() (bool, error) {
	names, err := r.dir.list(0)
	for _, name := range names {
		if !strings.HasPrefix(name, ".") {
			return false, nil
		}
	}
	return err == nil, err
}
