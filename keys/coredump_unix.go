//go:build unix

package keys

import "golang.org/x/sys/unix"

// NoCoreDump keeps this process from leaving its memory on disk when it
// crashes: keys and values are only ever held in memory.
func NoCoreDump() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
