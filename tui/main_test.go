package tui

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when the console leaves a goroutine behind. Two are not its
// own: teatest's, which waits for an interrupt, and bubbletea's, which reads a
// keyboard that nobody touches.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/charmbracelet/x/exp/teatest.NewTestModel.func2"),
		goleak.IgnoreAnyFunction("countersign/tui.neverRead.Read"))
}
