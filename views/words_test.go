package views

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countersign/core"
)

// constantsOf reads the string constants of one type from core's source, so
// that a new one without words fails here.
func constantsOf(t *testing.T, typeName string) []string {
	t.Helper()
	var values []string
	for _, decl := range coreDecls(t) {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			v := spec.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == typeName && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					s, _ := strconv.Unquote(lit.Value)
					values = append(values, s)
				}
			}
		}
	}
	if len(values) == 0 {
		t.Fatalf("core has no constants of type %s", typeName)
	}
	return values
}

func coreDecls(t *testing.T) []ast.Decl {
	t.Helper()
	files, err := filepath.Glob("../core/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("core's source is not there")
	}
	var decls []ast.Decl
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		decls = append(decls, f.Decls...)
	}
	return decls
}

// Everything that core can say has words of its own, not its raw name.
func TestEverythingHasWords(t *testing.T) {
	for typeName, words := range map[string]func(string) string{
		"FailureClass": func(s string) string { return core.FailureClass(s).Words() },
		"Boundary":     func(s string) string { return boundaryWords(core.Boundary(s)) },
		"Outcome":      func(s string) string { return outcomeWords(core.Outcome(s)) },
		"LoadClaim":    func(s string) string { return loadEventWords(core.LoadClaim(s)) },
		"EventType":    func(s string) string { return eventWords(core.EventType(s)) },
		"State":        func(s string) string { return stateMeaning(core.State(s)) },
	} {
		for _, value := range constantsOf(t, typeName) {
			if value == "" {
				continue
			}
			if got := words(value); got == "" || got == value || got == stateMeaning("") {
				t.Errorf("%s %q has no words: %q", typeName, value, got)
			}
		}
	}
	for _, o := range constantsOf(t, "Outcome") {
		if outcomeMeaning(core.Outcome(o)) == "" {
			t.Errorf("the conclusion %q does not say what it records", o)
		}
	}
	for _, s := range core.Steps() {
		if waiting, running, done := stepPhrases(s, core.Forward); waiting == running || done == running {
			t.Errorf("the step %q has no words of its own", s)
		}
	}
}

// Every state has a mark of one cell, and no two the same, in both forms.
func TestMarksAreDistinct(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		theme := NewTheme(ThemeOptions{Plain: true, ASCII: ascii})
		seen := map[string]core.State{}
		for _, s := range append(core.States(), "quarantined") {
			m := theme.StateMark(s)
			if len([]rune(m)) != 1 || (ascii && m[0] > '~') {
				t.Errorf("the mark %q of %s is not one cell", m, s)
			}
			if other, taken := seen[m]; taken {
				t.Errorf("%s and %s have the same mark %q", s, other, m)
			}
			seen[m] = s
		}
	}
}

// Every class of refusal of core says what is wrong in one line that fits, and
// keeps what the error says behind its class.
func TestEveryRefusalIsExplained(t *testing.T) {
	known := map[string]bool{}
	for _, a := range advices() {
		known[a.class.Error()] = true
		if n := len(a.wrong); n == 0 || n > 78 {
			t.Errorf("%q has %d characters", a.wrong, n)
		}
		if len(a.way) > 78 {
			t.Errorf("%q has %d characters", a.way, len(a.way))
		}
		wrong, _ := Explain(fmt.Errorf("reading: %w: 12 of them", a.class))
		if !strings.HasPrefix(wrong, a.wrong) || !strings.HasSuffix(wrong, ": 12 of them") {
			t.Errorf("%v is explained as %q", a.class, wrong)
		}
	}
	for _, decl := range coreDecls(t) {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			v := spec.(*ast.ValueSpec)
			if !strings.HasPrefix(v.Names[0].Name, "Err") || len(v.Values) != 1 {
				continue
			}
			if text := sentinelText(v.Values[0]); text != "" && !known[text] {
				t.Errorf("core.%s (%q) has no advice", v.Names[0].Name, text)
			}
		}
	}
	own := ownSentence{"the firewall refused the API key (401): check the key"}
	if wrong, way := Explain(fmt.Errorf("%w", own)); wrong != own.text || way != "" {
		t.Errorf("a sentence of its own is explained as %q, %q", wrong, way)
	}
	if wrong, _ := Explain(errors.New("disk full")); wrong != "refused: disk full" {
		t.Errorf("an unknown error is explained as %q", wrong)
	}
}

// sentinelText is the text of an errors.New call.
func sentinelText(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// The words that say nothing, or that frighten, are nowhere.
func TestForbiddenWords(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			for _, word := range []string{"success", "error occurred", "went wrong", "are you sure", "oops", "please"} {
				if strings.Contains(strings.ToLower(lit.Value), word) {
					t.Errorf("%s says %s", name, lit.Value)
				}
			}
			return true
		})
	}
}

// ownSentence is an error of a class whose text does not name the class.
type ownSentence struct{ text string }

func (e ownSentence) Error() string { return e.text }
func (ownSentence) Unwrap() error   { return core.ErrAppliance }

// A request of an attributed contract may have left (decision 13): declining
// it is never called a proof that nothing was sent.
func TestDeclineClaimsNothingForAnAttributedContract(t *testing.T) {
	const proof = "a proven refusal before anything was sent"
	d := testDetail(core.Prepared)
	f := testFrame(ThemeOptions{Plain: true})
	page := func() string {
		decline := NewDecline(f, d)
		decline.SetSize(100, 40)
		return strings.Join(strings.Fields(strings.Join(decline.reviewed(), " ")), " ")
	}
	if !strings.Contains(page(), proof) {
		t.Fatalf("an ordinary contract: %s", page())
	}
	d.Row.Attributed = true
	if got := page(); strings.Contains(got, proof) || !strings.Contains(got, "may have left before") {
		t.Fatalf("an attributed one: %s", got)
	}
}

// A change that is confirmed goes on to be sent, also where the agreement to
// load it could not be recorded; a refusal stays at its question.
func TestConfirmedWithoutLoadingGoesOn(t *testing.T) {
	for err, ready := range map[error]bool{nil: true, fmt.Errorf("%w: full", core.ErrLoadingLeftOut): true, core.ErrWrongPassphrase: false} {
		c := NewConfirm(testFrame(ThemeOptions{Plain: true}), testID)
		intent, _ := c.Update(Confirmed{ID: testID, Err: err})
		if _, goesOn := intent.(OpenExecution); goesOn != ready {
			t.Errorf("%v leads to %T", err, intent)
		}
	}
}
