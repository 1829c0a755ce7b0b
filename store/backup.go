package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// ErrBackup: the copy could not be made; there is none.
var ErrBackup = errors.New("the copy could not be made")

// unfinished is what the name of a copy has behind it until it is verified.
const unfinished = ".unfinished-"

// Backup writes a consistent copy of the store to an absolute path that does
// not exist yet, while others go on reading and writing, and verifies the
// copy completely. Its directory must be the owner's alone.
//
// The copy is made under a name of its own in that directory, and only when it
// is durable and verified it gets its final name, in one step that overwrites
// nothing. What does not verify or cannot be finished is removed. A process
// that is killed meanwhile leaves its "PATH.unfinished-N", which is in nobody's
// way and may be deleted. The fault points are "backup/before copy",
// "backup/after copy", "backup/before name" and "backup/after name".
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	exists, _, err := checkPath(path)
	switch {
	case err != nil:
		return err
	case exists:
		return fmt.Errorf("%w: %w", ErrBackup, ErrExists)
	}
	temporary, err := makeUnfinished(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBackup, err)
	}
	defer func() { err = errors.Join(err, removeCopy(temporary)) }()
	s.fault("backup/before copy")
	if err := s.copyInto(ctx, temporary); err != nil {
		return fmt.Errorf("%w: %w", ErrBackup, classify(err))
	}
	s.fault("backup/after copy")
	if err := syncFile(temporary); err != nil {
		return fmt.Errorf("%w: %w", ErrBackup, err)
	}
	_, err = Verify(ctx, Options{Path: temporary, StoreID: s.storeID, IntegrityKey: s.key, Clock: s.clock}, nil)
	if err != nil {
		return fmt.Errorf("%w: it does not verify: %w", ErrBackup, err)
	}
	s.fault("backup/before name")
	if err := giveName(temporary, path); err != nil {
		return fmt.Errorf("%w: %w", ErrBackup, err)
	}
	s.fault("backup/after name")
	return nil
}

// makeUnfinished makes an empty file, the owner's alone, under a name that no
// other copy has.
func makeUnfinished(path string) (temporary string, err error) {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", pathError("its directory cannot be made; does the one above exist?")
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+unfinished+"*")
	if err != nil {
		return "", pathError("the file cannot be made")
	}
	return f.Name(), f.Close()
}

// giveName gives a finished file its final name. A hard link fails where the
// name exists, and a rename would not.
func giveName(temporary, path string) error {
	err := os.Link(temporary, path)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return pathError("the finished copy cannot be given its name; choose a directory on another file system")
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, removeCopy(path))
	}
	return nil
}

// copyInto lets SQLite copy one snapshot into the empty file that is the
// owner's alone, on a connection of its own: the store's readers may write to
// no file at all, and its writer must not wait.
func (s *Store) copyInto(ctx context.Context, path string) error {
	options := url.Values{"mode": {"rw"}, "_dqs": {"0"}, "_pragma": {busyTimeout, "synchronous(FULL)", "trusted_schema(0)",
		"cell_size_check(1)", "temp_store(MEMORY)"}}
	db := layer{}.connect(s.path, options, 1)
	_, err := db.ExecContext(ctx, "VACUUM INTO ?", path)
	return errors.Join(err, db.Close())
}

func removeCopy(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: removing a name of the copy", ErrIO)
	}
	return nil
}

// syncFile makes what is in a file durable.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: opening the copy", ErrIO)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%w: syncing the copy", ErrIO)
	}
	return nil
}
