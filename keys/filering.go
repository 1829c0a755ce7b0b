package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"countersign/canon"
	"countersign/core"
)

// FileRingConfig names a file keyring (`--keyring file:DIR`).
type FileRingConfig struct {
	Dir     string // kept with mode 0700; each store has a folder of its own in it
	StoreID string
	Cost    Cost      // of a new wrapping; zero is DefaultCost
	Random  io.Reader // cryptographic; normally crypto/rand.Reader
}

// FileRing keeps one owner-only file an item. It is used only where it was
// asked for by name, never because another keyring does not answer (design
// section 7). Whatever is not exactly ours, in owner, kind and mode, is refused.
type FileRing struct {
	store  string
	dir    folder
	master Secret // empty: items are not wrapped
	random io.Reader
}

const (
	ringItemDomain = "countersign/file-keyring-item/v1"
	ringMasterFile = ".wrap"
	ringLockFile   = ".lock"
	ringTempPrefix = ".new-"
)

// InitFileRing makes the folders and opens the keyring. With a passphrase every
// item will be wrapped; it may be a person's or the content of a systemd
// credential (ReadCredential), and is zeroed. What is already there is kept; a
// keyring whose items are not wrapped cannot become a wrapped one, or the
// other way round.
func InitFileRing(ctx context.Context, c FileRingConfig, passphrase []byte) (*FileRing, error) {
	defer clear(passphrase)
	dir, err := storeDir(c)
	if err != nil {
		return nil, ringError("init", "", err)
	}
	if err := makeDirs(filepath.Dir(dir), dir); err != nil {
		return nil, ringError("init", "", err)
	}
	r, err := openRoot(c, dir)
	if err != nil {
		return nil, ringError("init", "", err)
	}
	err = withFileLock(ctx, r.lockPath(), func() error { return r.initWrapping(c.Cost, passphrase) })
	if err == nil {
		err = r.unlock(passphrase)
	}
	if err != nil {
		_ = r.Close()
		return nil, ringError("init", "", err)
	}
	return r, nil
}

// OpenFileRing opens what InitFileRing made, and never makes anything. Errors:
// ErrNoService if there is no such keyring (it may just not be mounted),
// ErrLocked if it is wrapped and no passphrase was given,
// core.ErrWrongPassphrase, ErrDenied if it is not safe to use.
func OpenFileRing(ctx context.Context, c FileRingConfig, passphrase []byte) (*FileRing, error) {
	defer clear(passphrase)
	dir, err := storeDir(c)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, ringError("open", "", err)
	}
	r, err := openRoot(c, dir)
	if err != nil {
		return nil, ringError("open", "", err)
	}
	if err := r.unlock(passphrase); err != nil {
		_ = r.Close()
		return nil, ringError("open", "", err)
	}
	return r, nil
}

// Close forgets the wrapping key and the folder.
func (r *FileRing) Close() error {
	r.master.Clear()
	return r.dir.Close()
}

// Get implements Keyring.
func (r *FileRing) Get(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(checkItemName(name), ctx.Err()); err != nil {
		return nil, ringError("read", name, err)
	}
	secret, err := r.read(name)
	if err != nil {
		return nil, ringError("read", name, err)
	}
	return secret, nil
}

// Create implements Keyring; a hard link makes it insert-only even against
// processes that do not take the lock.
func (r *FileRing) Create(ctx context.Context, name string, secret []byte) error {
	return r.change(ctx, "create", name, secret, func(temp string) error {
		err := r.dir.Link(temp, fileName(name))
		if errors.Is(err, fs.ErrExist) {
			return ErrExists
		}
		return ioClass(err)
	})
}

// Replace implements Keyring, exactly among processes of ours.
func (r *FileRing) Replace(ctx context.Context, name string, old, new []byte) error {
	return r.change(ctx, "replace", name, new, func(temp string) error {
		present, err := r.read(name)
		defer clear(present)
		if err != nil {
			return err
		}
		if !sameBytes(present, old) {
			return ErrChanged
		}
		return ioClass(r.dir.Rename(temp, fileName(name)))
	})
}

// Delete implements Keyring.
func (r *FileRing) Delete(ctx context.Context, name string) error {
	err := errors.Join(checkItemName(name), ctx.Err())
	if err == nil {
		err = withFileLock(ctx, r.lockPath(), func() error {
			if _, err := r.dir.inspect(fileName(name)); err != nil {
				return err
			}
			if err := r.dir.Remove(fileName(name)); err != nil {
				return ioClass(err)
			}
			return r.dir.sync()
		})
	}
	if err != nil {
		return ringError("delete", name, err)
	}
	return nil
}

// change writes the item beside its place, durably, and lets put move it
// there; all under the lock.
func (r *FileRing) change(ctx context.Context, op, name string, secret []byte, put func(temp string) error) error {
	err := errors.Join(checkItemName(name), checkSecret(secret), ctx.Err())
	if err == nil {
		err = withFileLock(ctx, r.lockPath(), func() error {
			raw, err := r.encode(name, secret)
			defer clear(raw)
			if err != nil {
				return err
			}
			return r.write(raw, put)
		})
	}
	if err != nil {
		return ringError(op, name, err)
	}
	return nil
}

