package views

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Opening is the first frame: the store is being verified, and until that has
// passed there is nothing but help and the way out. It becomes the refusal
// where the console cannot be opened.
type Opening struct {
	base
	done, total int
	failure     error
}

// NewOpening shows that the console is being opened.
func NewOpening(f *Frame) *Opening { return &Opening{base: base{Frame: f}} }

// Title is empty: the second line is the health line, which says how far the
// scan is.
func (o *Opening) Title() (string, string) { return "", "" }

// Keys help and leave; the list's keys say what they wait for.
func (o *Opening) Keys() []Binding {
	k := o.KeyMap
	return []Binding{k.Help, k.Quit, k.Open, k.New, k.Filter, k.NextList, k.Palette, k.Health, k.Inbox}
}

// Situation says why nothing else works.
func (o *Opening) Situation() Situation {
	s := o.base.Situation()
	s.Waiting = waitOpening
	if o.failure != nil {
		s.Waiting = reasonNotOpen
	}
	return s
}

// Update follows the scan and its end.
func (o *Opening) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case Scanned:
		o.done, o.total = msg.Done, msg.Total
	case OpenFailed:
		o.failure = msg.Err
	}
	return nil, nil
}

// View says what is waited for, or why it was refused.
func (o *Opening) View() string {
	p, t := o.page(), o.Theme
	p.blank()
	if o.failure != nil {
		p.text(t.Strong, 1, sayNotOpened)
		p.blank()
		p.refusal(o.failure)
		p.blank()
		p.text(t.Text, 1, sayNotOpenedLeave)
		return t.join(p.lines, o.width, o.height)
	}
	p.text(t.Text, 1, sayOpening)
	p.blank()
	if o.total > 0 {
		p.raw("   " + t.bar(o.done, o.total, min(barWidth, o.width-6)))
		p.blank()
	}
	p.text(t.Dim, 1, sayOpeningLeave)
	return t.join(p.lines, o.width, o.height)
}

// barWidth is how many cells a bar has at most.
const barWidth = 60

// bar draws how much of a whole is done.
func (t *Theme) bar(done, total, width int) string {
	filled := max(0, min(width, width*done/total))
	return t.Info.Render(strings.Repeat(t.Marks.Full, filled)) + t.Dim.Render(strings.Repeat(t.Marks.Empty, max(0, width-filled)))
}

// ScanNote says for the health line how far the verified scan is.
func ScanNote(done, total int) string {
	switch {
	case total == 0:
		return noteOpening
	case done < total:
		return fmt.Sprintf(noteVerifying, count(done), count(total))
	}
	return fmt.Sprintf(noteScanned, counted(total, "contract"))
}

// NotOpen is the header of a console that could not be opened.
func NotOpen(h core.Header) core.Header {
	h.Mode, h.StoreNote, h.Closed = modeNotOpen, "not open", reasonNotOpen
	return h
}

// modeNotOpen stands where the mode of an opened console stands.
const modeNotOpen core.Mode = "NOT OPEN"
