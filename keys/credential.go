package keys

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/core"
)

const maxCredential = 1024

// ErrNoCredential: systemd passed no credential of this name to the process.
var ErrNoCredential = errors.New("no such systemd credential; is it in LoadCredential= of the service, and $CREDENTIALS_DIRECTORY set?")

// ReadCredential reads the systemd credential called name from dir, the
// content of $CREDENTIALS_DIRECTORY, for use as the passphrase of a FileRing.
// One newline at its end is dropped. systemd gives the file to the service's
// user, or to root with an access list that the mode shows as group-readable;
// anything wider is refused. Errors wrap ErrNoCredential, ErrNoService,
// ErrDenied or ErrCorrupt.
func ReadCredential(dir, name string) ([]byte, error) {
	secret, err := readCredential(dir, name)
	if err != nil {
		return nil, ringError("read credential", name, err)
	}
	return secret, nil
}

func readCredential(dir, name string) ([]byte, error) {
	if dir == "" {
		return nil, refused(ErrNoCredential, "")
	}
	if !core.ValidIdentifier(name) {
		return nil, core.ErrInvalid
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|openNoFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refused(ErrNoCredential, "")
	}
	if err != nil {
		return nil, ioClass(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, ioClass(err)
	}
	if err := checkCredential(info); err != nil {
		return nil, err
	}
	secret, err := io.ReadAll(io.LimitReader(f, maxCredential+1))
	trimmed := bytes.TrimSuffix(secret, []byte("\n"))
	switch {
	case err != nil || len(secret) > maxCredential:
		clear(secret)
		return nil, ErrCorrupt
	case len(trimmed) == 0: // it would make a keyring that is not wrapped
		return nil, refused(ErrCorrupt, "it is empty")
	}
	return trimmed, nil
}

func checkCredential(info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o037 != 0 {
		return refused(ErrDenied, "it is not a file for us alone")
	}
	if ownedByRoot(info) {
		return nil
	}
	if info.Mode().Perm()&0o077 != 0 {
		return refused(ErrDenied, "it is not a file for us alone")
	}
	return checkOwner(info)
}
