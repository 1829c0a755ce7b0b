package keys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/core"
)

func newTestInbox(t *testing.T) (*Inbox, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deep", "inbox")
	return must[*Inbox](t)(InitInbox(dir)), dir
}

func signedFile(t testing.TB, kind core.ProofKind) []byte {
	t.Helper()
	raw, err := SignRequest(context.Background(), testSigningKey(t, "owner-1"),
		encodeRequest(t, testRequest(t, kind, "old", "new")), testCaps, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func put(t *testing.T, dir, name string, raw []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInboxLists(t *testing.T) {
	inbox, dir := newTestInbox(t)
	if info := must[fs.FileInfo](t)(os.Lstat(dir)); info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v", info.Mode())
	}
	if files := must[[]core.InboxFile](t)(inbox.Waiting(context.Background())); len(files) != 0 {
		t.Fatalf("an empty inbox lists %v", files)
	}
	at := time.Date(2026, 9, 5, 12, 30, 0, 0, time.UTC)
	for i, kind := range OffHostKinds() {
		path := put(t, dir, fmt.Sprintf("%d-%s", i, kind), signedFile(t, kind))
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, ".new-still-arriving", []byte("half"))
	before := snapshotOf(t, dir)
	files := must[[]core.InboxFile](t)(inbox.Waiting(context.Background()))
	if len(files) != 3 {
		t.Fatalf("%d files: %+v", len(files), files)
	}
	for i, f := range files {
		if f.Problem != "" || f.Kind != OffHostKinds()[i] || !f.ReceivedAt.Equal(at) {
			t.Errorf("%+v", f)
		}
	}
	if files[0].Authorization.AuthorizationID != "authz-1" || files[1].Confirmation.ContractID != "note-1" ||
		files[2].Reconciliation.Outcome != core.ConfirmedApplied {
		t.Errorf("%+v", files)
	}
	if after := snapshotOf(t, dir); before != after {
		t.Errorf("listing changed the folder\n%s\n%s", before, after)
	}
}

// snapshotOf describes everything in a folder.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
		info := must[fs.FileInfo](t)(e.Info())
		fmt.Fprintln(&out, e.Name(), info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	return out.String()
}

// A bad file is listed with what is wrong, and hides no good one.
func TestInboxBadFiles(t *testing.T) {
	inbox, dir := newTestInbox(t)
	good := signedFile(t, core.ProofAuthorization)
	put(t, dir, "m-good", good)
	outside := put(t, t.TempDir(), "outside", good)
	steps := map[string]struct {
		make  func(path string) error
		words string
	}{
		"link":      {func(p string) error { return os.Symlink(outside, p) }, "symbolic link"},
		"link-near": {func(p string) error { return os.Symlink("m-good", p) }, "symbolic link"},
		"link-gone": {func(p string) error { return os.Symlink("nowhere", p) }, "symbolic link"},
		"folder":    {func(p string) error { return os.Mkdir(p, 0o700) }, "expected kind"},
		"pipe":      {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "expected kind"},
		"group":     {func(p string) error { return errors.Join(os.WriteFile(p, good, 0o600), os.Chmod(p, 0o640)) }, "wider than 0600"},
		"others":    {func(p string) error { return errors.Join(os.WriteFile(p, good, 0o600), os.Chmod(p, 0o602)) }, "wider than 0600"},
		"empty":     {func(p string) error { return os.WriteFile(p, nil, 0o600) }, "strict JSON"},
		"cut":       {func(p string) error { return os.WriteFile(p, good[:len(good)/2], 0o600) }, "strict JSON"},
		"sparse": {func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 1<<40))
		}, "longer than 64 KiB"},
		"request": {func(p string) error {
			return os.WriteFile(p, encodeRequest(t, testRequest(t, core.ProofAuthorization, "old", "new")), 0o600)
		}, "signed first"},
		"newer": {func(p string) error {
			return os.WriteFile(p, []byte(strings.Replace(string(good), `"version":1`, `"version":2`, 1)), 0o600)
		}, "written by a newer version"},
	}
	for name, s := range steps {
		if err := s.make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		steps["foreign"] = struct {
			make  func(string) error
			words string
		}{nil, "belongs to somebody else"}
		if err := os.Chown(put(t, dir, "foreign", good), 12345, -1); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("only root can give a file away: the case of a foreign file is left out")
	}
	files := must[[]core.InboxFile](t)(inbox.Waiting(context.Background()))
	if len(files) != len(steps)+1 {
		t.Errorf("%d files listed, want %d", len(files), len(steps)+1)
	}
	for _, f := range files {
		want := steps[f.Name].words
		if f.Name == "m-good" && f.Problem != "" || !strings.Contains(f.Problem, want) || f.Name != "m-good" && f.Problem == "" {
			t.Errorf("%s: %q, want %q", f.Name, f.Problem, want)
		}
		if f.Problem != "" && (f.Kind != "" || strings.Contains(f.Problem, "keyring") || strings.Contains(f.Problem, dir)) {
			t.Errorf("%s: %+v", f.Name, f)
		}
	}
}

