package views

import (
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// mostSecret bounds a passphrase in bytes. The buffer never grows, so no copy
// is left behind.
const mostSecret = 512

// secret is a passphrase being typed. Neither it nor its length is shown.
type secret struct{ text []byte }

// key edits the passphrase. A passphrase may be pasted (password managers);
// the line end that comes with it is not part of it.
func (s *secret) key(msg tea.KeyMsg) bool {
	switch msg.Type {
	case tea.KeyRunes, tea.KeySpace:
		for _, r := range msg.Runes {
			if r != '\n' && r != '\r' {
				s.add(r)
			}
		}
	case tea.KeyBackspace:
		_, size := utf8.DecodeLastRune(s.text)
		s.cut(len(s.text) - size)
	case tea.KeyCtrlU:
		s.wipe()
	default:
		return false
	}
	return true
}

func (s *secret) add(r rune) {
	if s.text == nil {
		s.text = make([]byte, 0, mostSecret)
	}
	if len(s.text)+utf8.RuneLen(r) <= cap(s.text) {
		s.text = utf8.AppendRune(s.text, r)
	}
}

// cut shortens the passphrase and overwrites the rest.
func (s *secret) cut(n int) {
	clear(s.text[n:])
	s.text = s.text[:n]
}

func (s *secret) empty() bool { return len(s.text) == 0 }

// wipe overwrites the passphrase.
func (s *secret) wipe() { s.cut(0) }

// take hands the bytes over; whoever gets them overwrites them after use.
func (s *secret) take() []byte {
	text := s.text
	s.text = nil
	return text
}
