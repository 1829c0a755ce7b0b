//go:build unix

package keys

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"countersign/core"
)

func fileConfig(t *testing.T) FileRingConfig {
	t.Helper()
	return FileRingConfig{Dir: filepath.Join(t.TempDir(), "keyring"), StoreID: "store-1", Cost: cheap,
		Random: newTestRandom(t.Name())}
}

func initRing(t *testing.T, c FileRingConfig, passphrase string) *FileRing {
	t.Helper()
	r := must[*FileRing](t)(InitFileRing(context.Background(), c, []byte(passphrase)))
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func openRing(t *testing.T, c FileRingConfig, passphrase string) (*FileRing, error) {
	t.Helper()
	r, err := OpenFileRing(context.Background(), c, []byte(passphrase))
	if err == nil {
		t.Cleanup(func() { _ = r.Close() })
	}
	return r, err
}

func TestFileRingContract(t *testing.T) {
	t.Run("plain", func(t *testing.T) { ringContract(t, initRing(t, fileConfig(t), "")) })
	t.Run("wrapped", func(t *testing.T) { ringContract(t, initRing(t, fileConfig(t), "correct horse")) })
	t.Run("two consoles", func(t *testing.T) {
		c := fileConfig(t)
		first := initRing(t, c, "correct horse")
		second := must[*FileRing](t)(openRing(t, c, "correct horse"))
		ringRaces(t, &alternating{rings: []Keyring{first, second}})
	})
}

func TestFileRingSurvivesReopening(t *testing.T) {
	for _, passphrase := range []string{"", "correct horse"} {
		c, ctx := fileConfig(t), context.Background()
		r := initRing(t, c, passphrase)
		if err := r.Create(ctx, "operator/jo", []byte("the key")); err != nil {
			t.Fatal(err)
		}
		again := must[*FileRing](t)(openRing(t, c, passphrase))
		if got := must[[]byte](t)(again.Get(ctx, "operator/jo")); string(got) != "the key" {
			t.Fatalf("got %q", got)
		}
		// A second init keeps what is there.
		if got := must[[]byte](t)(initRing(t, c, passphrase).Get(ctx, "operator/jo")); string(got) != "the key" {
			t.Fatalf("got %q", got)
		}
		other := c
		other.StoreID = "store-2"
		if _, err := initRing(t, other, passphrase).Get(ctx, "operator/jo"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("another store: %v", err)
		}
	}
}

func TestFileRingModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	c := fileConfig(t)
	r := initRing(t, c, "correct horse")
	if err := r.Create(context.Background(), "anchor", []byte("0")); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, walkErr error) error {
		if walkErr != nil {
			return walkErr
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v)", d.Name(), info.Mode(), err)
		}
		names = append(names, d.Name())
		return nil
	})
	slices.Sort(names)
	if want := []string{".lock", ".wrap", "anchor", "keyring", "store-1"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("kept as %v (%v)", names, err)
	}
}

func TestFileRingRefusesUnsafeFolders(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(c FileRingConfig) error{
		"folder readable by group":  func(c FileRingConfig) error { return os.Chmod(c.Dir, 0o750) },
		"folder writable by others": func(c FileRingConfig) error { return os.Chmod(c.Dir, 0o702) },
		"store's folder too wide":   func(c FileRingConfig) error { return os.Chmod(filepath.Join(c.Dir, c.StoreID), 0o701) },
		"folder is a link": func(c FileRingConfig) error {
			return errors.Join(os.Rename(c.Dir, c.Dir+".real"), os.Symlink(c.Dir+".real", c.Dir))
		},
		"store's folder is a link": func(c FileRingConfig) error {
			dir := filepath.Join(c.Dir, c.StoreID)
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(c.StoreID+".real", dir))
		},
		"folder is a file": func(c FileRingConfig) error {
			return errors.Join(os.RemoveAll(c.Dir), os.WriteFile(c.Dir, nil, 0o700))
		},
	} {
		c := fileConfig(t)
		if err := initRing(t, c, "").Create(ctx, "anchor", []byte("0")); err != nil {
			t.Fatal(err)
		}
		if err := spoil(c); err != nil {
			t.Fatal(err)
		}
		_, openErr := openRing(t, c, "")
		_, initErr := InitFileRing(ctx, c, nil)
		for _, err := range []error{openErr, initErr} {
			if err == nil || errors.Is(err, ErrNotFound) || !errors.Is(err, ErrDenied) && !errors.Is(err, ErrNoService) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func TestFileRingRefusesUnsafeFiles(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(file string) error{
		"readable by group":  func(f string) error { return os.Chmod(f, 0o640) },
		"writable by others": func(f string) error { return os.Chmod(f, 0o602) },
		"executable":         func(f string) error { return os.Chmod(f, 0o700) },
		"link inside":        func(f string) error { return errors.Join(os.Rename(f, f+".real"), os.Symlink("anchor.real", f)) },
		"link to nowhere":    func(f string) error { return errors.Join(os.Remove(f), os.Symlink("nowhere", f)) },
		"folder":             func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) },
		"pipe":               func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) },
	} {
		c := fileConfig(t)
		r := initRing(t, c, "")
		if err := r.Create(ctx, "anchor", []byte("0")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(c.Dir, c.StoreID, "anchor")
		if err := spoil(file); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(file)
		_, getErr := r.Get(ctx, "anchor")
		for _, err := range []error{getErr, r.Replace(ctx, "anchor", []byte("0"), []byte("1")), r.Delete(ctx, "anchor")} {
			if !errors.Is(err, ErrDenied) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := r.Create(ctx, "anchor", []byte("5")); !errors.Is(err, ErrExists) {
			t.Errorf("%s: create got %v", name, err)
		}
		if after, err := os.Lstat(file); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: the file was touched", name)
		}
	}
}

func TestFileRingRefusesOtherOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	ctx, c := context.Background(), fileConfig(t)
	r := initRing(t, c, "")
	if err := r.Create(ctx, "anchor", []byte("0")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(c.Dir, c.StoreID)
	if err := os.Chown(filepath.Join(dir, "anchor"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(ctx, "anchor"); !errors.Is(err, ErrDenied) {
		t.Errorf("file of another: %v", err)
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := openRing(t, c, ""); !errors.Is(err, ErrDenied) {
		t.Errorf("folder of another: %v", err)
	}
}

// A keyring that is not there, or not there any more, is not an empty one.
func TestFileRingMissingIsNotEmpty(t *testing.T) {
	ctx, c := context.Background(), fileConfig(t)
	if _, err := openRing(t, c, ""); !errors.Is(err, ErrNoService) || errors.Is(err, ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := os.Lstat(c.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("opening made the folder")
	}
	if _, err := InitFileRing(ctx, FileRingConfig{Dir: filepath.Join(c.Dir, "a", "b"), StoreID: "s",
		Random: c.Random}, nil); !errors.Is(err, ErrNoService) {
		t.Errorf("init under a missing folder: %v", err)
	}
	r := initRing(t, c, "")
	if err := os.Rename(filepath.Join(c.Dir, c.StoreID), filepath.Join(c.Dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(ctx, "integrity-key"); !errors.Is(err, ErrNoService) || errors.Is(err, ErrNotFound) {
		t.Errorf("folder moved away: %v", err)
	}
	if err := os.Mkdir(filepath.Join(c.Dir, c.StoreID), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(ctx, "integrity-key"); !errors.Is(err, ErrNoService) || errors.Is(err, ErrNotFound) {
		t.Errorf("folder exchanged: %v", err)
	}
	for _, bad := range []FileRingConfig{{Dir: c.Dir, StoreID: "../x", Random: c.Random}, {StoreID: "s", Random: c.Random},
		{Dir: c.Dir, StoreID: "s"}} {
		if _, err := InitFileRing(ctx, bad, nil); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestFileRingWrapping(t *testing.T) {
	ctx, c := context.Background(), fileConfig(t)
	passphrase := []byte("correct horse")
	r := must[*FileRing](t)(InitFileRing(ctx, c, passphrase))
	defer r.Close()
	if !bytes.Equal(passphrase, make([]byte, len(passphrase))) {
		t.Error("the passphrase was not zeroed")
	}
	if err := r.Create(ctx, "integrity-key", []byte("canary-0123456789")); err != nil {
		t.Fatal(err)
	}
	raw := must[[]byte](t)(os.ReadFile(filepath.Join(c.Dir, c.StoreID, "integrity-key")))
	for _, form := range formsOf([]byte("canary-0123456789")) {
		if strings.Contains(string(raw), form) {
			t.Errorf("kept in clear: %q", form)
		}
	}
	if _, err := openRing(t, c, ""); !errors.Is(err, ErrLocked) {
		t.Errorf("without the passphrase: %v", err)
	}
	if _, err := InitFileRing(ctx, c, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("init without the passphrase: %v", err)
	}
	for _, wrong := range []string{"correct horsf", "short", "\xff\xfe invalid"} {
		if _, err := openRing(t, c, wrong); !errors.Is(err, core.ErrWrongPassphrase) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := InitFileRing(ctx, fileConfig(t), []byte("short")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("short new passphrase: %v", err)
	}

	plain := fileConfig(t)
	if err := initRing(t, plain, "").Create(ctx, "anchor", []byte("0")); err != nil {
		t.Fatal(err)
	}
	if _, err := openRing(t, plain, "correct horse"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a passphrase for a plain keyring: %v", err)
	}
	if _, err := InitFileRing(ctx, plain, []byte("correct horse")); !errors.Is(err, ErrExists) {
		t.Errorf("wrapping a plain keyring: %v", err)
	}
}

// Files that are moved, exchanged, unwrapped or edited are refused.
func TestFileRingItemsCannotChangePlaces(t *testing.T) {
	for _, passphrase := range []string{"", "correct horse"} {
		ctx, c := context.Background(), fileConfig(t)
		r := initRing(t, c, passphrase)
		for _, item := range []string{"operator/jo", "operator/mika"} {
			if err := r.Create(ctx, item, []byte("key of "+item)); err != nil {
				t.Fatal(err)
			}
		}
		jo := filepath.Join(c.Dir, c.StoreID, "operator+jo")
		mika := must[[]byte](t)(os.ReadFile(filepath.Join(c.Dir, c.StoreID, "operator+mika")))
		original := must[[]byte](t)(os.ReadFile(jo))
		refusedAs := func(what string, content []byte) {
			t.Helper()
			if err := os.WriteFile(jo, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Get(ctx, "operator/jo"); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", what, err)
			}
		}
		refusedAs("another item's file", mika)
		if passphrase != "" { // an unwrapped file is protected by its mode alone
			refusedAs("another item's file, renamed inside", bytes.Replace(mika, []byte("mika"), []byte("jo"), 1))
		}
		refusedAs("empty", nil)
		refusedAs("cut", original[:len(original)-1])
		refusedAs("newline at the end", append(slices.Clone(original), '\n'))
		refusedAs("spaces", bytes.Replace(original, []byte(","), []byte(", "), 1))
		refusedAs("huge", bytes.Repeat([]byte("x"), maxRingFile+1))
		refusedAs("newer version", bytes.Replace(original, []byte(`"v":1`), []byte(`"v":2`), 1))
		refusedAs("another store", bytes.Replace(original, []byte("store-1"), []byte("store-2"), 1))
		other, _ := json.Marshal(itemFile{Item: "operator/jo", Secret: []byte("planted"), Store: "store-1", Version: 1})
		sealed, _ := json.Marshal(itemFile{Item: "operator/jo", Nonce: make([]byte, 24), Sealed: make([]byte, 40),
			Store: "store-1", Version: 1})
		if passphrase == "" {
			refusedAs("sealed in a plain keyring", sealed)
		} else {
			refusedAs("plain in a wrapped keyring", other)
			refusedAs("sealed by another", sealed)
		}
	}
}

// What a crash leaves half-done is not an item, and goes away.
func TestFileRingSweepsLeftovers(t *testing.T) {
	ctx, c := context.Background(), fileConfig(t)
	r := initRing(t, c, "")
	left := filepath.Join(c.Dir, c.StoreID, ringTempPrefix+"LEFTOVER")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Create(ctx, "anchor", []byte("0")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the leftover is still there")
	}
}

func TestFileRingFailingRandomnessMakesNothing(t *testing.T) {
	ctx, c := context.Background(), fileConfig(t)
	r := initRing(t, c, "correct horse")
	r.random = bytes.NewReader(nil)
	if err := r.Create(ctx, "anchor", []byte("0")); err == nil {
		t.Fatal("sealed without randomness")
	}
	if _, err := r.Get(ctx, "anchor"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}

func TestReadCredential(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string, mode fs.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	put("good", "a passphrase\n", 0o400)
	put("bare", "a passphrase", 0o600)
	put("wide", "a passphrase", 0o444)
	put("huge", strings.Repeat("x", maxCredential+1), 0o400)
	put("empty", "", 0o400)
	put("blank", "\n", 0o400)
	if err := os.Symlink("good", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "bare"} {
		if got, err := ReadCredential(dir, name); err != nil || string(got) != "a passphrase" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, class := range map[string]error{"wide": ErrDenied, "huge": ErrCorrupt, "link": ErrNoService,
		"missing": ErrNoCredential, "empty": ErrCorrupt, "blank": ErrCorrupt, "../x": core.ErrInvalid} {
		if _, err := ReadCredential(dir, name); !errors.Is(err, class) || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadCredential("", "good"); !errors.Is(err, ErrNoCredential) {
		t.Errorf("no folder: %v", err)
	}
}

// Real processes take turns: of several that create, one wins, and no step of
// the counter is lost.
func TestFileRingAcrossProcesses(t *testing.T) {
	const steps, env = 10, "COUNTERSIGN_TEST_RING_DIR"
	if dir := os.Getenv(env); dir != "" {
		c := FileRingConfig{Dir: dir, StoreID: "store-1", Random: newTestRandom("child")}
		advanceAnchor(t, must[*FileRing](t)(openRing(t, c, "")), steps)
		return
	}
	c := fileConfig(t)
	r := initRing(t, c, "")
	if err := NewRingAnchor(r).Provision(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestFileRingAcrossProcesses$")
		child.Env = append(os.Environ(), env+"="+c.Dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}
	if n, err := NewRingAnchor(r).Read(context.Background()); n != 3*steps || err != nil {
		t.Errorf("the counter shows %d after %d steps (%v)", n, 3*steps, err)
	}
}

func advanceAnchor(t *testing.T, ring Keyring, steps int) {
	t.Helper()
	ctx, anchor := context.Background(), NewRingAnchor(ring)
	for range steps {
		for {
			now := must[uint64](t)(anchor.Read(ctx))
			_, err := anchor.Advance(ctx, now)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrChanged) {
				t.Fatal(err)
			}
		}
	}
}
