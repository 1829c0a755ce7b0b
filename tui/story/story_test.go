package story

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// idle is a bench that nothing is done with.
type idle struct{ Bench }

func (idle) Sends() int   { return 3 }
func (idle) Close() error { return nil }

// A scene that does not end as it must, or cannot begin, says so in a line of
// its own, in both ways of telling.
func TestFailedSceneIsTold(t *testing.T) {
	wrong := errors.New("the value on the appliance is another one")
	scene := Scene{Name: "verified", Ends: "VERIFIED after one send", play: func(*told) error { return wrong }}
	for name, make := range map[string]func(context.Context) (Bench, error){
		"another one": func(context.Context) (Bench, error) { return idle{}, nil },
		"could not begin: no room": func(context.Context) (Bench, error) {
			return nil, errors.New("no room")
		},
	} {
		var lines, text bytes.Buffer
		for _, tell := range []Teller{JSONTeller{&lines}, &TextTeller{W: &text}} {
			if err := play(context.Background(), scene, make, tell); err == nil {
				t.Fatalf("%s: the scene passed", name)
			}
			if err := tell.End(false, 1); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{`"scene":"verified","step":"failed"`, name, `{"ok":false,"scenes":1}`} {
			if !strings.Contains(lines.String(), want) {
				t.Errorf("%q is not in %s", want, lines.String())
			}
		}
		if told := text.String(); !strings.Contains(told, "failed") || !strings.Contains(told, name) || strings.Contains(told, "every scene ended as it must") == !strings.Contains(told, "not every") {
			t.Errorf("told as %s", told)
		}
	}
}
