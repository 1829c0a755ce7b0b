package keys

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"countersign/canon"
	"countersign/core"
)

// Files that travel between a console and an off-host signer are one canonical
// JSON object each, with a schema name and a version (design section 7).
const (
	requestSchema  = "countersign-request"
	evidenceSchema = "countersign-evidence"
	fileVersion    = 1

	maxRequestFile  = canon.MaxEncodedBytes
	maxEvidenceFile = 64 << 10
)

// Why a file is refused.
var (
	// ErrFile: not a file of this kind, byte for byte as countersign writes it.
	ErrFile = errors.New("not a file that countersign wrote")
	// ErrNewerFile: its version is not known here; it is never guessed at.
	ErrNewerFile = errors.New("written by a newer version")
	// ErrWrite: a file could not be written; nothing was left half-done.
	ErrWrite = errors.New("the file was not written")
)

// openFile parses a file's bytes and checks schema and version.
func openFile(raw []byte, schema string, max int) (*members, error) {
	if len(raw) > max {
		return nil, fmt.Errorf("%w: longer than %d KiB", ErrFile, max>>10)
	}
	v, err := canon.ParseRaw(raw)
	object, isObject := v.(core.Object)
	if err != nil || !isObject {
		return nil, fmt.Errorf("%w: not strict JSON", ErrFile)
	}
	m := &members{values: object}
	name, version := take[string](m, "schema"), take[int64](m, "version")
	switch {
	case m.err != nil:
		return nil, m.err
	case name == requestSchema && schema == evidenceSchema:
		return nil, fmt.Errorf("%w: this is a request; it has to be signed first", ErrFile)
	case name == evidenceSchema && schema == requestSchema:
		return nil, fmt.Errorf("%w: this is signed evidence; it goes into the inbox", ErrFile)
	case name != schema:
		return nil, fmt.Errorf("%w: schema", ErrFile)
	case version > fileVersion:
		return nil, ErrNewerFile
	case version != fileVersion:
		return nil, fmt.Errorf("%w: version", ErrFile)
	}
	return m, nil
}

// exact requires that a file is what this program would write for what it
// read there: one spelling, no member more, no member less.
func exact(raw, again []byte, err error) error {
	if err != nil || !bytes.Equal(raw, again) {
		return fmt.Errorf("%w: not byte for byte", ErrFile)
	}
	return nil
}

// members takes typed members out of an object and keeps the first failure,
// which names the member and not its value.
type members struct {
	values core.Object
	err    error
}

func (m *members) fail(name string) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: %s", ErrFile, name)
	}
}

func take[T any](m *members, name string) T {
	v, ok := m.values[name].(T)
	if !ok {
		m.fail(name)
	}
	return v
}

// optional is take for a member that may be null.
func optional[T any](m *members, name string) (v T, present bool) {
	if m.values[name] == nil {
		return v, false
	}
	return take[T](m, name), true
}

// within goes on with the object that name holds; failures stay with m.
func (m *members) within(name string, read func(*members)) {
	inner := &members{values: take[core.Object](m, name)}
	read(inner)
	if inner.err != nil && m.err == nil {
		m.err = inner.err
	}
}

func (m *members) digest(name string) canon.Digest {
	d, err := canon.ParseDigest(take[string](m, name))
	if err != nil {
		m.fail(name)
	}
	return d
}

func (m *members) optionalDigest(name string) *canon.Digest {
	if _, present := optional[string](m, name); !present {
		return nil
	}
	d := m.digest(name)
	return &d
}

func (m *members) instant(name string) time.Time {
	t, err := core.ParseInstant(take[string](m, name))
	if err != nil {
		m.fail(name)
	}
	return t
}

func (m *members) bytes(name string) []byte {
	b, err := base64.StdEncoding.Strict().DecodeString(take[string](m, name))
	if err != nil {
		m.fail(name)
	}
	return b
}

func (m *members) texts(name string) []string {
	var out []string
	for _, v := range take[[]any](m, name) {
		s, ok := v.(string)
		if !ok {
			m.fail(name)
		}
		out = append(out, s)
	}
	return out
}

// readBounded reads a file that anybody may have written: a regular one, and
// no more of it than max.
func readBounded(path string, max int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonBlocking, 0)
	if err != nil {
		return nil, fileFault(ErrFile, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", ErrFile)
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	if err != nil {
		return nil, fileFault(ErrFile, err)
	}
	if len(raw) > max {
		return nil, fmt.Errorf("%w: longer than %d KiB", ErrFile, max>>10)
	}
	return raw, nil
}

// writeNew writes a whole file for its owner alone (0600), durably, or
// nothing; it never replaces one. A place that cannot keep files private is
// refused. Errors wrap ErrWrite.
func writeNew(path string, raw []byte) error {
	dir := filepath.Dir(path)
	temp := filepath.Join(dir, ".new-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return fileFault(ErrWrite, err)
	}
	defer func() { _ = os.Remove(temp) }()
	err = f.Chmod(0o600)
	if info, statErr := f.Stat(); err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		_ = f.Close()
		return fileFault(ErrWrite, errPlace)
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fileFault(ErrWrite, err)
	}
	if err := os.Link(temp, path); err != nil {
		return fileFault(ErrWrite, err)
	}
	if err := syncPath(dir); err != nil {
		_ = os.Remove(path)
		return fileFault(ErrWrite, err)
	}
	return nil
}

var errPlace = errors.New("this place cannot keep a file for its owner alone; choose another")

// fileFault says what the file system answered without repeating the path,
// which may name things that an error must not.
func fileFault(class, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: there is one of this name already; it was not changed", class)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no such file or folder", class)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: permission denied", class)
	case errors.Is(err, errPlace):
		return fmt.Errorf("%w: %w", class, errPlace)
	}
	return fmt.Errorf("%w: the file system failed", class)
}
