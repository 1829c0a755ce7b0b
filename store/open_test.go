package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
)

// Whatever is wrong with the path, the file or the options has one class,
// and nothing is written.
func TestBadInputHasAClassAndWritesNothing(t *testing.T) {
	m := loadManifest(t)
	good := func(t *testing.T) Options { return m.options(t, "v8_small.sqlite3") }
	for name, c := range map[string]struct {
		spoil func(*testing.T, *Options)
		want  error
	}{
		"relative path": {func(_ *testing.T, o *Options) { o.Path = filepath.Base(o.Path) }, ErrPath},
		"path with dots": {func(_ *testing.T, o *Options) {
			o.Path = filepath.Dir(o.Path) + "/../store/" + filepath.Base(o.Path)
		}, ErrPath},
		"missing file":      {func(_ *testing.T, o *Options) { o.Path += "x" }, ErrMissing},
		"missing directory": {func(_ *testing.T, o *Options) { o.Path = filepath.Join(filepath.Dir(o.Path), "no", "store") }, ErrMissing},
		"symbolic link": {func(t *testing.T, o *Options) {
			link := filepath.Join(filepath.Dir(o.Path), "link")
			must(t, os.Symlink(o.Path, link))
			o.Path = link
		}, ErrPath},
		"symbolic link to the directory": {func(t *testing.T, o *Options) {
			link := filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(filepath.Dir(o.Path), link))
			o.Path = filepath.Join(link, filepath.Base(o.Path))
		}, ErrPath},
		"directory instead of a file": {func(t *testing.T, o *Options) {
			o.Path = filepath.Join(filepath.Dir(o.Path), "dir")
			must(t, os.Mkdir(o.Path, dirMode))
		}, ErrPath},
		"wider file":      {func(t *testing.T, o *Options) { must(t, os.Chmod(o.Path, 0o640)) }, ErrPath},
		"wider directory": {func(t *testing.T, o *Options) { must(t, os.Chmod(filepath.Dir(o.Path), 0o750)) }, ErrPath},
		"wider log": {func(t *testing.T, o *Options) {
			must(t, os.WriteFile(o.Path+"-wal", nil, 0o600))
			must(t, os.Chmod(o.Path+"-wal", 0o644))
		}, ErrPath},
		"short key":      {func(_ *testing.T, o *Options) { o.IntegrityKey = o.IntegrityKey[:31] }, ErrOptions},
		"no key":         {func(_ *testing.T, o *Options) { o.IntegrityKey = nil }, ErrOptions},
		"no store id":    {func(_ *testing.T, o *Options) { o.StoreID = "" }, ErrOptions},
		"wrong store id": {func(_ *testing.T, o *Options) { o.StoreID = "another" }, ErrRefused},
		"foreign database": {func(t *testing.T, o *Options) {
			o.Path = foreignDatabase(t)
		}, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			o := good(t)
			file := o.Path
			c.spoil(t, &o)
			before, beside := fileSum(t, file), names(t, filepath.Dir(file))
			for what, f := range map[string]func() error{
				"open":   func() error { _, err := Open(context.Background(), o); return err },
				"verify": func() error { _, err := Verify(context.Background(), o, nil); return err },
			} {
				err := f()
				if !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", what, err, c.want)
				}
				if err != nil && strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: more than one line: %v", what, err)
				}
			}
			if fileSum(t, file) != before || names(t, filepath.Dir(file)) != beside {
				t.Error("something was written")
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// foreignDatabase is a sound SQLite file of somebody else's.
func foreignDatabase(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "store", "theirs.sqlite3")
	must(t, os.Mkdir(filepath.Dir(path), dirMode))
	must(t, os.WriteFile(path, nil, fileMode))
	db := layer{}.connect(path, writerOptions(), 1)
	defer db.Close()
	_, err := db.Exec("CREATE TABLE theirs (x)")
	must(t, err)
	return path
}