func (r *FileRing) lockPath() string { return filepath.Join(r.dir.path, ringLockFile) }

// fileName of an item; "+" is in no item name.
func fileName(item string) string { return strings.ReplaceAll(item, "/", "+") }

// itemFile is an item as it is kept: either Secret, or Nonce and Sealed under
// the master key. Item and store are inside, so that files cannot change places.
type itemFile struct {
	Item    string `json:"item"`
	Nonce   []byte `json:"nonce,omitempty"`
	Sealed  []byte `json:"sealed,omitempty"`
	Secret  []byte `json:"secret,omitempty"`
	Store   string `json:"store"`
	Version int    `json:"v"`
}

func (r *FileRing) encode(name string, secret []byte) ([]byte, error) {
	f := itemFile{Item: name, Store: r.store, Version: 1}
	if r.master.Len() == 0 {
		f.Secret = secret
		return encodeExact(f)
	}
	aead, err := chacha20poly1305.NewX(r.master.Bytes())
	if err != nil {
		return nil, err
	}
	f.Nonce = make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(r.random, f.Nonce); err != nil {
		return nil, fmt.Errorf("random source: %w", err)
	}
	f.Sealed = aead.Seal(nil, f.Nonce, secret, canon.FrameStrings(ringItemDomain, f.Store, f.Item))
	return encodeExact(f)
}

func (r *FileRing) decode(name string, raw []byte) ([]byte, error) {
	var f itemFile
	if err := decodeExact(raw, &f); err != nil {
		return nil, err
	}
	if f.Version != 1 || f.Item != name || f.Store != r.store {
		return nil, refused(ErrCorrupt, "it says it is another item")
	}
	if r.master.Len() == 0 {
		if len(f.Nonce) != 0 || len(f.Sealed) != 0 || checkSecret(f.Secret) != nil {
			return nil, ErrCorrupt
		}
		return f.Secret, nil
	}
	aead, err := chacha20poly1305.NewX(r.master.Bytes())
	if err != nil || len(f.Nonce) != aead.NonceSize() || len(f.Secret) != 0 {
		return nil, ErrCorrupt
	}
	secret, err := aead.Open(nil, f.Nonce, f.Sealed, canon.FrameStrings(ringItemDomain, f.Store, f.Item))
	if err != nil || checkSecret(secret) != nil {
		return nil, ErrCorrupt
	}
	return secret, nil
}

func (r *FileRing) read(name string) ([]byte, error) {
	raw, err := r.readFile(fileName(name))
	defer clear(raw)
	if err != nil {
		return nil, err
	}
	return r.decode(name, raw)
}

// initWrapping makes the master key, wrapped under the passphrase, unless
// there is one. It is called under the lock.
func (r *FileRing) initWrapping(cost Cost, passphrase []byte) error {
	switch _, err := r.dir.inspect(ringMasterFile); {
	case !errors.Is(err, ErrNotFound):
		return err
	case len(passphrase) == 0:
		return nil
	}
	if empty, err := r.hasNoItems(); err != nil || !empty {
		return errors.Join(err, refused(ErrExists, "its items are not wrapped under a passphrase"))
	}
	if cost == (Cost{}) {
		cost = DefaultCost()
	}
	master := make([]byte, chacha20poly1305.KeySize)
	defer clear(master)
	if _, err := io.ReadFull(r.random, master); err != nil {
		return fmt.Errorf("random source: %w", err)
	}
	// Wrap zeroes what it is given, and unlock needs the passphrase once more.
	raw, err := Wrap(r.random, cost, append([]byte(nil), passphrase...), master, "file-keyring", r.store)
	if err != nil {
		return err
	}
	return r.write(raw, func(temp string) error { return ioClass(r.dir.Link(temp, ringMasterFile)) })
}

// unlock opens the wrapping, if there is one.
func (r *FileRing) unlock(passphrase []byte) error {
	raw, err := r.readFile(ringMasterFile)
	switch {
	case errors.Is(err, ErrNotFound) && len(passphrase) == 0:
		return nil
	case errors.Is(err, ErrNotFound):
		return refused(ErrCorrupt, "it is not wrapped under a passphrase")
	case err != nil:
		return err
	case len(passphrase) == 0:
		return refused(ErrLocked, "it needs its passphrase")
	}
	master, err := Unwrap(passphrase, raw, "file-keyring", r.store)
	if err != nil {
		return err
	}
	if len(master) != chacha20poly1305.KeySize {
		return ErrCorrupt
	}
	r.master = ownSecret(master)
	return nil
}

func storeDir(c FileRingConfig) (string, error) {
	if !core.ValidIdentifier(c.StoreID) {
		return "", refused(core.ErrInvalid, "store id")
	}
	if c.Dir == "" || c.Random == nil {
		return "", refused(core.ErrInvalid, "a file keyring needs a folder and a random source")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", ErrNoService
	}
	return filepath.Join(dir, c.StoreID), nil
}
