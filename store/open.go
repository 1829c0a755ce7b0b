package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"time"

	"countersign/core"
)

// Options say which store to open and how.
type Options struct {
	// Path is absolute; its directory and the file are the owner's alone.
	Path string
	// StoreID is what every MAC is bound to. It must be the file's.
	StoreID string
	// IntegrityKey is at least MinKeyBytes long and never stored.
	IntegrityKey []byte
	// Clock decides about every time; nil is the machine's clock.
	Clock core.Clock
	// Limits contain the damage; see core.Limits.
	Limits core.Limits
	// Settle is the settle window after an ambiguous send. Zero is
	// core.MinimumSettle; a negative one is no window, for replays of
	// recorded cases only.
	Settle time.Duration
	// Existing refuses a file that is not a store yet (ErrEmpty) instead of
	// making it one.
	Existing bool
	// Progress, if not nil, is told how many contracts of how many the
	// verified scan has passed. It is called from one goroutine at a time.
	Progress func(done, total int)
	// FaultPoint, if not nil, is called at every named point around a commit,
	// "<operation>/before commit" and "<operation>/after commit", and at those
	// of Backup. Tests stop the process there.
	FaultPoint func(name string)

	layer layer // for tests
	// patience is how long each wait of an opening may take; zero is
	// openPatience. Only tests have less.
	patience time.Duration
	// scheme is the receipt scheme that is written; zero is the newest. Only
	// tests stand in for an older console with it.
	scheme core.SchemeVersion
	// judgeRetry decides about retries; nil is core.JudgeRetry. Only tests stand in
	// for what an older console knows with it.
	judgeRetry retryJudge
}

// retryJudge is core.JudgeRetry, or an older one.
type retryJudge func(core.Receipt, core.ReceiptClaim) (core.ReceiptOutcome, error)

// layer is how SQLite is reached; tests put others in between.
type layer struct {
	driver string // "" is the one of this program
	vfs    string // "" is SQLite's own file layer
}

// readerCount is how many connections read beside the one that writes.
const readerCount = 3

// Store is an open store. Its methods may be called concurrently; changes
// are made one at a time. It implements core.Store.
type Store struct {
	path       string
	storeID    string
	key        []byte
	clock      core.Clock
	limits     core.Limits
	settle     time.Duration
	patience   time.Duration
	faultPoint func(string)
	scheme     core.SchemeVersion
	judgeRetry retryJudge

	writer  *sql.DB // one connection, immediate transactions
	readers *sql.DB
	// closedReason is why nothing may be changed through this handle, or nil.
	closedReason error
	// own says that our tables are in the file; without them it is open for
	// reading alone.
	own bool

	flaws      flaws
	anchor     anchorState
	verifiedAt time.Time
}

var _ core.Store = (*Store)(nil)

func newStore(o Options) *Store {
	s := &Store{path: o.Path, storeID: o.StoreID, key: append([]byte(nil), o.IntegrityKey...),
		clock: o.Clock, limits: o.Limits, settle: o.Settle, patience: o.patience, faultPoint: o.FaultPoint,
		scheme: o.scheme, judgeRetry: o.judgeRetry, own: true}
	if s.clock == nil {
		s.clock = core.SystemClock{}
	}
	if s.judgeRetry == nil {
		s.judgeRetry = core.JudgeRetry
	}
	if o.Settle == 0 {
		s.settle = core.MinimumSettle
	}
	if o.patience == 0 {
		s.patience = openPatience
	}
	return s
}

func (s *Store) newMACs() *macs { return newMACs(s.storeID, s.key) }

func (o Options) check() error {
	switch {
	case len(o.IntegrityKey) < MinKeyBytes:
		return fmt.Errorf("%w: the integrity key is shorter than %d bytes", ErrOptions, MinKeyBytes)
	case !core.ValidIdentifier(o.StoreID):
		return fmt.Errorf("%w: the store id is not an identifier", ErrOptions)
	}
	return nil
}

// Create makes a new, empty store: the directory if it is missing, the file,
// and its tables. What exists is never touched (ErrExists), and a file of which
// no store became is removed again.
func Create(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if exists, _, err := checkPath(o.Path); err != nil {
		return nil, err
	} else if exists {
		return nil, ErrExists
	}
	if err := makeFile(o.Path); err != nil {
		return nil, err
	}
	s, err := Open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, Discard(o.Path))
	}
	return s, nil
}

