package command

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every key of the configuration has its row in docs/configuration.md.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(of reflect.Type, prefix string)
	walk = func(of reflect.Type, prefix string) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			if name == "" {
				continue
			}
			under := f.Type
			if under.Kind() == reflect.Slice {
				under = under.Elem()
			}
			if under.Kind() == reflect.Struct {
				walk(under, name+".")
				continue
			}
			keys++
			if !strings.Contains(string(text), "| `"+prefix+name+"` |") {
				t.Errorf("%s%s has no row", prefix, name)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	if keys < 20 {
		t.Errorf("only %d keys were found", keys)
	}
}

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
