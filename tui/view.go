package tui

import (
	"countersign/views"
)

// layout is what a screen was last sized for.
type layout struct {
	screen        views.Screen
	width, height int
}

// lay sizes the shown screen for what head, notice and foot leave.
func (m *Model) lay() {
	if m.width == 0 {
		return
	}
	next := layout{m.top(), m.width, views.BodyHeight(m.frame, m.top(), m.notice, m.width, m.height)}
	if next != m.laidOut {
		m.laidOut = next
		next.screen.SetSize(next.width, next.height)
	}
}

// View draws the shown screen, and nothing before the terminal's size is
// known or after the console was left.
func (m *Model) View() string {
	if m.width == 0 || m.quitting {
		return ""
	}
	return views.Compose(m.frame, m.top(), m.notice, m.width, m.height)
}
