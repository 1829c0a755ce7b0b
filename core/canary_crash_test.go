package core_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/core"
)

// TestCrashOutput crashes real processes in the middle of a run, with every
// canary in their memory, and searches what Go prints: the reason, and all
// stacks with their arguments.
func TestCrashOutput(t *testing.T) {
	for _, c := range []struct {
		deed string
		exit string // what the output must have, so that there was a crash
		stop bool   // ask for the stacks, as ctrl-\ does
		find bool   // the positive control: this one prints a canary
	}{
		{deed: "crash in the send", exit: "assignment to entry in nil map"},
		{deed: "crash in a reading", exit: "invalid memory address"},
		{deed: "crash with the engine's error", exit: "panic: "},
		{deed: "crash while sending", exit: "SIGQUIT: quit", stop: true},
		{deed: "crash with a value", exit: "panic: ", find: true},
	} {
		t.Run(c.deed, func(t *testing.T) {
			t.Setenv("GOTRACEBACK", "all")
			l := newLeakTest(t)
			id := l.ready(planted(newCanary))
			l.close()
			arrived := make(chan struct{})
			if c.stop {
				l.relay.instead(http.MethodPatch, "/firewall/alias", func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client go
					close(arrived)
					<-r.Context().Done()
				})
			}
			child := l.start(childJob{Do: c.deed, Contract: id})
			if c.stop {
				<-arrived
				l.must(child.cmd.Process.Signal(syscall.SIGQUIT))
			}
			select {
			case <-child.done:
			case <-time.After(time.Minute):
				t.Fatal("the process does not end")
			}
			said := append(child.out.Bytes(), child.bad.Bytes()...)
			if !strings.Contains(string(said), c.exit) || !strings.Contains(string(said), "goroutine ") {
				t.Fatalf("this is no crash: %.300s", said)
			}
			hits := l.all.Find(said)
			if c.find != (len(hits) > 0) {
				t.Errorf("the output of the crash holds %v", hits)
			}
			l.searchFolder(filepath.Join(l.dir, "store"), l.all)
			l.open()
			t.Logf("%d bytes and %d stacks searched", len(said), strings.Count(string(said), "goroutine "))
		})
	}
}

// remember brings every value of a contract into the process's memory.
func remember(r *rig, id string) {
	ctx := context.Background()
	_, err := r.engine.Review(ctx, id)
	r.must(err)
	if err := r.engine.Confirm(ctx, id, targetCanary, canaryOperator, wrongCanaryPass()); !errors.Is(err, core.ErrWrongPassphrase) {
		r.t.Fatal("a wrong passphrase: ", err)
	}
	authority, err := r.operators(r.store).Unlock(ctx, canaryOperator, canaryPass())
	r.must(err)
	authority.Close()
}

// executeInto runs an execution that must not end.
func executeInto(r *rig, id string) {
	remember(r, id)
	r.must(r.engine.Execute(context.Background(), id))
	time.Sleep(time.Minute)
	r.t.Fatal("the run did not crash")
}

type senderThatCrashes struct{ core.Sender }

func (s senderThatCrashes) Send(_ context.Context, m core.Mutation) core.Exchange {
	return crashInto(nil, m)
}

func crashInto(none map[string][]byte, m core.Mutation) core.Exchange {
	none[string(m.Body)] = m.Body
	return core.Exchange{}
}

func crashInTheSend(r *rig, id string) {
	r.opts.wrapSender = func(s core.Sender) core.Sender { return senderThatCrashes{s} }
	r.open()
	executeInto(r, id)
}

// readerThatCrashes crashes once the list has been read in a run.
type readerThatCrashes struct {
	core.Reader
	armed *bool
}

func (s readerThatCrashes) Read(ctx context.Context, path string) (any, error) {
	data, err := s.Reader.Read(ctx, path)
	if *s.armed && strings.HasSuffix(path, "/aliases") {
		var contract *core.Contract
		return crashOn(contract, data), err
	}
	return data, err
}

func crashOn(c *core.Contract, data any) any { return fmt.Sprint(c.ID, data) }

func crashInAReading(r *rig, id string) {
	armed := false
	r.opts.wrapReader = func(p core.Reader) core.Reader { return readerThatCrashes{p, &armed} }
	r.open()
	remember(r, id)
	armed = true
	r.must(r.engine.Execute(context.Background(), id))
	time.Sleep(time.Minute)
}

// crashWithTheEnginesError is what a careless caller would do with refusals.
func crashWithTheEnginesError(r *rig, id string) {
	r.open()
	remember(r, id)
	ctx := context.Background()
	_, bad := r.engine.Prepare(ctx, "FIREWALL_ALIAS_DESCRIPTION", core.Object{"alias_name": targetCanary,
		"description": "\x01" + requestCanary}, "")
	panic(errors.Join(bad, r.engine.Confirm(ctx, id, typedCanary, canaryOperator, canaryPass()),
		r.engine.Confirm(ctx, id, targetCanary, canaryOperator, wrongCanaryPass()),
		r.engine.Rollback(ctx, id, canaryOperator, canaryPass())))
}

func crashWhileSending(r *rig, id string) {
	r.open()
	executeInto(r, id)
}

func crashWithAValue(r *rig, id string) {
	r.open()
	remember(r, id)
	panic(planted(newCanary))
}

// TestNothingPanicsOrLogs reads the source: what ships panics nowhere and has
// no log. The simulator may abort a request, which net/http knows how to do.
// A log that is added one day has to be value-free, and this test says so.
func TestNothingPanicsOrLogs(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name == "testdata" || name == ".git" || strings.HasSuffix(name, "test") {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		inSimulator := strings.Contains(filepath.ToSlash(path), "pfsense/sim/")
		for _, f := range loud(file, inSimulator) {
			t.Errorf("%s: %s", set.Position(f.at), f.what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d files were read", files)
	}
	t.Logf("%d files that ship were read", files)

	control := "package x\nimport \"log/slog\"\nfunc f(v string) { panic(v); println(v); defer func() { panic(1) }() }"
	file, err := parser.ParseFile(token.NewFileSet(), "control.go", control, 0)
	if err != nil || len(loud(file, false)) != 4 {
		t.Errorf("the control is not found: %v", err)
	}
}

type finding struct {
	at   token.Pos
	what string
}

// loud finds panics, prints to standard error, and imports of a log.
func loud(file *ast.File, inSimulator bool) []finding {
	var found []finding
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if (path == "log" || path == "log/slog") && !inSimulator || path == "log/syslog" || path == "runtime/debug" {
			found = append(found, finding{i.Pos(), "imports " + path})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := call.Fun.(*ast.Ident)
		switch {
		case !ok || name.Name != "panic" && name.Name != "print" && name.Name != "println":
		case inSimulator && len(call.Args) == 1 && isAbort(call.Args[0]):
		default:
			found = append(found, finding{call.Pos(), name.Name + " prints what it is given"})
		}
		return true
	})
	return found
}

// isAbort: http.ErrAbortHandler, which the web server catches and does not print.
func isAbort(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "ErrAbortHandler"
}
