package views

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"countersign/core"
)

// hostile is in every text that the screens are given in the test below: it
// tries to clear the screen, set the clipboard, forge a line, hide itself and
// turn the text around.
const hostile = "h\x1b[2J\x1b]52;c;eA==\a\r\nforged\u202e\u200b\u009b1mX\x7f\xff"

// poison puts the hostile text into every string inside a value.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Kind() == reflect.Pointer {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.String:
		v.SetString(v.String() + hostile)
	}
}

func poisoned[T any](v T) T {
	poison(reflect.ValueOf(&v).Elem())
	return v
}

// unpoisoned keeps what a screen needs in order to recognise a message.
func hostileScreens(f *Frame) map[string]Screen {
	f.Armed = []string{hostile}
	f.Header, f.Banner, f.Operator = poisoned(f.Header), hostile, "jo"+hostile
	f.Header.Mode = core.ModeObserver
	detail := poisoned(testDetail(core.Reconciliation))
	prepared := poisoned(testDetail(core.Prepared))
	prepared.Row.State, prepared.Row.Loads = core.Prepared, core.Firewall
	review := poisoned(testReview())
	review.Related, review.Waiting.Names = []core.Change{{Field: hostile, Before: hostile, After: "b"}}, []string{hostile}
	draft := poisoned(testDraft())
	comparison := poisoned(testComparison(core.Executing))
	comparison.Changed = []string{hostile}
	progress := testProgress(core.StepSend, core.Forward)
	progress.Target, progress.Sentence, progress.Warning = hostile, hostile, hostile
	ended := progress
	ended.Done, ended.Err = true, fmt.Errorf("%w: %s", core.ErrDrift, hostile)
	rows := poisoned(testRows())
	target := core.Target{Label: hostile, Summary: hostile, Fields: core.Object{}}
	refused := core.Target{Label: hostile, Refused: hostile}
	spec := testDraft().Spec
	evil := spec
	evil.Title, evil.Noun = hostile, hostile
	fields := []core.Field{{Name: "a", Label: hostile, Help: hostile, Kind: core.TextField, Current: hostile},
		{Name: "b", Label: hostile, Kind: core.ChoiceField, Choices: []string{hostile, "x"}, Current: hostile},
		{Name: "c", Label: hostile, Kind: core.ListField, Current: []any{hostile}}}
	asTargets := TargetsRead{Endpoint: spec.EndpointSymbol, Targets: []core.Target{target, refused}}
	prepare := func(more ...tea.Msg) Screen {
		return told(NewPrepare(f, []core.Spec{evil, evil}, "key"), append([]tea.Msg{enter, asTargets}, more...)...)
	}
	file := poisoned(core.InboxFile{Name: "x"})
	file.Authorization.AuthorityID = hostile
	list := NewList(f)
	_, _ = list.Init()
	d := told(NewDetail(f, testID), DetailRead{ID: testID, Detail: detail})
	return map[string]Screen{
		"list":       told(list, PageRead{List: list.list, Page: core.Page{Rows: rows}}),
		"detail":     d,
		"detail_all": told(NewDetail(f, testID), DetailRead{ID: testID, Detail: detail}, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'a'}}),
		"refused":    told(NewDetail(f, testID), DetailRead{ID: testID, Err: fmt.Errorf("%w: %s", core.ErrAppliance, hostile)}),
		"kinds":      told(NewPrepare(f, []core.Spec{evil, evil}, "key")),
		"targets":    prepare(),
		"form":       prepare(enter, FormRead{Endpoint: spec.EndpointSymbol, Fields: fields}),
		"authorize":  told(NewAuthorize(f, draft), InboxRead{Files: []core.InboxFile{file}}),
		"confirm":    told(NewConfirm(f, testID), ReviewRead{ID: testID, Review: review}),
		"ready":      told(NewExecution(f, testID, true), DetailRead{ID: testID, Detail: prepared}),
		"sending":    told(NewExecution(f, testID, false), Progressed{progressFor(progress)}),
		"ended":      told(NewExecution(f, testID, false), Progressed{progressFor(ended)}),
		"rollback":   told(NewRollback(f, testID), ComparisonRead{ID: testID, Comparison: comparison}),
		"reconcile":  told(NewReconcile(f, testID), ComparisonRead{ID: testID, Comparison: comparison}),
		"decline":    told(NewDecline(f, prepared)),
		"load":       told(NewLoad(f, prepared), ReviewRead{ID: prepared.Row.ContractID, Review: review}),
		"inbox":      told(NewInbox(f), InboxRead{Files: []core.InboxFile{file, {Name: hostile, Problem: hostile}}}),
		"health":     told(NewHealth(f), HealthRead{Store: poisoned(core.StoreHealth{Path: "p", StoreID: "s"}), Status: core.ApplianceStatus{Warnings: []string{hostile}}}),
		"help":       told(NewHelp(f, d.Keys(), d.Situation())),
		"palette":    told(NewPalette(f, d.Keys(), d.Situation())),
		"leaving":    told(NewLeaving(f, 1)),
		"practice":   told(NewPractice(f), FaultsRead{Faults: []PracticeFault{{Name: hostile, Explain: hostile, Armed: true}, {Name: hostile, Explain: hostile}}}),
		"opening":    told(NewOpening(f), Scanned{1, 2}),
		"not_opened": told(NewOpening(f), OpenFailed{advisedError{hostile}}),
	}
}

