//go:build !unix

package keys

// NoCoreDump does nothing where there are no core dumps.
func NoCoreDump() {}
