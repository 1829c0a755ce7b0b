package views

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// scroll shows part of a page and says what is above and below it.
type scroll struct {
	top   int
	total int // lines of the page when it was last measured
	room  int
}

// measure keeps the position within the page. Update calls it; View only reads.
func (s *scroll) measure(total, room int) {
	s.total, s.room = total, room
	s.top = max(0, min(s.top, total-room))
}

// atEnd reports whether the last line is on screen.
func (s *scroll) atEnd() bool { return s.top+s.room >= s.total }

// key moves; it reports whether the key was one of its own.
func (s *scroll) key(k KeyMap, msg tea.KeyMsg) bool {
	step := max(1, s.room-2)
	switch {
	case k.Up.Is(msg):
		s.top--
	case k.Down.Is(msg):
		s.top++
	case k.PageUp.Is(msg):
		s.top -= step
	case k.PageDown.Is(msg):
		s.top += step
	case k.Top.Is(msg):
		s.top = 0
	case k.Bottom.Is(msg):
		s.top = s.total
	default:
		return false
	}
	s.measure(s.total, s.room)
	return true
}

// show gives height lines of the page. Where more is below or above, the last
// or first line says so instead of being cut silently.
func (s *scroll) show(t *Theme, lines []string, width, height int) string {
	if len(lines) <= height {
		return t.join(lines, width, height)
	}
	top := max(0, min(s.top, len(lines)-height))
	part := append([]string(nil), lines[top:top+height]...)
	if below := len(lines) - top - height; below > 0 {
		part[height-1] = t.Dim.Render(fmt.Sprintf("   %s %s, pgdn", t.Marks.More, counted(below+1, "more line")))
	}
	if top > 0 && height > 2 {
		part[0] = t.Dim.Render(fmt.Sprintf("   %s above, pgup", counted(top+1, "line")))
	}
	return t.join(part, width, height)
}
