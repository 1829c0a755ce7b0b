package tui

import (
	"io"
	"strings"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"countersign/views"
)

// mostCopied bounds what is put on the clipboard, in bytes. Only identifiers
// and digests are ever copied.
const mostCopied = 256

// copyText puts text on the terminal's own clipboard with OSC 52, which also
// works over ssh; it runs no program. tmux and screen need their wrappers.
func (m *Model) copyText(c views.Copy) tea.Cmd {
	if len(c.Text) > mostCopied {
		return nil
	}
	sequence := osc52.New(c.Text)
	switch {
	case m.opts.Environ("TMUX") != "":
		sequence = sequence.Tmux()
	case strings.HasPrefix(m.opts.Environ("TERM"), "screen"):
		sequence = sequence.Screen()
	}
	m.notice = views.Copied(c.What)
	out := m.opts.Output
	return func() tea.Msg {
		_, _ = io.WriteString(out, sequence.String()) // a terminal that cannot take it shows nothing
		return nil
	}
}
