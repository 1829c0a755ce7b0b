package views

import (
	"reflect"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// drive runs a form's own commands until there are none, as a program does.
func drive(f *form, msg tea.Msg) (done bool) {
	queue := []tea.Msg{msg}
	for n := 0; len(queue) > 0 && n < 200; n++ {
		next := queue[0]
		queue = queue[1:]
		completed, cmd := f.update(next)
		done = done || completed
		queue = append(queue, results(cmd)...)
	}
	return done
}

// results runs commands that answer at once; a blinking cursor's do not, and
// are left out.
func results(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	switch batch := msg.(type) {
	case nil:
		return nil
	case tea.BatchMsg:
		var out []tea.Msg
		for _, c := range batch {
			out = append(out, results(c)...)
		}
		return out
	}
	if name := reflect.TypeOf(msg).String(); strings.Contains(strings.ToLower(name), "blink") || strings.Contains(name, "sequence") {
		return nil
	}
	return []tea.Msg{msg}
}

func startForm(fields ...core.Field) *form {
	f := newForm(NewTheme(ThemeOptions{Plain: true}), fields, nil)
	f.resize(80, 17)
	f.init()
	f.form.GetFocusedField().Focus()
	return f
}

// Each kind of field gives the canonical type its capability expects.
func TestFormValues(t *testing.T) {
	f := startForm(
		core.Field{Name: "text", Kind: core.TextField, Current: "old text"},
		core.Field{Name: "flag", Kind: core.BoolField, Current: true},
		core.Field{Name: "number", Kind: core.NumberField, Current: int64(500)},
		core.Field{Name: "choice", Kind: core.ChoiceField, Choices: []string{"UTC", "Europe/Berlin"}, Current: "Europe/Berlin"},
		core.Field{Name: "list", Kind: core.ListField, Current: []any{"192.0.2.1", "192.0.2.2"}},
		core.Field{Name: "pick", Kind: core.ListField, Choices: []string{"192.0.2.1", "192.0.2.2"}, Current: []any{"192.0.2.2"}},
		core.Field{Name: "none", Kind: core.ListField, Current: nil},
	)
	want := core.Object{"text": "old text", "flag": true, "number": int64(500), "choice": "Europe/Berlin",
		"list": []any{"192.0.2.1", "192.0.2.2"}, "pick": []any{"192.0.2.2"}, "none": []any{}}
	if got := f.values(); !reflect.DeepEqual(got, want) {
		t.Errorf("untouched, the form gives\n%#v, want\n%#v", got, want)
	}
	again := newForm(f.theme, f.fields, f.typed())
	if got := again.values(); !reflect.DeepEqual(got, want) {
		t.Errorf("a form built from what was typed gives\n%#v, want\n%#v", got, want)
	}
}

func TestFormIsTypedAndCompleted(t *testing.T) {
	f := startForm(core.Field{Name: "text", Label: "Description", Kind: core.TextField, Current: "old"},
		core.Field{Name: "number", Label: "Entries", Kind: core.NumberField, Current: int64(5)})
	drive(f, tea.KeyMsg{Type: tea.KeyCtrlU})
	drive(f, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("new text"), Paste: true})
	if drive(f, enter) {
		t.Fatal("the form ended with a field to go")
	}
	drive(f, letter('x'))
	if drive(f, enter) {
		t.Fatal("a number of letters was accepted")
	}
	if !strings.Contains(f.view(), "whole number") {
		t.Errorf("the refusal is not shown:\n%s", f.view())
	}
	drive(f, tea.KeyMsg{Type: tea.KeyBackspace})
	if !drive(f, enter) {
		t.Fatal("the form did not end")
	}
	if got, want := f.values(), (core.Object{"text": "new text", "number": int64(5)}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Pasted text arrives once; the key that makes huh paste twice is refused.
func TestFormPaste(t *testing.T) {
	f := startForm(core.Field{Name: "text", Kind: core.TextField})
	drive(f, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("pasted"), Paste: true})
	if got := f.values()["text"]; got != "pasted" {
		t.Errorf("pasted text became %q", got)
	}
	s := preparing(testFrame(ThemeOptions{Plain: true}), enter, TargetsRead{Endpoint: testDraft().Spec.EndpointSymbol, Targets: testTargets()},
		enter, FormRead{Endpoint: testDraft().Spec.EndpointSymbol, Fields: []core.Field{{Name: "text", Kind: core.TextField}}})
	intent, cmd := s.Update(tea.KeyMsg{Type: tea.KeyCtrlV})
	if say, ok := intent.(Say); !ok || cmd != nil || say.Notice.Text != sayNoClipboard {
		t.Errorf("ctrl+v gave %v and a command", intent)
	}
}

// On the last letter textinput panics at the keys that delete a word ahead.
func TestFormSurvivesDeletingAhead(t *testing.T) {
	for _, deleting := range []tea.KeyMsg{{Type: tea.KeyRunes, Runes: []rune{'d'}, Alt: true}, {Type: tea.KeyDelete, Alt: true}} {
		f := startForm(core.Field{Name: "text", Kind: core.TextField, Current: "old"})
		drive(f, tea.KeyMsg{Type: tea.KeyLeft})
		drive(f, deleting)
		if got := f.values()["text"]; got != "old" {
			t.Errorf("%s gives %q", deleting, got)
		}
	}
}

// No stray key agrees to anything: a yes or no is a selection, and y is not
// one of its keys.
func TestFormHasNoConfirm(t *testing.T) {
	f := startForm(core.Field{Name: "flag", Label: "Enabled", Kind: core.BoolField, Current: false})
	if drive(f, letter('y')) || f.values()["flag"] != false {
		t.Error("a stray y changed the answer or ended the form")
	}
}
