package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A file layer of SQLite that counts what a commit costs, can run out of
// space, and can kill its process before any change of a file. It stands in
// front of the default one, in tests only.

const watchedVFS = "watched"

var watched struct {
	once    sync.Once
	err     error
	open    uintptr // the default layer's xOpen
	remove  uintptr // and its xDelete
	mu      sync.Mutex
	methods map[uintptr]uintptr // its methods, by our copy of them
	copies  map[uintptr]uintptr

	syncs, writes atomic.Int64
	// space is how many more bytes may be written; negative is unlimited.
	space atomic.Int64
	// dieBefore counts down to the write, sync, cut or removal of a file that
	// this process does not live to make; zero is never.
	dieBefore atomic.Int64
}

// at is the C value at an address; the memory is not Go's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// pointer is the address of a top-level function for C.
func pointer[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f})) }

// call turns an address back into a function.
func call[T any](address uintptr) T { return *(*T)(unsafe.Pointer(&struct{ p uintptr }{address})) }

type (
	openFunc   = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	removeFunc = func(*libc.TLS, uintptr, uintptr, int32) int32
	syncFunc   = func(*libc.TLS, uintptr, int32) int32
	cutFunc    = func(*libc.TLS, uintptr, int64) int32
	writeFunc  = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
)

// useWatchedVFS registers the layer and resets its counters.
func useWatchedVFS(t testing.TB) string {
	t.Helper()
	if err := registerWatchedVFS(); err != nil {
		t.Fatal(err)
	}
	watched.syncs.Store(0)
	watched.writes.Store(0)
	watched.space.Store(-1)
	t.Cleanup(func() { watched.space.Store(-1) })
	return watchedVFS
}

func registerWatchedVFS() error {
	watched.once.Do(func() {
		watched.space.Store(-1)
		tls := libc.NewTLS()
		watched.methods, watched.copies = map[uintptr]uintptr{}, map[uintptr]uintptr{}
		original := sqlite3.Xsqlite3_vfs_find(tls, 0)
		size := unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})
		ours := libc.Xmalloc(tls, libc.Tsize_t(size))
		*at[sqlite3.Tsqlite3_vfs](ours) = *at[sqlite3.Tsqlite3_vfs](original)
		v := at[sqlite3.Tsqlite3_vfs](ours)
		name, err := libc.CString(watchedVFS)
		if err != nil {
			watched.err = err
			return
		}
		watched.open, watched.remove = v.FxOpen, v.FxDelete
		v.FpNext, v.FzName, v.FxOpen, v.FxDelete = 0, name, pointer(watchedOpen), pointer(watchedRemove)
		if rc := sqlite3.Xsqlite3_vfs_register(tls, ours, 0); rc != sqlite3.SQLITE_OK {
			watched.err = fmt.Errorf("registering the file layer: %d", rc)
		}
	})
	return watched.err
}

func watchedOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	rc := call[openFunc](watched.open)(tls, vfs, name, file, flags, out)
	if f := at[sqlite3.Tsqlite3_file](file); rc == sqlite3.SQLITE_OK && f.FpMethods != 0 {
		f.FpMethods = watchedMethods(tls, f.FpMethods)
	}
	return rc
}

// watchedMethods is a copy of a file's methods with ours in front.
func watchedMethods(tls *libc.TLS, original uintptr) uintptr {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if c, made := watched.copies[original]; made {
		return c
	}
	c := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	*at[sqlite3.Tsqlite3_io_methods](c) = *at[sqlite3.Tsqlite3_io_methods](original)
	m := at[sqlite3.Tsqlite3_io_methods](c)
	m.FxSync, m.FxWrite, m.FxTruncate = pointer(watchedSync), pointer(watchedWrite), pointer(watchedCut)
	watched.copies[original], watched.methods[c] = c, original
	return c
}

func originalOf(file uintptr) *sqlite3.Tsqlite3_io_methods {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	return at[sqlite3.Tsqlite3_io_methods](watched.methods[at[sqlite3.Tsqlite3_file](file).FpMethods])
}

// mayDie ends the process if this is the change of a file that it must not make.
func mayDie() {
	if watched.dieBefore.Load() > 0 && watched.dieBefore.Add(-1) == 0 {
		die()
	}
}

func watchedRemove(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	mayDie()
	return call[removeFunc](watched.remove)(tls, vfs, name, syncDir)
}

func watchedCut(tls *libc.TLS, file uintptr, size int64) int32 {
	mayDie()
	return call[cutFunc](originalOf(file).FxTruncate)(tls, file, size)
}

func watchedSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	mayDie()
	watched.syncs.Add(1)
	return call[syncFunc](originalOf(file).FxSync)(tls, file, flags)
}

func watchedWrite(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	mayDie()
	watched.writes.Add(1)
	if watched.space.Load() >= 0 && watched.space.Add(-int64(n)) < 0 {
		watched.space.Store(0)
		return sqlite3.SQLITE_FULL
	}
	return call[writeFunc](originalOf(file).FxWrite)(tls, file, data, n, offset)
}