func TestCreateTouchesNothingThatExists(t *testing.T) {
	m := loadManifest(t)
	o := m.options(t, "v8_small.sqlite3")
	before := fileSum(t, o.Path)
	if _, err := Create(context.Background(), o); !errors.Is(err, ErrExists) {
		t.Fatalf("got %v", err)
	}
	if fileSum(t, o.Path) != before {
		t.Fatal("the file changed")
	}
	o.Path = filepath.Join(t.TempDir(), "no", "such", "dir", "store.sqlite3")
	if _, err := Create(context.Background(), o); !errors.Is(err, ErrPath) {
		t.Fatalf("got %v", err)
	}
}

// A file of which no store became is not left in the way of the next attempt.
func TestCreateLeavesNothingBehind(t *testing.T) {
	given, cancel := context.WithCancel(context.Background())
	cancel()
	o := Options{Path: filepath.Join(t.TempDir(), "store", "contracts.sqlite3"), StoreID: testID, IntegrityKey: testKey}
	if _, err := Create(given, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if left := names(t, filepath.Dir(o.Path)); left != "" {
		t.Fatalf("left behind: %s", left)
	}
	s, err := Create(context.Background(), o)
	must(t, err)
	must(t, s.Close())
}

// What a store is made of belongs to its owner alone, from the first moment.
func TestFilesAreOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no Unix modes here")
	}
	r := newRig(t, nil)
	r.create("a", "t", "i") // now there is a log and its index too
	dir := filepath.Dir(r.opts.Path)
	info, err := os.Stat(dir)
	r.must(err)
	if info.Mode().Perm() != dirMode {
		t.Errorf("directory %v", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	r.must(err)
	for _, e := range entries {
		info, err := e.Info()
		r.must(err)
		if info.Mode().Perm()&^fileMode != 0 || info.Mode()&fs.ModeSymlink != 0 {
			t.Errorf("%s: %v", e.Name(), info.Mode())
		}
	}
	if len(entries) < 3 {
		t.Fatalf("only %d files: the test proves nothing", len(entries))
	}
}

// The tables and the index of a new store have the reference's text.
func TestSchemaIsTheReferencesText(t *testing.T) {
	r := newRig(t, nil)
	query := "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'cs\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'cs\\_%' ESCAPE '\\' ORDER BY name"
	ours := rawRows(t, r.opts.Path, query)
	theirs := rawRows(t, copyStore(t, conformancePath("stores", "v8_empty.sqlite3")), query)
	if len(ours) != len(theirs) || len(ours) < 14 {
		t.Fatalf("%d objects, the reference has %d", len(ours), len(theirs))
	}
	for i := range ours {
		if ours[i][0] != theirs[i][0] || ours[i][1] != theirs[i][1] {
			t.Errorf("%v differs from\n%v", ours[i], theirs[i])
		}
	}
	for _, s := range core.States() {
		listed := strings.Contains(blockingStates, "'"+string(s)+"'")
		if listed != core.BlocksFreshAttempt(s) {
			t.Errorf("%s: the partial index says %v, core %v", s, listed, core.BlocksFreshAttempt(s))
		}
		if active := strings.Contains(activeStates, "'"+string(s)+"'"); active == s.Terminal() {
			t.Errorf("%s: the list of active contracts says %v", s, active)
		}
		if waiting := strings.Contains(waitingStates, "'"+string(s)+"'"); waiting != s.NeedsPerson() {
			t.Errorf("%s: the list of those that wait for a person says %v", s, waiting)
		}
	}
}

// Durable settings reach every connection that the store really uses.
func TestConnectionSettings(t *testing.T) {
	r := newRig(t, nil)
	for pragma, want := range map[string]int{"synchronous": 2, "foreign_keys": 1, "trusted_schema": 0, "cell_size_check": 1} {
		var got int
		r.must(r.writer.QueryRow("PRAGMA " + pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %d, want %d", pragma, got, want)
		}
	}
	var mode string
	r.must(r.writer.QueryRow("PRAGMA journal_mode").Scan(&mode))
	if mode != "wal" {
		t.Errorf("journal mode %s", mode)
	}
	if _, err := r.readers.Exec("DELETE FROM contracts"); err == nil {
		t.Error("a reader can write")
	}
}

// A database that another program holds locked gives its class, and works
// when it is free again.
func TestLockedDatabase(t *testing.T) {
	r := newRig(t, nil)
	other := layer{}.connect(r.opts.Path, writerOptions(), 1)
	defer other.Close()
	tx, err := other.Begin()
	r.must(err)
	r.must(pragma(r.writer, "busy_timeout = 50"))
	c := r.creation(testContract("a", "t", "i", r.clock.Now(), testValidity))
	if _, err := r.AuthorizeAndCreate(r.ctx, c); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
	r.must(tx.Rollback())
	_, err = r.AuthorizeAndCreate(r.ctx, c)
	r.must(err)
	r.check()
}

// A clock that was set back decides nothing: an expired contract must not
// come back to life. What is already under way is still recorded.
func TestClockSetBack(t *testing.T) {
	r := newRig(t, nil)
	a := r.acquire(r.confirm(r.create("a", "t-a", "i-a")))
	b := r.create("b", "t-b", "i-b")
	r.clock.add(-time.Second)
	if _, err := r.AuthorizeAndCreate(r.ctx, r.creation(testContract("c", "t-c", "i-c", r.clock.Now(), testValidity))); !errors.Is(err, ErrClock) {
		t.Errorf("create: %v", err)
	}
	e := core.NewConfirmationEvidence(b, "jo", "hmac-v1", "nonce-1", r.clock.Now())
	e.Proof = []byte("yes")
	if _, err := r.Confirm(r.ctx, b.ID, b.StateVersion, e, acceptAll{}); !errors.Is(err, ErrClock) {
		t.Errorf("confirm: %v", err)
	}
	if _, err := r.ExpirePrepared(r.ctx, b.ID, b.StateVersion); !errors.Is(err, ErrClock) {
		t.Errorf("expire: %v", err)
	}
	r.seal(a)
	events, err := r.Timeline(r.ctx, a.ID)
	r.must(err)
	if last := events[len(events)-1]; last.RecordedAt.Before(events[len(events)-2].RecordedAt) {
		t.Error("the chain runs backwards")
	}
	r.check()
}

// A cancelled context cannot take back a change that was asked for.
func TestStateChangesCannotBeCancelled(t *testing.T) {
	r := newRig(t, nil)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	c, err := r.AuthorizeAndCreate(ctx, r.creation(testContract("a", "t", "i", r.clock.Now(), testValidity)))
	r.must(err)
	if c.State != core.Prepared {
		t.Fatalf("state %s", c.State)
	}
}

// A newer version of our own tables is refused with what to do.
func TestNewerOwnTablesAreRefused(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.writer.Exec("UPDATE cs_head SET version = 2")
	r.must(err)
	r.must(r.Store.Close())
	before := fileSum(t, r.opts.Path)
	_, err = Open(r.ctx, r.opts)
	if ReasonOf(err) != ReasonOwnVersion || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("got %v", err)
	}
	if fileSum(t, r.opts.Path) != before {
		t.Error("the file changed")
	}
	r.Store = newStore(r.opts) // nothing left to close
}

// A newer schema of the reference is refused as such.
func TestNewerSchemaSaysSo(t *testing.T) {
	m := loadManifest(t)
	o := m.options(t, "corrupted/61_written_by_schema_v9.sqlite3")
	_, err := Open(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "written by a newer version") {
		t.Errorf("got %v", err)
	}
}

func pragma(db *sql.DB, setting string) error {
	_, err := db.Exec("PRAGMA " + setting)
	return err
}

// startTogether opens a store from several consoles at once.
func startTogether(t *testing.T, o Options) {
	t.Helper()
	o.Progress = func(int, int) { time.Sleep(time.Millisecond) }
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			s, err := Open(context.Background(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	checkStore(t, o)
}

// Consoles that start at the same moment all get in: whoever is through with
// the verification waits for those that are not, and what one has migrated
// or taken over the others find done.
func TestConsolesStartTogether(t *testing.T) {
	r := newRig(t, nil)
	r.fill(400)
	r.must(r.Store.Close())
	r.Store = newStore(r.opts)
	startTogether(t, r.opts)
	m := loadManifest(t)
	for _, file := range []string{"v6.sqlite3", "v7.sqlite3", "v8.sqlite3", "corrupted/57_file_empty.sqlite3"} {
		startTogether(t, m.options(t, file))
	}
}

// Whoever keeps the database to himself for ever keeps nobody waiting for
// ever: each step of an opening that needs him to go gives up and says so.
func TestOpeningGivesUp(t *testing.T) {
	m := loadManifest(t)
	deleteMode := url.Values{"mode": {"rw"}, "_pragma": {busyTimeout}}
	for _, c := range []struct {
		name, file string // "": a store of this console
		holder     url.Values
		hold       string
	}{
		{"locked before it is looked at", "v8_small.sqlite3", deleteMode, "BEGIN EXCLUSIVE"},
		{"read while it is migrated", "v6.sqlite3", deleteMode, "BEGIN; SELECT count(*) FROM contracts"},
		{"read while it changes to WAL mode", "", deleteMode, "BEGIN; SELECT count(*) FROM contracts"},
		{"written while it is taken over", "v8_small.sqlite3", writerOptions(), "BEGIN IMMEDIATE"},
		{"written while it is made", "corrupted/57_file_empty.sqlite3", writerOptions(), "BEGIN IMMEDIATE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			o := r.opts
			if c.file == "" {
				r.must(r.Store.Close())
				r.Store = newStore(o)
			} else {
				o = m.options(t, c.file)
			}
			db := layer{}.connect(o.Path, c.holder, 1)
			defer db.Close()
			holder, err := db.Conn(r.ctx)
			r.must(err)
			_, err = holder.ExecContext(r.ctx, c.hold)
			r.must(err)
			impatient := o
			impatient.patience = 50 * time.Millisecond
			_, err = Open(r.ctx, impatient)
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "end that program") {
				t.Fatalf("got %v", err)
			}
			_, err = holder.ExecContext(r.ctx, "ROLLBACK")
			r.must(err)
			r.must(errors.Join(holder.Close(), db.Close()))
			s, err := Open(r.ctx, o)
			r.must(err)
			r.must(s.Close())
			checkStore(t, o)
		})
	}
}

// A caller who gives up while another program holds the database is not told
// that the database is locked.
func TestOpeningCanBeCancelled(t *testing.T) {
	o := loadManifest(t).options(t, "v8_small.sqlite3")
	holder, err := layer{}.connect(o.Path, url.Values{"mode": {"rw"}}, 1).Conn(t.Context())
	must(t, err)
	defer holder.Close()
	_, err = holder.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, o); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
}