func progressFor(p core.Progress) core.Progress { p.ContractID = testID; return p }

// TestHostileText gives every screen texts from the network and the store that
// try to take the terminal over. Nothing but the console's own lines and
// colours may come out, whatever is scrolled to.
func TestHostileText(t *testing.T) {
	for _, o := range []ThemeOptions{{Plain: true}, {Plain: true, ASCII: true}} {
		f := testFrame(o)
		for name, s := range hostileScreens(f) {
			for _, height := range []int{24, 200} {
				s.SetSize(100, BodyHeight(f, s, Notice{}, 100, height))
				view := Compose(f, s, Notice{Text: hostile, Way: hostile}, 100, height)
				for _, r := range view {
					if r != '\n' && !harmless(r) {
						t.Errorf("%s lets %U through", name, r)
						break
					}
				}
				if strings.Contains(view, "\nforged") {
					t.Errorf("%s lets a line be forged", name)
				}
			}
		}
	}
}

// TestSizes draws every screen at many sizes: the view has exactly the
// terminal's lines, none is wider, and nothing panics.
func TestSizes(t *testing.T) {
	for _, s := range scenes() {
		for _, size := range [][2]int{{1, 1}, {10, 5}, {39, 11}, {40, 12}, {64, 20}, {79, 23}, {80, 24}, {100, 24}, {133, 51}, {300, 100}} {
			view := s.at(ThemeOptions{Plain: true}, size[0], size[1])
			lines := splitLines(view)
			if small := TooSmall(size[0], size[1], false); !small && len(lines) != size[1] {
				t.Errorf("%s at %dx%d has %d lines", s.name, size[0], size[1], len(lines))
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > size[0] && size[0] >= leastWidth {
					t.Errorf("%s at %dx%d is %d wide: %q", s.name, size[0], size[1], w, line)
					break
				}
			}
		}
	}
}

// TestSizesColoured: colours and attributes change no line's width.
func TestSizesColoured(t *testing.T) {
	for _, s := range scenes() {
		plain := splitLines(s.at(ThemeOptions{Plain: true}, 100, 30))
		styled := splitLines(ansi.Strip(s.at(ThemeOptions{NoColor: true}, 100, 30)))
		for i := range plain {
			if strings.TrimRight(plain[i], " ") != strings.TrimRight(styled[i], " ") {
				t.Errorf("%s differs without attributes:\n%q\n%q", s.name, plain[i], styled[i])
				break
			}
		}
	}
}

// TestNoColor: without colour, no sequence sets one.
func TestNoColor(t *testing.T) {
	for _, s := range scenes() {
		for _, part := range strings.Split(s.at(ThemeOptions{NoColor: true}, 100, 30), "\x1b[")[1:] {
			codes, _, _ := strings.Cut(part, "m")
			for _, code := range strings.Split(codes, ";") {
				switch code {
				case "", "0", "1", "2", "7":
				default:
					t.Fatalf("%s sets %q without colour", s.name, codes)
				}
			}
		}
	}
}
