package tui

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
	"countersign/views"
)

// Model is the root: a stack of screens, of which the first is the list and
// the last is shown. Until the engine is there, the first is the first frame.
type Model struct {
	opts   Options
	engine Engine // nil until the console is open
	frame  *views.Frame
	list   *views.List
	stack  []views.Screen
	notice views.Notice

	width, height int
	laidOut       layout

	ctx      context.Context // ends with the program; for readings only
	cancel   context.CancelFunc
	busy     int // engine calls that were not answered yet
	underWay underWay
	probing  bool
	probedAt time.Time
	tookOver bool // an observer has become the executor, and that was said

	scan    scan
	failure error // why the console could not be opened

	progress    <-chan core.Progress
	unsubscribe func()
	begun       map[string]time.Time // when this console started a contract's run
	quitting    bool
}

var _ tea.Model = (*Model)(nil)

// New makes the console's root model. It calls nothing but Header and
// Subscribe until the program runs; the subscription is opened before anything
// can emit.
func New(opts Options) *Model {
	opts = opts.withDefaults()
	theme := views.NewTheme(views.ThemeOptions{ASCII: opts.ASCII, NoColor: opts.NoColor, Plain: opts.Plain})
	m := &Model{opts: opts, begun: map[string]time.Time{}, unsubscribe: func() {}}
	m.frame = &views.Frame{Theme: theme, KeyMap: views.NewKeyMap(theme.Marks),
		Now: opts.Clock.Now(), Zone: opts.Zone, Operator: opts.Operator, Banner: opts.Banner,
		Exports: opts.RequestPath != nil, Practice: opts.Practice != nil}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if opts.Open == nil {
		m.adopt(opts.Engine)
	} else {
		m.frame.Header = m.header()
		m.stack = []views.Screen{views.NewOpening(m.frame)}
	}
	if opts.Notice != "" {
		m.notice = views.Told(opts.Notice)
	}
	return m
}

// Init opens the console, or begins with the engine that is there.
func (m *Model) Init() tea.Cmd {
	if m.engine == nil {
		return tea.Batch(m.open(), m.tick())
	}
	return tea.Batch(m.begin(), m.tick())
}

// begin reads the first page and who is enrolled, probes the appliance and
// watches the runs.
func (m *Model) begin() tea.Cmd {
	intent, cmd := m.list.Init()
	return tea.Batch(cmd, m.act(m.list, intent), m.probe(), m.readOperators(), m.nextProgress())
}

// Update handles what happened and keeps the layout current.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.handle(msg)
	m.lay()
	return m, cmd
}

func (m *Model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return nil
	case tea.KeyMsg:
		return m.keys(msg)
	case ticked:
		return m.onTick()
	case answered:
		m.busy--
		return m.deliver(msg.msg)
	case opened:
		return m.onOpened(msg)
	case observed:
		return tea.Batch(m.onProgress(msg.progress), m.nextProgress())
	case stopped:
		return m.quit()
	case peek:
		msg <- glance{view: m.View(), busy: m.busy}
		return nil
	}
	return m.deliver(msg)
}

// deliver gives a message to every open screen, and acts on what they want.
func (m *Model) deliver(msg tea.Msg) tea.Cmd {
	m.note(msg)
	var cmds []tea.Cmd
	for _, s := range append([]views.Screen(nil), m.stack...) {
		if !m.isOpen(s) {
			continue
		}
		intent, cmd := s.Update(msg)
		cmds = append(cmds, cmd, m.act(s, intent))
	}
	return tea.Batch(cmds...)
}

// note keeps what concerns the frame, and says what was recorded.
func (m *Model) note(msg tea.Msg) {
	switch msg := msg.(type) {
	case views.HeaderRead:
		m.probing, m.probedAt = false, m.opts.Clock.Now()
		if msg.Err != nil && m.notice.Text == "" {
			m.notice = views.Refused(msg.Err)
		}
		if report := msg.Header.TakenOver; report != nil && !m.tookOver {
			m.notice, m.tookOver = views.TookOver(*report), true
		}
	case views.Exported:
		m.notice = views.WroteRequest(msg.Path)
		if msg.Err != nil {
			m.notice = views.Refused(msg.Err)
		}
	case views.FaultsRead:
		if msg.Notice.Text != "" {
			m.notice = msg.Notice
		}
	case views.OperatorsRead:
		m.frame.Operators = msg.Operators
	case views.Confirmed:
		if errors.Is(msg.Err, core.ErrLoadingLeftOut) {
			m.notice = views.Refused(msg.Err)
		}
	case views.Declined:
		if msg.Err == nil {
			m.notice = views.Told("declined and recorded; nothing was sent")
		}
	case views.Concluded:
		if state, ok := msg.Outcome.Target(); msg.Err == nil && ok {
			m.notice = views.Told("your conclusion is recorded: " + views.StateWord(state))
		}
	}
	m.look()
}

// look brings what all screens share up to date.
func (m *Model) look() {
	m.frame.Header = m.header()
	if m.opts.Practice != nil {
		m.frame.Armed = m.opts.Practice.Armed()
	}
}

func (m *Model) top() views.Screen { return m.stack[len(m.stack)-1] }

func (m *Model) isOpen(s views.Screen) bool {
	for _, x := range m.stack {
		if x == s {
			return true
		}
	}
	return false
}

// quit ends the program; readings under way are given up.
func (m *Model) quit() tea.Cmd {
	m.quitting = true
	m.cancel()
	m.unsubscribe()
	return tea.Quit
}

// peek asks the model for what it shows, in the order of its messages; tests
// use it to wait until nothing is under way.
type peek chan<- glance

type glance struct {
	view string
	busy int
}