// A verification that has begun to read, and finds that a writer waits for it,
// makes way at once: with connections that waited beside those that read, each
// of the two would wait for the other until its time is up.
func TestVerificationMakesWayForAWriter(t *testing.T) {
	o := loadManifest(t).options(t, "v8_small.sqlite3")
	ctx := t.Context()
	verification := layer{}.connect(o.Path, inspectOptions("ro"), 2)
	defer verification.Close()
	first, same, err := beginAll(ctx, verification, 1)
	if err != nil || !same {
		t.Fatal(same, err)
	}
	writer, err := layer{}.connect(o.Path, url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(2000)"}}, 1).Conn(ctx)
	must(t, err)
	defer writer.Close()
	_, err = writer.ExecContext(ctx, "BEGIN IMMEDIATE; DELETE FROM rate_cooldowns")
	must(t, err)
	committed := make(chan error, 1)
	go func() {
		_, err := writer.ExecContext(ctx, "COMMIT")
		committed <- err
	}()
	probe := layer{}.connect(o.Path, url.Values{"mode": {"ro"}}, 1)
	defer probe.Close()
	for err := error(nil); err == nil && len(committed) == 0; { // until nobody new may read
		_, err = probe.ExecContext(ctx, "SELECT count(*) FROM contracts")
	}
	if _, _, err := beginAll(ctx, verification, 1); !errors.Is(classify(err), ErrLocked) {
		t.Fatalf("the verification goes on beside a writer that waits for it: %v", err)
	}
	closeAll(first)
	if err := <-committed; err != nil {
		t.Fatalf("the writer gave up: %v", err)
	}
}
