package views

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"
	"github.com/charmbracelet/lipgloss"

	"countersign/core"
)

// listLines and pickLines are how much of a list is shown at once.
const (
	listLines = 4
	pickLines = 8
)

// formHead is how many lines the screen shows above the form.
const formHead = 2

// form asks for a request's fields with huh. What it gives is untrusted: the
// capability checks every value again. It is no gate, and holds no secret.
type form struct {
	theme  *Theme
	fields []core.Field
	form   *huh.Form
	texts  map[string]*string
	flags  map[string]*bool
	picks  map[string]*[]string
}

// newForm builds a form; typed are values of an earlier one, or nil.
func newForm(t *Theme, fields []core.Field, typed map[string]any) *form {
	f := &form{theme: t, fields: fields, texts: map[string]*string{}, flags: map[string]*bool{},
		picks: map[string]*[]string{}}
	var asked []huh.Field
	for _, field := range fields {
		value, ok := typed[field.Name]
		if !ok {
			value = field.Current
		}
		asked = append(asked, f.field(field, value))
	}
	keys := huh.NewDefaultKeyMap()
	keys.Text.Editor.SetEnabled(false)
	keys.Quit.SetEnabled(false)
	f.form = huh.NewForm(huh.NewGroup(asked...)).WithTheme(huhTheme(t)).WithKeyMap(keys).
		WithShowHelp(false).WithShowErrors(true)
	return f
}

func (f *form) field(field core.Field, value any) huh.Field {
	title, help := f.theme.Clean(field.Label), f.theme.Clean(helpWords(field))
	if field.Kind == core.BoolField {
		flag, _ := value.(bool)
		f.flags[field.Name] = &flag
		return huh.NewSelect[bool]().Key(field.Name).Title(title).Description(help).
			Options(huh.NewOption("yes", true), huh.NewOption("no", false)).Value(&flag)
	}
	if field.Kind == core.ListField && len(field.Choices) > 0 {
		picked := splitEntries(textOf(value))
		f.picks[field.Name] = &picked
		return huh.NewMultiSelect[string]().Key(field.Name).Title(title).Description(help).
			Options(choicesOf(f.theme, field)...).Height(pickLines).Value(&picked)
	}
	text := textOf(value)
	f.texts[field.Name] = &text
	switch field.Kind {
	case core.ChoiceField:
		return huh.NewSelect[string]().Key(field.Name).Title(title).Description(help).
			Options(choicesOf(f.theme, field)...).Height(pickLines + 2).Value(&text)
	case core.ListField:
		return huh.NewText().Key(field.Name).Title(title).Description(help).ExternalEditor(false).
			Lines(listLines).CharLimit(field.Limit).ShowLineNumbers(false).Value(&text)
	case core.NumberField:
		return huh.NewInput().Key(field.Name).Title(title).Description(help).Validate(wholeNumber).Value(&text)
	}
	return huh.NewInput().Key(field.Name).Title(title).Description(help).CharLimit(field.Limit).Value(&text)
}

// helpWords adds how a list is typed, and what the value is now.
func helpWords(field core.Field) string {
	parts := []string{}
	if field.Help != "" {
		parts = append(parts, field.Help)
	}
	switch now := field.Current.(type) {
	case bool:
		parts = append(parts, "now: "+map[bool]string{true: "yes", false: "no"}[now])
	case string:
		parts = append(parts, `now: "`+now+`"`)
	case int64:
		parts = append(parts, fmt.Sprintf("now: %d", now))
	}
	if field.Kind == core.ListField {
		hint := "ctrl+j begins a new line"
		if len(field.Choices) > 0 {
			hint = "x chooses a line"
		}
		parts = append(parts, hint)
	}
	return strings.Join(parts, "; ")
}

func choicesOf(t *Theme, field core.Field) []huh.Option[string] {
	options := make([]huh.Option[string], len(field.Choices))
	for i, c := range field.Choices {
		options[i] = huh.NewOption(t.Clean(c), c)
	}
	return options
}

