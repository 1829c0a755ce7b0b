package views

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"countersign/core"
)

// normalWait is how long an answer may take on a sound firewall: the lock
// and the web server's own limit.
const normalWait = 200 * time.Second

// stepWidth is the column of a step's time; a longer step pushes it on.
const stepWidth = 47

// Execution shows a run: first, where it was confirmed just now, that nothing
// has been sent; then every step; then how it ended and what to do. It only
// observes: the run belongs to the engine.
type Execution struct {
	base
	id       string
	ready    bool // waits for the key that sends
	detail   core.Detail
	read     bool
	progress core.Progress
	started  bool
	failure  error // the run was not started
	scroll   scroll
}

// NewExecution watches a contract's run, or offers to start it.
func NewExecution(f *Frame, id string, ready bool) *Execution {
	return &Execution{base: base{Frame: f}, id: id, ready: ready}
}

// Init reads what is about to be sent.
func (e *Execution) Init() (Intent, tea.Cmd) { return NeedDetail{e.id}, nil }

// SetSize keeps the page in bounds.
func (e *Execution) SetSize(width, height int) {
	e.base.SetSize(width, height)
	e.scroll.measure(len(e.lines()), height)
}

// Gate is true while the next key sends.
func (e *Execution) Gate() bool { return e.ready }

// Title says what runs, and for how long.
func (e *Execution) Title() (string, string) {
	t := e.Theme
	verb := "Sending"
	switch {
	case e.failure != nil:
		verb = "Not sent"
	case e.ready:
		verb = "Ready to send"
	case e.progress.Done && e.progress.Final == core.Reconciliation:
		verb = "Not proven"
	case e.progress.Done:
		verb = "Done"
	case e.progress.Direction == core.Backward:
		verb = "Rolling back"
	case e.loading():
		verb = "Loading"
	}
	left := verb + " " + t.Marks.Dot + " " + t.shortID(e.id)
	if name := e.target(); name != "" {
		left += "  " + name
	}
	return left, e.clockFace()
}

func (e *Execution) target() string {
	if e.read {
		return e.detail.Row.Noun + " " + e.detail.Row.Target
	}
	return e.progress.Target
}

func (e *Execution) clockFace() string {
	switch {
	case e.ready && e.read:
		return "window closes in " + countdown(e.detail.Row.ExpiresAt.Sub(e.Now))
	case !e.started || e.progress.StartedAt.IsZero():
		return ""
	case e.progress.Done:
		return stopwatch(runTook(e.progress))
	}
	return stopwatch(e.Now.Sub(e.progress.StartedAt))
}

// runTook adds up the steps, since a finished run has no end time of its own.
func runTook(p core.Progress) time.Duration {
	var sum time.Duration
	for _, s := range p.Steps {
		sum += s.Took
	}
	return sum
}

// Watches reports whether the screen shows this contract's run.
func (e *Execution) Watches(id string) bool { return e.id == id }

// Running reports whether the run is being watched, so that tenths are drawn.
func (e *Execution) Running() bool { return e.started && !e.progress.Done }

// Keys depend on how far the run is.
func (e *Execution) Keys() []Binding {
	k := e.KeyMap
	moving := []Binding{k.Up, k.Down, k.PageUp, k.PageDown}
	switch {
	case e.failure != nil:
		return append([]Binding{k.Background, k.Quit, k.Help}, moving...)
	case e.ready:
		return append([]Binding{k.Send, k.Back.as("leave (nothing is sent)"), k.Help}, moving...)
	case e.progress.Done:
		return append([]Binding{k.Open.as("see the contract"), k.Reconcile, k.Rollback, k.Load, k.Background, k.Quit, k.Help}, moving...)
	}
	return append([]Binding{k.Background.as("back (keeps running)"), k.Quit, k.Help}, moving...)
}

// Situation carries the engine's reasons.
func (e *Execution) Situation() Situation {
	s := Situation{Header: e.Header, Actions: e.detail.Actions}
	if e.ready {
		s.Own = map[string]string{"send now": e.closed()}
	}
	return s
}

func (e *Execution) closed() string {
	if !e.read {
		return reasonUnread
	}
	return action(core.ActExecute)(Situation{Actions: e.detail.Actions})
}

// Update follows the run.
func (e *Execution) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return e.key(msg), nil
	case DetailRead:
		if msg.ID == e.id && msg.Err == nil {
			e.detail, e.read = msg.Detail, true
		}
	case RunStarted:
		if msg.ID == e.id {
			return e.begun(msg.Err), nil
		}
	case Progressed:
		if msg.Progress.ContractID == e.id {
			return e.follow(msg.Progress), nil
		}
	}
	return nil, nil
}

func (e *Execution) begun(err error) Intent {
	e.started, e.failure = err == nil, err
	if err != nil {
		return Say{Refused(err)}
	}
	return nil
}

func (e *Execution) follow(p core.Progress) Intent {
	ended := p.Done && !e.progress.Done
	e.ready, e.started, e.progress = false, true, p
	e.scroll.measure(len(e.lines()), e.height)
	if ended {
		return NeedDetail{e.id}
	}
	return nil
}

func (e *Execution) key(msg tea.KeyMsg) Intent {
	k := e.KeyMap
	switch {
	case k.Background.Is(msg):
		return Back{}
	case e.ready && k.Send.Is(msg):
		e.ready = false
		return SendNow{e.id}
	case e.ready:
		return nil
	case e.scroll.key(k, msg):
		return nil
	case !e.progress.Done:
		return nil
	case k.Open.Is(msg):
		return OpenContract{e.id}
	case k.Reconcile.Is(msg):
		return OpenReconcile{e.id}
	case k.Rollback.Is(msg):
		return OpenRollback{e.id}
	case k.Load.Is(msg):
		return OpenLoad{e.detail}
	}
	return nil
}

