package views

import (
	"bytes"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

func letter(r rune) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}} }

// A passphrase is edited in one buffer that never moves; what is taken back
// or wiped is overwritten there.
func TestSecretOverwritesWhatItForgets(t *testing.T) {
	var s secret
	for _, r := range "correct hörse" {
		s.key(letter(r))
	}
	buffer := s.text[:cap(s.text)]
	s.key(tea.KeyMsg{Type: tea.KeyBackspace})
	s.key(tea.KeyMsg{Type: tea.KeyBackspace})
	if got := string(s.text); got != "correct hör" {
		t.Errorf("after two backspaces it is %q", got)
	}
	if bytes.Contains(buffer, []byte("s")) || &buffer[0] != &s.text[0] {
		t.Error("what was taken back is still in memory, or the buffer has moved")
	}
	s.key(tea.KeyMsg{Type: tea.KeyCtrlU})
	if !s.empty() || !bytes.Equal(buffer, make([]byte, len(buffer))) {
		t.Error("a wiped passphrase is still in memory")
	}
}

func TestSecretTakesWhatManagersPaste(t *testing.T) {
	var s secret
	s.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("correct horse\r\n"), Paste: true})
	if got := string(s.take()); got != "correct horse" {
		t.Errorf("got %q", got)
	}
	if !s.empty() {
		t.Error("a passphrase that was handed over is still held")
	}
}

func TestSecretIsBounded(t *testing.T) {
	var s secret
	s.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.Repeat("ä", mostSecret))})
	if len(s.text) != mostSecret || cap(s.text) != mostSecret {
		t.Errorf("%d bytes in a buffer of %d", len(s.text), cap(s.text))
	}
	s.key(tea.KeyMsg{Type: tea.KeyBackspace})
	if len(s.text) != mostSecret-2 {
		t.Errorf("a backspace took %d bytes", mostSecret-len(s.text))
	}
}

// The length of a passphrase cannot be read from the screen.
func TestPromptHidesTheLength(t *testing.T) {
	g := &gate{base: base{Frame: testFrame(ThemeOptions{Plain: true}), width: 80, height: 17}}
	g.secret.add('x')
	one := g.prompt(true)
	for range 40 {
		g.secret.add('x')
	}
	if many := g.prompt(true); many != one {
		t.Errorf("one letter shows %q, forty-one show %q", one, many)
	}
}
