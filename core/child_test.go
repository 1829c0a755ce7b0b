package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/core"
)

// childVariable makes the test binary another console process over the parts
// that a test names in it.
const childVariable = "COUNTERSIGN_TEST_CHILD"

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(childVariable); ok {
		runChild(text)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childJob is what another process is told.
type childJob struct {
	Dir      string
	Site     site
	Offset   time.Duration // of its clock
	Do       string        // a key of childDeeds
	Contract string
	// DieAt is the point at which the process kills itself; "" is never. A
	// point that comes more than once is named with "#2" at the second time.
	DieAt string
}

func runChild(text string) {
	var job childJob
	t := childTB{}
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	deed, ok := childDeeds[job.Do]
	if !ok {
		t.Fatal("no such deed: ", job.Do)
	}
	r := joinRig(t, job.Dir, job.Site, newMortal(job.DieAt).options())
	r.clock.move(job.Offset)
	deed(r, job.Contract)
	r.close()
}

// childDeeds are what a process does. Most are what a console does for its
// operator.
var childDeeds = map[string]func(r *rig, id string){
	"start":   func(r *rig, _ string) { r.open() },
	"execute": func(r *rig, id string) { r.open(); r.execute(id) },
	"roll back": func(r *rig, id string) {
		r.open()
		r.rollback(id)
	},
	"resume": func(r *rig, id string) {
		r.open()
		seen := r.observe(id)
		r.run(id, func() error {
			return r.engine.Reconcile(context.Background(), id, core.ResumeRollback, seen, rigOperator, pass())
		})
	},
	"conclude": func(r *rig, id string) {
		r.open()
		r.must(r.engine.Reconcile(context.Background(), id, core.ConfirmedApplied, r.observe(id), rigOperator, pass()))
	},
	"confirm": func(r *rig, id string) {
		r.open()
		r.must(r.engine.Confirm(context.Background(), id, rigAlias, rigOperator, pass()))
	},
	"decline": func(r *rig, id string) {
		r.open()
		r.must(r.engine.Decline(context.Background(), id, rigOperator, pass()))
	},
	"authorize": func(r *rig, key string) {
		r.open()
		r.authorizeWithKey(key)
	},
	"load": func(r *rig, id string) {
		r.open()
		r.run(id, func() error { return r.askToLoad(id) })
	},
	"visit": func(r *rig, id string) {
		r.open()
		r.observe(id)
		fmt.Println(r.report.Mode)
	},
	"visit and die": func(r *rig, _ string) { r.open(); killSelf() },
	"verify":        func(r *rig, _ string) { r.verifyStore() },
	"copy":          func(r *rig, _ string) { r.copyStore() },
	"hammer": func(r *rig, id string) {
		r.open()
		fmt.Println(r.report.Mode, r.hammer(id))
	},
	"crash in the send":             crashInTheSend,
	"crash in a reading":            crashInAReading,
	"crash with the engine's error": crashWithTheEnginesError,
	"crash while sending":           crashWhileSending,
	"crash with a value":            crashWithAValue,
	"hammer below the lock": func(r *rig, id string) {
		r.open()
		fmt.Println(r.report.Mode, r.hammerBelowTheLock(id))
	},
}

// childTB stands for the test in another process: what would fail the test
// ends the process.
type childTB struct{ testing.TB }

func (childTB) Helper() {}
func (childTB) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(2)
}
func (t childTB) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }

// child is another process at work.
type child struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, bad bytes.Buffer
	done     chan struct{}
}

// start starts another process over this rig's parts. It is dead when the
// test ends.
func (r *rig) start(job childJob) *child {
	r.t.Helper()
	job.Dir, job.Site, job.Offset = r.dir, r.site, time.Duration(r.clock.offset.Load())
	text, err := json.Marshal(job)
	r.must(err)
	binary, err := os.Executable()
	r.must(err)
	c := &child{t: r.t, cmd: exec.Command(binary), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.bad
	r.must(c.cmd.Start())
	go func() { defer close(c.done); _ = c.cmd.Wait() }()
	r.t.Cleanup(c.kill)
	return c
}

// kill ends the process as kill -9 does.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// wait waits for the end of the process and reports whether it was killed.
func (c *child) wait() (killed bool) {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.kill()
		c.t.Fatal("the other process does not end")
	}
	code := c.cmd.ProcessState.ExitCode()
	if code > 0 {
		c.t.Fatalf("the other process failed: %s", c.bad.String())
	}
	return code < 0
}

// says waits for the end of the process and returns what it said.
func (c *child) says() string {
	c.t.Helper()
	if c.wait() {
		c.t.Fatal("the other process was killed")
	}
	return strings.TrimSpace(c.out.String())
}

// mortal kills its own process at a named point: around every commit of the
// store, every step of the anchor, every reading after an acquisition and
// every send.
type mortal struct {
	dieAt string

	mu    sync.Mutex
	seen  map[string]int
	phase string // what the next reading is; "" before the acquisition
}

func newMortal(dieAt string) *mortal { return &mortal{dieAt: dieAt, seen: map[string]int{}} }

func (m *mortal) options() rigOptions {
	return rigOptions{
		faultPoint: m.commit,
		wrapReader: func(p core.Reader) core.Reader { return mortalReader{p, m} },
		wrapSender: func(p core.Sender) core.Sender { return mortalSender{p, m} },
		wrapLoader: func(p core.Loader) core.Loader { return mortalLoader{p, m} },
		anchor:     func(p core.Anchor) core.Anchor { return mortalAnchor{p, m} },
	}
}

func (m *mortal) at(point string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[point]++; m.seen[point] > 1 {
		point = fmt.Sprintf("%s#%d", point, m.seen[point])
	}
	if point == m.dieAt {
		killSelf()
	}
}

// killSelf ends this process as kill -9 does.
func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	childTB{}.Fatal("still alive: ", err)
}

func (m *mortal) enter(phase string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = phase
}

// commit is the store's fault point.
func (m *mortal) commit(name string) {
	m.at(name)
	switch name {
	case "acquire/after commit", "acquire rollback/after commit", "resume rollback/after commit":
		m.enter("re-read")
	}
}

type mortalReader struct {
	core.Reader
	m *mortal
}

func (r mortalReader) Read(ctx context.Context, path string) (any, error) {
	r.m.mu.Lock()
	phase := r.m.phase
	r.m.mu.Unlock()
	if phase == "" {
		return r.Reader.Read(ctx, path)
	}
	r.m.at(phase + "/before")
	data, err := r.Reader.Read(ctx, path)
	r.m.at(phase + "/after")
	return data, err
}

type mortalSender struct {
	core.Sender
	m *mortal
}

func (s mortalSender) Send(ctx context.Context, m core.Mutation) core.Exchange {
	s.m.at("send/before")
	x := s.Sender.Send(ctx, m)
	s.m.at("send/after")
	s.m.enter("read-back")
	return x
}

type mortalLoader struct {
	core.Loader
	m *mortal
}

func (l mortalLoader) Load(ctx context.Context, s core.Subsystem) (core.LoadClaim, core.Exchange) {
	l.m.at("load request/before")
	claim, x := l.Loader.Load(ctx, s)
	l.m.at("load request/after")
	return claim, x
}

type mortalAnchor struct {
	core.Anchor
	m *mortal
}

func (a mortalAnchor) Advance(ctx context.Context, expected uint64) (uint64, error) {
	a.m.at("advance/before")
	next, err := a.Anchor.Advance(ctx, expected)
	a.m.at("advance/after")
	return next, err
}