func wholeNumber(s string) error {
	if _, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err != nil {
		return errors.New("this must be a whole number")
	}
	return nil
}

// textOf is a value as it is typed; a list has one entry a line.
func textOf(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case []any:
		lines := make([]string, len(x))
		for i, e := range x {
			lines[i] = textOf(e)
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprint(v)
}

// splitEntries are the lines of a list field that are not blank.
func splitEntries(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (f *form) init() tea.Cmd { return f.form.Init() }

func (f *form) resize(width, height int) {
	f.form.WithWidth(min(width-4, 100)).WithHeight(max(3, height-formHead))
}

// update reports whether the form has just been completed. The keys that
// delete a word ahead are dropped: textinput v1.0.0 panics at them on a line's
// last letter, and huh does not let its key map be changed.
func (f *form) update(msg tea.Msg) (done bool, cmd tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok && key.Matches(k, textinput.DefaultKeyMap.DeleteWordForward) {
		return false, nil
	}
	m, cmd := f.form.Update(msg)
	if next, ok := m.(*huh.Form); ok {
		f.form = next
	}
	return f.form.State == huh.StateCompleted, cmd
}

func (f *form) view() string {
	return sanitizeStyled(f.form.View(), f.theme.ASCII)
}

// typed are the values as they were typed, for a form that follows.
func (f *form) typed() map[string]any {
	out := map[string]any{}
	for name, text := range f.texts {
		out[name] = *text
	}
	for name, flag := range f.flags {
		out[name] = *flag
	}
	for name, picked := range f.picks {
		out[name] = listOf(*picked)
	}
	return out
}

// values are the members of a request.
func (f *form) values() core.Object {
	out := core.Object{}
	for _, field := range f.fields {
		out[field.Name] = f.value(field)
	}
	return out
}

func (f *form) value(field core.Field) any {
	switch field.Kind {
	case core.BoolField:
		return *f.flags[field.Name]
	case core.NumberField:
		n, _ := strconv.ParseInt(strings.TrimSpace(*f.texts[field.Name]), 10, 64)
		return n
	case core.ListField:
		if picked, ok := f.picks[field.Name]; ok {
			return listOf(*picked)
		}
		return listOf(splitEntries(*f.texts[field.Name]))
	}
	return *f.texts[field.Name]
}

func listOf(entries []string) []any {
	list := make([]any, len(entries))
	for i, e := range entries {
		list[i] = e
	}
	return list
}

// huhTheme is our theme in huh's words.
func huhTheme(t *Theme) *huh.Theme {
	h := huh.ThemeBase()
	border := lipgloss.Border{Left: t.Marks.Cursor}
	none := lipgloss.Border{Left: " "}
	field := huh.FieldStyles{
		Base:                t.renderer.NewStyle().PaddingLeft(1).BorderStyle(border).BorderLeft(true),
		Title:               t.Strong,
		Description:         t.Dim,
		ErrorIndicator:      t.Warn.SetString(" !"),
		ErrorMessage:        t.Warn,
		SelectSelector:      t.Key.SetString("> "),
		MultiSelectSelector: t.Key.SetString("> "), SelectedPrefix: t.Strong.SetString("[x] "), UnselectedPrefix: t.Text.SetString("[ ] "),
		Option: t.Text, SelectedOption: t.Strong, UnselectedOption: t.Text,
		TextInput: huh.TextInputStyles{Cursor: t.Text, CursorText: t.Text, Placeholder: t.Dim, Prompt: t.Key, Text: t.Text},
	}
	h.Focused = field
	h.Blurred = field
	h.Blurred.Base = t.renderer.NewStyle().PaddingLeft(1).BorderStyle(none).BorderLeft(true)
	h.FieldSeparator = t.renderer.NewStyle().SetString("\n\n")
	h.Form.Base, h.Group.Base, h.Group.Title, h.Group.Description = t.renderer.NewStyle(), t.renderer.NewStyle(), t.Strong, t.Dim
	return h
}
