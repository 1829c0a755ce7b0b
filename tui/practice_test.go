package tui

import (
	"errors"
	"slices"
	"testing"
)

// drills is a simulated firewall on which nothing really happens.
type drills struct {
	armed  []string
	broken error
}

func (d *drills) Troubles() []string         { return []string{"commit-then-drop", "late-write", "edit-now"} }
func (d *drills) Explain(name string) string { return "what " + name + " does" }
func (d *drills) Armed() []string            { return d.armed }
func (d *drills) Clear() error               { d.armed = nil; return d.broken }

func (d *drills) Arm(name string) error {
	if name != "edit-now" && !slices.Contains(d.armed, name) {
		d.armed = append(d.armed, name)
	}
	return d.broken
}

func practising(t *testing.T) (*robot, *drills) {
	t.Helper()
	clock, d := newTestClock(), &drills{}
	engine := newFake(clock)
	return beginWith(t, 80, 24, engine, clock, func(o *Options) { o.Engine, o.Practice = engine, d }), d
}

// The palette leads to the page of faults, and nothing else does; what is
// armed is marked there and said on every screen until it has hit.
func TestPractice(t *testing.T) {
	r, d := practising(t)
	r.lacks("armed").press("?").lacks("fault").press("esc")
	r.press(":", "faults", "enter").sees("Faults to practise with", "nothing is armed", "commit-then-drop: what commit-then-drop does")
	r.press("enter").sees("▶ commit-then-drop", "ARMED: what", "armed for the next change: commit-then-drop", "armed: commit-then-drop  jo")
	r.press("down", "enter").sees("armed for the next change: commit-then-drop, late-write", "2 faults armed  jo")
	r.press("G", "enter").sees("edit-now is done", "2 faults armed")
	r.press("esc").sees("[Active 0]", "2 faults armed  jo")
	d.armed = d.armed[:1] // one has hit
	r.press("ctrl+r").sees("armed: commit-then-drop  jo")
	r.press(":", "faults", "enter", "x").sees("nothing is armed any more").lacks("armed: ", "ARMED")
	d.broken = errors.New("sim: reopening the port")
	r.press("x").sees("refused: sim: reopening the port")
}

// A real firewall has no such page.
func TestNoPracticeWithoutASimulator(t *testing.T) {
	r := begin(t, 80, 24, nil)
	r.press(":", "faults").sees("nothing matches")
}