// Names are shown so that they cannot act on a terminal or forge a line.
func TestInboxHostileNames(t *testing.T) {
	inbox, dir := newTestInbox(t)
	names := map[string]string{
		"a\x1b]52;c;eA==\a":            `a\x1b]52;c;eA==\x07`,
		"b\nrefused by nobody":         `b\x0arefused by nobody`,
		"c\u202edengis":                `c\u{202e}dengis`,
		"d\xff\xfe":                    `d\xff\xfe`,
		`e\x1b`:                        `e\\x1b`,
		"f" + strings.Repeat("ä", 120): "f" + strings.Repeat("ä", 120),
		" leading and trailing ":       " leading and trailing ",
		"-rf":                          "-rf",
	}
	for name := range names {
		put(t, dir, name, signedFile(t, core.ProofConfirmation))
	}
	files := must[[]core.InboxFile](t)(inbox.Waiting(context.Background()))
	if len(files) != len(names) {
		t.Fatalf("%d files", len(files))
	}
	shownNames := map[string]bool{}
	for _, f := range files {
		shownNames[f.Name] = true
		if f.Problem != "" {
			t.Errorf("%s: %s", f.Name, f.Problem)
		}
	}
	for name, want := range names {
		if !shownNames[want] {
			t.Errorf("%q is not shown as %s", name, want)
		}
	}
}

func TestInboxIsBounded(t *testing.T) {
	inbox, dir := newTestInbox(t)
	for i := range maxInboxFiles + 5 {
		put(t, dir, fmt.Sprintf("%04d", i), []byte("{}"))
	}
	files := must[[]core.InboxFile](t)(inbox.Waiting(context.Background()))
	if len(files) != maxInboxFiles+1 || !strings.Contains(files[maxInboxFiles].Problem, "only 256 files") {
		t.Errorf("%d files, the last is %+v", len(files), files[len(files)-1])
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := inbox.Waiting(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInboxUnsafeFolder(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"missing":        func(d string) error { return os.Remove(d) },
		"group may read": func(d string) error { return os.Chmod(d, 0o740) },
		"link":           func(d string) error { return errors.Join(os.Rename(d, d+".real"), os.Symlink(d+".real", d)) },
		"a file":         func(d string) error { return errors.Join(os.Remove(d), os.WriteFile(d, nil, 0o700)) },
	} {
		inbox, dir := newTestInbox(t)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := inbox.Waiting(context.Background()); !errors.Is(err, ErrInbox) || strings.Contains(err.Error(), "keyring") {
			t.Errorf("%s: got %v", name, err)
		}
		if name == "missing" {
			continue
		}
		if _, err := InitInbox(dir); !errors.Is(err, ErrInbox) {
			t.Errorf("%s: init got %v", name, err)
		}
	}
	for _, bad := range []string{"", "relative/inbox"} {
		if _, err := NewInbox(bad); !errors.Is(err, ErrInbox) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Files that come, go and change while they are listed are seen whole or not
// at all.
func TestInboxWhileFilesMove(t *testing.T) {
	inbox, dir := newTestInbox(t)
	raws := [][]byte{signedFile(t, core.ProofAuthorization), signedFile(t, core.ProofConfirmation)}
	stop := make(chan struct{})
	var movers sync.WaitGroup
	movers.Add(1)
	go func() {
		defer movers.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			temp := filepath.Join(dir, ".temp")
			_ = os.WriteFile(temp, raws[i%2], 0o600)
			_ = os.Rename(temp, filepath.Join(dir, "moving"))
			if i%3 == 0 {
				_ = os.Remove(filepath.Join(dir, "moving"))
			}
		}
	}()
	seen := map[core.ProofKind]int{}
	found := func() bool { return seen[core.ProofAuthorization]+seen[core.ProofConfirmation] > 0 }
	deadline := time.Now().Add(30 * time.Second) // a busy machine may look at bad moments for long
	for looks := 0; looks < 300 || !found() && time.Now().Before(deadline); looks++ {
		for _, f := range must[[]core.InboxFile](t)(inbox.Waiting(context.Background())) {
			if f.Problem != "" && !strings.Contains(f.Problem, "keeps being replaced") {
				t.Errorf("%+v", f)
			}
			seen[f.Kind]++
		}
	}
	close(stop)
	movers.Wait()
	if !found() {
		t.Error("nothing was ever seen")
	}
}
