//go:build unix

package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user that owns nothing; it need not have a name.
const nobody = 65534

// runAsNobody runs the same test in a process of a user who may not write
// everywhere, in a directory of that user's. Only root can.
func runAsNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "test") // where this one is, others may not look
	must(t, copyFile(os.Args[0], program))
	must(t, os.Chmod(program, 0o755))
	must(t, os.Chown(dir, nobody, nobody))
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as user %d: %v\n%s", nobody, err, out)
	}
}
