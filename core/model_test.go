package core_test

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/core"
	"countersign/pfsense"
	"countersign/pfsense/sim"
)

// modelChecksEnv raises the number of sequences and draws new ones each time.
const modelChecksEnv = "COUNTERSIGN_MODEL_CHECKS"

// A plain run makes the same few sequences every time, so that it is quick
// and never fails for somebody else's change; the environment variable
// explores. Failing sequences are kept under testdata/rapid and run first.
const (
	modelChecks = 20
	modelSteps  = 25
	modelSeed   = 1042
)

// TestModel drives random sequences of operations, faults, other people's
// edits, crashes, restarts and clock jumps against the real store, keyring,
// engine and simulator, and against the model in model_world_test.go. After
// each step every invariant of the seeds must hold, and every refusal must be
// of the class that the model predicts.
//
// A crash here is a run that is abandoned at a commit or at the send
// (runtime.Goexit at a fault point: deferred rollbacks run, nothing after
// does), and a console that starts again. Real kills are in the crash matrix.
func TestModel(t *testing.T) {
	setRapid(t)
	seen := tally{}
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t, rt, seen)
		rt.Repeat(m.actions())
		m.finish(rt)
		seen.add("sequences")
	})
	t.Logf("%d sequences, %d steps%s", seen["sequences"], seen["steps"], seen.lines())
	for _, s := range []core.State{core.Verified, core.Failed, core.Reconciliation, core.RolledBack, core.RollbackFailed} {
		if seen["became "+string(s)] == 0 {
			t.Errorf("no contract ever became %s: the sequences show less than they claim", s)
		}
	}
}

// setRapid chooses how much is drawn, unless the command line did.
func setRapid(t *testing.T) {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	set := func(name, value string) {
		f := flag.Lookup(name)
		if given[name] || f == nil {
			return
		}
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(before) })
	}
	set("rapid.steps", strconv.Itoa(modelSteps))
	if n := os.Getenv(modelChecksEnv); n != "" {
		set("rapid.checks", n)
		return
	}
	set("rapid.checks", strconv.Itoa(modelChecks))
	set("rapid.seed", strconv.Itoa(modelSeed))
}

// tally counts what happened, for the output.
type tally map[string]int

func (c tally) add(what string) { c[what]++ }

func (c tally) lines() string {
	var names []string
	for name := range c {
		names = append(names, name)
	}
	sort.Strings(names)
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "\n    %6d  %s", c[name], name)
	}
	return out.String()
}

// machine is the real parts beside the model.
type machine struct {
	r       *rig
	w       *world
	seen    tally
	entries map[string][]string // entries that another admin may give a target
	gate    *sim.Gate           // of the late write that is still to come
	drafts  []drafted
	crash   crashPoint
	bodies  int // mutations whose body was compared
}

// drafted is a draft that was authorized, for a retry of the same request.
type drafted struct {
	draft core.Draft
	id    string
}

// checkTB lets a rig report to the check that uses it.
type checkTB struct {
	testing.TB
	rt *rapid.T
}

func (t checkTB) Helper()                   {}
func (t checkTB) Cleanup(f func())          { t.rt.Cleanup(f) }
func (t checkTB) Error(args ...any)         { t.rt.Error(args...) }
func (t checkTB) Errorf(f string, a ...any) { t.rt.Errorf(f, a...) }
func (t checkTB) Fatal(args ...any)         { t.rt.Fatal(args...) }
func (t checkTB) Fatalf(f string, a ...any) { t.rt.Fatalf(f, a...) }
func (t checkTB) FailNow()                  { t.rt.FailNow() }
func (t checkTB) Log(args ...any)           { t.rt.Log(args...) }
func (t checkTB) Logf(f string, a ...any)   { t.rt.Logf(f, a...) }
func (t checkTB) TempDir() string {
	dir, err := os.MkdirTemp("", "countersign-model-*")
	if err != nil {
		t.rt.Fatal(err)
	}
	t.rt.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newMachine(t *testing.T, rt *rapid.T, seen tally) *machine {
	start := time.Date(2026, 9, 5, 12, 0, 0, 0, time.UTC)
	m := &machine{seen: seen, w: &world{now: start, cooling: map[string]time.Time{}}}
	limits := core.Limits{MaxInFlight: 1, MaxPreparedPerTarget: 1, TargetCooldown: modelCooldown, ReconciliationThreshold: modelThreshold}
	long := 30 * time.Second // nothing here waits for a deadline
	m.r = newRig(checkTB{t, rt}, rigOptions{frozen: start, limits: &limits, settle: modelSettle,
		deadlines:  pfsense.Deadlines{Connect: long, TLS: long, Header: long, Whole: long, Read: long},
		faultPoint: m.crash.reach,
		wrapSender: func(s core.Sender) core.Sender { return crashingSender{s, &m.crash} }})
	m.w.live.objects = m.stored()
	m.entries = map[string][]string{"trusted_hosts": {"192.0.2.40", "192.0.2.41"}, "web_ports": {"443", "8443"},
		"blocked_nets": {"198.51.100.0/24", "192.0.2.0/28"}}
	return m
}

func (m *machine) drawTarget(t *rapid.T) string {
	return rapid.SampledFrom([]string{"trusted_hosts", "web_ports", "blocked_nets"}).Draw(t, "target")
}

func (m *machine) drawText(t *rapid.T, target string) string {
	return target + rapid.SampledFrom([]string{" one", " two: \"<&> café\""}).Draw(t, "text")
}

// actions are what may happen next. Names that differ only in their number
// do the same, and so are drawn more often.
func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"":          m.check,
		"draft 1":   m.draft,
		"draft 2":   m.draft,
		"stale":     m.staleDraft,
		"retry":     m.retry,
		"confirm":   m.confirmAny,
		"decline":   m.declineAny,
		"execute":   m.executeAny,
		"rollback":  m.rollbackAny,
		"reconcile": m.reconcileAny,
		"crash 1":   m.crashAny,
		"crash 2":   m.crashDecision,
		"restart":   func(*rapid.T) { m.seen.add("restart"); m.restart() },
		"observer":  m.observer,
		"export":    m.export,
		"edit":      func(t *rapid.T) { m.edit(m.drawEdit(t)) },
		"tidy":      func(*rapid.T) { m.edit(m.tidy()) },
		"clock":     m.clock,
	}
	for i := range 8 {
		actions[fmt.Sprint("advance ", i)] = m.advance
		actions[fmt.Sprint("life ", i)] = m.life
	}
	return actions
}
