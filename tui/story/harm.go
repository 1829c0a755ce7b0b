package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"countersign/core"
)

// KillingSender kills its own process instead of sending: what it is given
// was durably acquired, and no request byte ever leaves.
type KillingSender struct{}

// Send does not return.
func (KillingSender) Send(context.Context, core.Mutation) core.Exchange {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// waitForDeath runs a child and requires that a signal ended it.
func waitForDeath(child *exec.Cmd) error {
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		return nil
	}
	return fmt.Errorf("the child was not killed: %w", errors.Join(err, errors.New(string(bytes.TrimSpace(out)))))
}

// tamperWith changes one byte of a stored record in the database file
// itself, in every page that holds a copy of the record.
func tamperWith(path, contractID string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mark := `"contract_id":"` + contractID + `","created_at":"`
	changed := bytes.ReplaceAll(raw, []byte(mark+"2"), []byte(mark+"3"))
	if bytes.Equal(changed, raw) {
		return errors.New("the record was not found in the file")
	}
	return os.WriteFile(path, changed, 0o600)
}
