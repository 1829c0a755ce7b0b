package store

import (
	"io"
	"os"
	"os/exec"
)

// copyFile copies a file that SQLite may have open in this process. Opening
// and closing it here would drop SQLite's locks, so cat does it where there is one.
func copyFile(from, to string) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	defer out.Close()
	if cat, err := exec.LookPath("cat"); err == nil {
		cmd := exec.Command(cat, from)
		cmd.Stdout = out
		return cmd.Run()
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(out, in)
	return err
}
