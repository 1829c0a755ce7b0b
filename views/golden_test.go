package views

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
)

// TestGolden compares every screen in every state that matters, without
// colour, at two sizes. The first line of a file is its reason to exist.
// Run with -update after a deliberate change, and read the difference.
func TestGolden(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 40}} {
		for _, s := range scenes() {
			t.Run(fmt.Sprintf("%s_%dx%d", s.name, size.width, size.height), func(t *testing.T) {
				view := s.at(ThemeOptions{Plain: true}, size.width, size.height)
				golden.RequireEqual(t, []byte(fmt.Sprintf("# %s (%dx%d)\n%s\n", s.reason, size.width, size.height, view)))
			})
		}
	}
}

// TestGoldenASCII: the same without any character outside ASCII.
func TestGoldenASCII(t *testing.T) {
	for _, s := range scenes() {
		switch s.name {
		case "list", "execute_sending", "reconcile", "confirm":
			t.Run(s.name, func(t *testing.T) {
				view := s.at(ThemeOptions{Plain: true, ASCII: true}, 80, 24)
				golden.RequireEqual(t, []byte(fmt.Sprintf("# in plain ASCII: %s (80x24)\n%s\n", s.reason, view)))
			})
		}
	}
}