// View shows the part of the page that is scrolled to.
func (e *Execution) View() string {
	return e.scroll.show(e.Theme, e.lines(), e.width, e.height)
}

func (e *Execution) lines() []string {
	p := e.page()
	p.blank()
	switch {
	case e.failure != nil:
		p.text(e.Theme.Strong, 1, sayBeforeSend)
		p.blank()
		p.refusal(e.failure)
	case e.ready:
		e.offer(p)
	case e.loading():
		e.loadRun(p)
	default:
		e.steps(p)
		p.blank()
		e.ending(p)
	}
	return p.lines
}

// loading: a run without steps asks the firewall to load.
func (e *Execution) loading() bool { return e.started && len(e.progress.Steps) == 0 }

// offer says once more what one key will send.
func (e *Execution) offer(p *page) {
	t := e.Theme
	p.text(t.Strong, 1, sayReady)
	p.blank()
	if !e.read {
		return
	}
	d := e.detail
	p.pair("firewall", d.Appliance)
	p.pair("request", d.Contract.Method+" "+d.Contract.EndpointSymbol)
	p.pair("target", d.Row.Noun+" "+d.Row.Target)
	p.changes(d.Changes)
	if d.Row.Load == core.LoadAgreed {
		words := "once, right after it is verified, by " + subsystemWords(d.Row.Loads)
		if n := len(d.Loads); n > 0 && d.Loads[n-1].Pending != "" {
			words += ", with what was shown as waiting"
		}
		p.pair("loading", words)
	}
	p.blank()
	p.text(t.Dim, 1, "The target is read again right before the send; if it has changed, nothing is sent.")
	if why := e.closed(); why != "" {
		p.blank()
		p.text(t.Warn, 1, "Not now: "+why)
	}
}

func (e *Execution) steps(p *page) {
	steps := e.progress.Steps
	if !e.started {
		for _, name := range core.Steps() {
			steps = append(steps, core.StepProgress{Name: name})
		}
	}
	for _, s := range steps {
		p.step(e.Frame, s, e.progress)
	}
}

// step adds one line: mark, words, and how long it took.
func (p *page) step(f *Frame, s core.StepProgress, run core.Progress) {
	t := p.theme
	mark, style, time := " ", t.Dim, ""
	switch s.Status {
	case core.StepDone:
		mark, style, time = t.Marks.Done, t.Text, took(s.Took)
	case core.StepRunning:
		mark, style, time = t.Marks.Running, t.Busy, took(f.Now.Sub(s.StartedAt))
		if s.Name == core.StepSend || s.Name == core.StepAskLoad {
			time += fmt.Sprintf("  (up to %s is normal)", countdown(normalWait))
		}
	case core.StepStopped:
		mark, style, time = t.Marks.Stopped, t.Warn, took(s.Took)
	case core.StepSkipped:
		mark = t.Marks.Skip
	}
	words := mark + " " + t.Clean(stepWords(s, run)) + "  "
	p.raw("   " + style.Render(t.fit(words, max(stepWidth, ansi.StringWidth(words)))) + t.Dim.Render(time))
}

// ending says that nothing is sent again, or how the run ended.
func (e *Execution) ending(p *page) {
	t, r := e.Theme, e.progress
	if !r.Done {
		words := sayBeforeSend
		if sendBegun(r) {
			words = sayNothingAgain
		}
		p.text(t.Text, 1, words)
		return
	}
	if r.Final != "" {
		p.standing(r.Final, r.Sentence)
	} else {
		p.text(t.Strong, 1, t.words(r.Sentence))
	}
	if r.Final == core.Reconciliation && e.read {
		p.text(t.Text, 1, e.detail.Row.Sentence)
		if rest := e.settlesIn(); rest > 0 {
			p.text(t.Warn, 1, "Nothing else can be sent to this firewall for "+countdown(rest)+".")
		}
	}
	if r.Err != nil {
		p.refusal(r.Err)
	}
	if r.Warning != "" {
		p.text(t.Warn, 1, r.Warning)
	}
	if next := nextStep(e.detail); e.read && next != "" {
		p.text(t.Dim, 1, next)
	}
}

func sendBegun(p core.Progress) bool {
	for _, s := range p.Steps {
		if s.Name == core.StepSend {
			return s.Status != core.StepWaiting
		}
	}
	return false
}

// nextStep says the way on after a run.
func nextStep(d core.Detail) string {
	for _, a := range d.Actions {
		switch {
		case a.Name == core.ActReconcile && a.Reason == "":
			return "R reads the firewall again and lets you conclude."
		case a.Name == core.ActLoad && d.Row.Load == core.LoadClaimed:
		case a.Name == core.ActLoad && a.Reason == "" && d.Row.Load == core.LoadUnknown:
			return "Whether it is loaded is not known: L asks the firewall once more."
		case a.Name == core.ActLoad && a.Reason == "":
			return "Stored, not loaded: L asks the firewall to load it."
		}
	}
	return ""
}

// loadRun shows a question to load, which has no steps.
func (e *Execution) loadRun(p *page) {
	t, r := e.Theme, e.progress
	mark, style := t.Marks.Running, t.Busy
	if r.Done {
		mark, style = t.Marks.Done, t.Text
	}
	if r.Done && r.Err != nil {
		mark, style = t.Marks.Stopped, t.Warn
	}
	p.hanging(style, "   "+style.Render(mark+" "), "     ", r.Sentence)
	p.blank()
	if r.Err != nil {
		p.refusal(r.Err)
	}
	p.text(t.Dim, 1, "It is asked once and never again by itself; only the firewall's own answer counts.")
}
