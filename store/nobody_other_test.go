//go:build !unix

package store

import "testing"

// runAsNobody is never called where no user is number 0.
func runAsNobody(t *testing.T) { t.Fatal("there is no other user to run this as") }
