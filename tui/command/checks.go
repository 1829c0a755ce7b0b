package command

import (
	"errors"
	"fmt"
	"io"
)

// Checks prints one line for each part that is checked, and remembers what
// failed.
type Checks struct {
	Out    io.Writer
	failed []error
}

// Check prints how a part is, with the way on where it is not in order. It
// reports whether the part can be used.
func (c *Checks) Check(what string, err error) bool {
	if err == nil {
		fmt.Fprintf(c.Out, "+ %-10s ok\n", what)
		return true
	}
	c.failed = append(c.failed, err)
	fmt.Fprintf(c.Out, "x %-10s %v\n", what, err)
	var advised *Classified
	if errors.As(err, &advised) && advised.Hint != "" {
		c.Note(advised.Hint)
	}
	return false
}

// Note prints a line that belongs to the part before it.
func (c *Checks) Note(text string) { fmt.Fprintf(c.Out, "  %-10s %s\n", "", text) }

// Err has the exit code of the first part that is not in order.
func (c *Checks) Err() error {
	switch n := len(c.failed); n {
	case 0:
		return nil
	case 1:
		return classified(errors.New("one part is not in order"), exitCode(c.failed[0]), "")
	default:
		return classified(fmt.Errorf("%d parts are not in order", n), exitCode(c.failed[0]), "")
	}
}
