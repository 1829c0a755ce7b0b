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

// Backup writes a consistent copy of the store to an absolute path that does
// not exist yet, while others go on reading and writing, and verifies the
// copy completely. A copy that does not verify, or that could not be finished,
// is removed again. Its directory must be the owner's alone.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	exists, _, err := checkPath(path)
	switch {
	case err != nil:
		return err
	case exists:
		return fmt.Errorf("%w: %w", ErrBackup, ErrExists)
	}
	if err := makeFile(path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeCopy(path))
		}
	}()
	if err := s.copyInto(ctx, path); err != nil {
		return fmt.Errorf("%w: %w", ErrBackup, classify(err))
	}
	if err := syncFile(path); err != nil {
		return fmt.Errorf("%w: %w", ErrBackup, err)
	}
	_, err = Verify(ctx, Options{Path: path, StoreID: s.storeID, IntegrityKey: s.key, Clock: s.clock}, nil)
	if err != nil {
		return fmt.Errorf("%w: it does not verify: %w", ErrBackup, err)
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
		return fmt.Errorf("the unfinished copy is still there: %w", err)
	}
	return nil
}

// syncFile makes a finished file and its name durable.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
