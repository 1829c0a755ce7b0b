package views

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Screen is one screen of the console. Update and Init return what the screen
// wants from the router, or nil, and a command for its own widgets, or nil.
type Screen interface {
	Init() (Intent, tea.Cmd)
	Update(tea.Msg) (Intent, tea.Cmd)
	// View gives the body: at most the lines and columns of SetSize.
	View() string
	SetSize(width, height int)
	// Title is the second line: what this is about, and what runs out.
	Title() (left, right string)
	// Keys lists the screen's bindings in the footer's order.
	Keys() []Binding
	// Situation is what the bindings decide on.
	Situation() Situation
	// Typing reports whether printable keys are text here.
	Typing() bool
	// Hint is one line about what is selected, or "".
	Hint() string
	// Gate reports whether an operator agrees to something here.
	Gate() bool
}

// Frame is what all screens share. The router keeps it up to date; a screen
// only reads it.
type Frame struct {
	Theme     *Theme
	KeyMap    KeyMap
	Header    core.Header
	Now       time.Time
	Zone      *time.Location // in which times are shown
	Operator  string         // who is asked for a passphrase
	Operators []string       // who is enrolled
	Banner    string         // one line above the list, or ""
	Exports   bool           // requests to sign elsewhere can be written
	Practice  bool           // the firewall is simulated, and faults can be armed
	Armed     []string       // the faults that wait for the next change
}

// base is the part that all screens have in common.
type base struct {
	*Frame
	width, height int
}

func (b *base) SetSize(width, height int) { b.width, b.height = width, height }

// Init asks for nothing.
func (b *base) Init() (Intent, tea.Cmd) { return nil, nil }

// Typing is false for screens whose letters are keys.
func (b *base) Typing() bool { return false }

// Gate is false for screens on which nothing is agreed to.
func (b *base) Gate() bool { return false }

// Hint is empty.
func (b *base) Hint() string { return "" }

// Situation knows the header alone.
func (b *base) Situation() Situation { return Situation{Header: b.Header} }

func (b *base) page() *page { return &page{theme: b.Theme, width: b.width} }

// clock shows a time of day, with seconds.
func (b *base) clock(t time.Time) string { return t.In(b.zone()).Format("15:04:05") }

// settlesIn is how long no new request may be sent to this firewall (design
// section 4, rule 4).
func (f *Frame) settlesIn() time.Duration { return max(0, f.Header.SettleUntil.Sub(f.Now)) }

// settling says why nothing new may be sent now, or "".
func (f *Frame) settling() string {
	if left := f.settlesIn(); left > 0 {
		return reasonSettling + countdown(left)
	}
	return ""
}

func (b *base) zone() *time.Location { return b.Frame.zone() }

func (f *Frame) zone() *time.Location {
	if f.Zone == nil {
		return time.Local
	}
	return f.Zone
}
