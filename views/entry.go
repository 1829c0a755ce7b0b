package views

import (
	"slices"
	"unicode"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// mostEntry bounds what can be typed into one line, in runes.
const mostEntry = 256

// entry is one line of text being typed: a filter, a command, a target's
// name. It runs no clipboard program.
type entry struct {
	input textinput.Model
	// refusePaste is for a typed confirmation: what is agreed to must be
	// typed, not pasted.
	refusePaste bool
}

// newEntry is an empty line that takes keys.
func newEntry() entry {
	in := textinput.New()
	in.CharLimit = mostEntry
	in.KeyMap = editingKeys()
	in.Cursor.SetMode(cursor.CursorStatic) // gives no command: only a blinking cursor has one
	in.Focus()
	return entry{input: in}
}

// editingKeys are the keys of textinput without those that the screens have.
// Paste would run a clipboard program, though a terminal pastes by itself;
// DeleteWordForward panics on the last letter (bubbles v1.0.0).
func editingKeys() textinput.KeyMap {
	k := textinput.DefaultKeyMap
	k.Paste.SetEnabled(false)
	k.DeleteWordForward.SetEnabled(false)
	k.CharacterForward.SetKeys("right")
	k.CharacterBackward.SetKeys("left")
	k.DeleteCharacterForward.SetKeys("delete")
	return k
}

// key edits the line; refused reports that pasted text was not taken. Control
// characters are left out: the line end of pasted text would become a space.
func (e *entry) key(msg tea.KeyMsg) (refused bool) {
	if msg.Paste && e.refusePaste {
		return true
	}
	msg.Runes = slices.DeleteFunc(slices.Clone(msg.Runes), unicode.IsControl)
	e.input, _ = e.input.Update(msg) // its only commands are the clipboard and blinking
	return false
}

func (e *entry) String() string { return e.input.Value() }

// show is the line with its caret. It is not textinput's own view, which
// shows text as it came, and its cursor by style alone.
func (e *entry) show(t *Theme, focused bool) string {
	text := []rune(e.input.Value())
	if !focused {
		return t.Input.Render(t.Clean(string(text)))
	}
	at := e.input.Position()
	return t.Input.Render(t.Clean(string(text[:at]))) + t.Marks.Caret + t.Input.Render(t.Clean(string(text[at:])))
}
