package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A file layer of SQLite that counts what a commit costs and can run out of
// space. It stands in front of the default one, in tests only.

const watchedVFS = "watched"

var watched struct {
	once    sync.Once
	open    uintptr // the default layer's xOpen
	mu      sync.Mutex
	methods map[uintptr]uintptr // its methods, by our copy of them
	copies  map[uintptr]uintptr

	syncs, writes atomic.Int64
	// space is how many more bytes may be written; negative is unlimited.
	space atomic.Int64
}

// at is the C value at an address; the memory is not Go's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// pointer is the address of a top-level function for C.
func pointer[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f})) }

// call turns an address back into a function.
func call[T any](address uintptr) T { return *(*T)(unsafe.Pointer(&struct{ p uintptr }{address})) }

type (
	openFunc  = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	syncFunc  = func(*libc.TLS, uintptr, int32) int32
	writeFunc = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
)

// useWatchedVFS registers the layer and resets its counters.
func useWatchedVFS(t testing.TB) string {
	t.Helper()
	watched.once.Do(func() {
		tls := libc.NewTLS()
		watched.methods, watched.copies = map[uintptr]uintptr{}, map[uintptr]uintptr{}
		original := sqlite3.Xsqlite3_vfs_find(tls, 0)
		size := unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})
		ours := libc.Xmalloc(tls, libc.Tsize_t(size))
		*at[sqlite3.Tsqlite3_vfs](ours) = *at[sqlite3.Tsqlite3_vfs](original)
		v := at[sqlite3.Tsqlite3_vfs](ours)
		name, err := libc.CString(watchedVFS)
		if err != nil {
			t.Fatal(err)
		}
		watched.open = v.FxOpen
		v.FpNext, v.FzName, v.FxOpen = 0, name, pointer(watchedOpen)
		if rc := sqlite3.Xsqlite3_vfs_register(tls, ours, 0); rc != sqlite3.SQLITE_OK {
			t.Fatalf("registering the file layer: %d", rc)
		}
	})
	watched.syncs.Store(0)
	watched.writes.Store(0)
	watched.space.Store(-1)
	t.Cleanup(func() { watched.space.Store(-1) })
	return watchedVFS
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
	m.FxSync, m.FxWrite = pointer(watchedSync), pointer(watchedWrite)
	watched.copies[original], watched.methods[c] = c, original
	return c
}

func originalOf(file uintptr) *sqlite3.Tsqlite3_io_methods {
	watched.mu.Lock()
	defer watched.mu.Unlock()
	return at[sqlite3.Tsqlite3_io_methods](watched.methods[at[sqlite3.Tsqlite3_file](file).FpMethods])
}

func watchedSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	watched.syncs.Add(1)
	return call[syncFunc](originalOf(file).FxSync)(tls, file, flags)
}

func watchedWrite(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	watched.writes.Add(1)
	if watched.space.Load() >= 0 && watched.space.Add(-int64(n)) < 0 {
		watched.space.Store(0)
		return sqlite3.SQLITE_FULL
	}
	return call[writeFunc](originalOf(file).FxWrite)(tls, file, data, n, offset)
}