// Open verifies a store completely and opens it. It looks before it touches:
// a store that is refused (ErrRefused with a Refusal) is byte-identical
// afterwards. An empty file becomes a new store, or with Existing is ErrEmpty;
// a missing one is ErrMissing. Stores of schema 6 and 7 are migrated after they
// were verified.
//
// Records with a flaw of their own are quarantined (Quarantined) and the rest
// can be used. Only where the reference wrote the file and our own tables are
// not in it yet, a flaw leaves the store open for reading alone: they are
// added after a verification without a flaw, and only then.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	exists, size, err := checkPath(o.Path)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, ErrMissing
	}
	s := newStore(o)
	if err := s.bringUp(ctx, o, size); err != nil {
		s.Close()
		return nil, err
	}
	s.verifiedAt = core.Instant(s.clock.Now())
	return s, nil
}

// connect opens the connections of a store whose file was found good.
func (s *Store) connect(ctx context.Context, layer layer) error {
	s.writer = layer.connect(s.path, writerOptions(), 1)
	if err := s.patiently(ctx, s.writer.PingContext); err != nil {
		s.disconnect() // closing the store must not try again
		return err
	}
	s.readers = layer.connect(s.path, readerOptions(), readerCount)
	return s.patiently(ctx, s.readers.PingContext)
}

// openPatience is how long each step of an opening waits for other consoles:
// while one verifies a store that was closed, nobody else can migrate it or
// change it to WAL mode. An opening has six such steps at most.
const openPatience = 2 * time.Minute

// patiently tries until the database is free, or says that it did not become
// free. What is tried must not wait much longer than its context lives.
func (s *Store) patiently(ctx context.Context, try func(context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for {
		err := classify(try(waiting))
		if !errors.Is(err, ErrLocked) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		select {
		case <-waiting.Done():
		case <-time.After(20 * time.Millisecond):
			continue
		}
		if ctx.Err() != nil { // the caller gave up, not we
			return ctx.Err()
		}
		return fmt.Errorf("%w, and was for %s; end that program, then start again", ErrLocked, s.patience)
	}
}

// connectReader opens a store for reading alone.
func (s *Store) connectReader(ctx context.Context, layer layer, why error) error {
	s.closedReason, s.own = why, false
	s.readers = layer.connect(s.path, readerOptions(), readerCount)
	return classify(s.readers.PingContext(ctx))
}

// connect prepares at most n connections to a file; none is opened yet.
func (l layer) connect(path string, options url.Values, n int) *sql.DB {
	name := l.driver
	if name == "" {
		name = "sqlite"
	}
	if l.vfs != "" {
		options.Set("vfs", l.vfs)
	}
	db, err := sql.Open(name, dsn(path, options))
	if err != nil { // only for a driver that is not registered
		return nil
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxIdleTime(0)
	return db
}

// busyTimeout is how long a connection waits for another program's lock;
// briefly is for those that must not wait while others beside them hold one.
const (
	busyTimeout = "busy_timeout(5000)"
	briefly     = "busy_timeout(20)"
)

// writerOptions: docs/decisions/0004-durability.md says why WAL with FULL.
func writerOptions() url.Values {
	return url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_dqs": {"0"}, "_defensive": {"1"},
		"_pragma": {busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			"trusted_schema(0)", "cell_size_check(1)", "temp_store(MEMORY)"}}
}

func readerOptions() url.Values { return readOnly(busyTimeout) }

func readOnly(patience string) url.Values {
	return url.Values{"mode": {"ro"}, "_dqs": {"0"}, "_pragma": {patience, "query_only(1)",
		"trusted_schema(0)", "cell_size_check(1)", "temp_store(MEMORY)"}}
}

// dsn names a database file with its options: options in the name reach
// every pooled connection.
func dsn(path string, options url.Values) string {
	slashed := filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: options.Encode()}).String()
}

// Close writes the log back into the database file and closes it. Where no
// other program has it open, the file is left in rollback-journal mode, as
// the reference writes it.
func (s *Store) Close() error {
	var err error
	if s.readers != nil {
		err = s.readers.Close()
	}
	if s.writer != nil {
		s.leaveWAL()
		if closeErr := s.writer.Close(); err == nil {
			err = closeErr
		}
		if syncErr := syncDir(filepath.Dir(s.path)); err == nil {
			err = syncErr
		}
	}
	clear(s.key)
	s.readers, s.writer = nil, nil
	return classify(err)
}

// leaveWAL is best effort: another program that has the store open keeps it
// in WAL mode, and the last one to close changes it back.
func (s *Store) leaveWAL() {
	ctx := context.Background()
	for _, statement := range []string{"PRAGMA busy_timeout = 0", "PRAGMA wal_checkpoint(TRUNCATE)",
		"PRAGMA journal_mode = DELETE"} {
		var ignored any
		rows, err := s.writer.QueryContext(ctx, statement)
		if err != nil {
			return
		}
		for rows.Next() {
			rows.Scan(&ignored)
		}
		rows.Close()
	}
}
