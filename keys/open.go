package keys

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"countersign/core"
)

// OpenRing opens the keyring that spec names and no other: "os" for the
// operating system's, or "file:DIR" with an absolute folder. lockPath is the
// file that processes take turns by (OSRingConfig). A passphrase opens a
// wrapped file keyring; it is zeroed. Close the keyring through the io.Closer.
// Errors: core.ErrInvalid for a spec, or a keyring class.
func OpenRing(ctx context.Context, spec, storeID, lockPath string, passphrase []byte) (Keyring, io.Closer, error) {
	return chooseRing(ctx, spec, storeID, lockPath, passphrase, OpenFileRing)
}

// InitRing makes a file keyring that is not there yet, wrapped if there is a
// passphrase, and opens it. The operating system's keyring needs no making.
func InitRing(ctx context.Context, spec, storeID, lockPath string, passphrase []byte) (Keyring, io.Closer, error) {
	return chooseRing(ctx, spec, storeID, lockPath, passphrase, InitFileRing)
}

func chooseRing(ctx context.Context, spec, storeID, lockPath string, passphrase []byte,
	file func(context.Context, FileRingConfig, []byte) (*FileRing, error)) (Keyring, io.Closer, error) {
	defer clear(passphrase)
	dir, isFile := strings.CutPrefix(spec, "file:")
	switch {
	case isFile && filepath.IsAbs(dir):
		ring, err := file(ctx, FileRingConfig{Dir: dir, StoreID: storeID, Random: rand.Reader}, passphrase)
		if err != nil {
			return nil, nil, err
		}
		return ring, ring, nil
	case spec == "os" && len(passphrase) == 0:
		ring, err := NewOSRing(OSRingConfig{StoreID: storeID, LockPath: lockPath})
		if err != nil {
			return nil, nil, err
		}
		return ring, nothingToClose{}, nil
	case spec == "os":
		return nil, nil, fmt.Errorf("%w: the operating system's keyring takes no passphrase from us", core.ErrInvalid)
	}
	return nil, nil, fmt.Errorf(`%w: a keyring is "os", or "file:" and an absolute folder`, core.ErrInvalid)
}

type nothingToClose struct{}

func (nothingToClose) Close() error { return nil }
