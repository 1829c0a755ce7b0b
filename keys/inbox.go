package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/core"
)

const (
	// maxInboxFiles is how many files are looked at; more are not listed.
	maxInboxFiles = 256
	// maxInboxNames is how many names are looked at, temporary ones included.
	maxInboxNames = 4 * maxInboxFiles
)

// ErrInbox: the inbox as a whole cannot be used. Single bad files are listed
// with their problem instead.
var ErrInbox = errors.New("the inbox cannot be used")

// Inbox is the fixed folder in which off-host artifacts arrive. It implements
// core.Inbox. The folder and its files must be the owner's alone and no
// links; nothing in it is ever deleted, moved or written (seed 000,
// Composition-layer wiring; lesson 18).
type Inbox struct{ dir string }

// NewInbox names an inbox by its absolute path and touches nothing.
func NewInbox(dir string) (*Inbox, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("%w: its folder must be an absolute path", ErrInbox)
	}
	return &Inbox{dir}, nil
}

// InitInbox makes the folder, for the owner alone, if it is not there.
func InitInbox(dir string) (*Inbox, error) {
	i, err := NewInbox(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, inboxError(ioClass(err))
	}
	if _, err := checkFolder(dir); err != nil {
		return nil, inboxError(err)
	}
	return i, nil
}

// Waiting lists the files by name, each with what it holds or why it cannot be
// read. Names that begin with a dot are files that still arrive, and are left
// out. Errors wrap ErrInbox.
func (i *Inbox) Waiting(ctx context.Context) ([]core.InboxFile, error) {
	dir, err := openFolder(i.dir)
	if err != nil {
		return nil, inboxError(err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.list(maxInboxNames)
	if err != nil {
		return nil, inboxError(err)
	}
	crowded := len(names) == maxInboxNames
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
	slices.Sort(names)
	if len(names) > maxInboxFiles {
		names, crowded = names[:maxInboxFiles], true
	}
	files := make([]core.InboxFile, 0, len(names)+1)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f, there := lookAt(dir, name); there {
			files = append(files, f)
		}
	}
	if crowded {
		files = append(files, core.InboxFile{Name: "and more", Problem: fmt.Sprintf(
			"only %d files are looked at; move some away by hand", maxInboxFiles)})
	}
	return files, nil
}

// lookAt reads one file; there is none if it went away meanwhile.
func lookAt(dir folder, name string) (f core.InboxFile, there bool) {
	f.Name = visible(name)
	info, err := dir.inspect(name)
	if info != nil {
		f.ReceivedAt = core.Instant(info.ModTime())
	}
	var raw []byte
	if err == nil {
		raw, err = dir.read(name, maxEvidenceFile)
	}
	if err != nil {
		f.Problem = inboxWords(err)
		return f, !errors.Is(err, ErrNotFound)
	}
	e, err := DecodeEvidence(raw)
	if err != nil {
		f.Problem = err.Error()
		return f, true
	}
	f.Kind, f.Confirmation, f.Reconciliation = e.Kind, e.Confirmation, e.Reconciliation
	if e.Authorization != nil {
		f.Authorization = *e.Authorization
	}
	return f, true
}

func inboxError(err error) error { return fmt.Errorf("%w: %s", ErrInbox, inboxWords(err)) }

// inboxWords says what the file system's guard found, without a word about
// keyrings.
func inboxWords(err error) string {
	var guard *RingError
	switch {
	case errors.As(err, &guard) && guard.Detail != "":
		return guard.Detail
	case errors.Is(err, ErrTooLarge):
		return fmt.Sprintf("longer than %d KiB", maxEvidenceFile>>10)
	case errors.Is(err, ErrDenied):
		return "access refused"
	}
	return "the file system failed"
}
