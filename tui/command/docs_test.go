package command

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has its row in docs/commands.md.
func TestEveryCommandIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			walk(child)
		}
		if c.Hidden || c.HasSubCommands() && c.HasParent() {
			return
		}
		commands++
		if row := "| `" + c.CommandPath(); !strings.Contains(string(text), row+"`") && !strings.Contains(string(text), row+" ") {
			t.Errorf("%s has no row", c.CommandPath())
		}
	}
	walk(newRoot(nil, nil, nil))
	if commands < 14 {
		t.Errorf("only %d commands were found", commands)
	}
}
