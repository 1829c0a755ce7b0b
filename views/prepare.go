package views

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// stage is how far the preparation of a change is.
type stage int

const (
	pickCapability stage = iota
	pickTarget
	fillForm
)

// Prepare makes a draft: a kind of change, a target from a live reading, the
// new value. It changes nothing anywhere.
type Prepare struct {
	base
	specs      []core.Spec
	requestKey string // one for this change, kept for every retry
	stage      stage
	spec       core.Spec
	targets    []core.Target
	target     core.Target
	kinds      picker
	objects    picker
	form       *form
	waiting    string
	failure    error
}

// NewPrepare begins a change. requestKey survives a lost answer (seed 001).
func NewPrepare(f *Frame, specs []core.Spec, requestKey string) *Prepare {
	p := &Prepare{base: base{Frame: f}, specs: specs, requestKey: requestKey}
	choices := make([]choice, len(specs))
	for i, s := range specs {
		choices[i] = choice{label: s.Title, note: s.Method + " " + f.Theme.Marks.Dot + " " + loadsWords(s.Loads)}
	}
	p.kinds = newPicker(f.Theme, choices)
	return p
}

// loadsWords says whether a kind of change needs loading.
func loadsWords(s core.Subsystem) string {
	if s == core.LoadsAtOnce {
		return "works at once"
	}
	return "loaded afterwards, by " + subsystemWords(s)
}

// Init skips the first question when there is only one answer.
func (p *Prepare) Init() (Intent, tea.Cmd) {
	if len(p.specs) == 1 {
		return p.takeKind(0), nil
	}
	return nil, nil
}

// Typing: letters filter, or fill the form.
func (p *Prepare) Typing() bool { return true }

// SetSize fits the pickers and the form.
func (p *Prepare) SetSize(width, height int) {
	p.base.SetSize(width, height)
	p.kinds.resize(height - 3)
	p.objects.resize(height - 3)
	if p.form != nil {
		p.form.resize(width, height)
	}
}

// Title says what is being prepared.
func (p *Prepare) Title() (string, string) {
	left := "New change"
	if p.stage != pickCapability {
		left += " " + p.Theme.Marks.Dot + " " + p.spec.Title
	}
	if p.stage == fillForm {
		left += " " + p.Theme.Marks.Dot + " " + p.target.Label
	}
	return left, "nothing is created yet"
}

// Keys depend on the stage.
func (p *Prepare) Keys() []Binding {
	k := p.KeyMap
	if p.stage == fillForm {
		return []Binding{k.NextField, k.Back.as("choose another target"), k.HelpTyping}
	}
	back := k.Back.as("leave")
	if p.stage == pickTarget && len(p.specs) > 1 {
		back = k.Back.as("choose another kind")
	}
	keys := []Binding{k.Choose, back, k.HelpTyping}
	if p.stage == pickTarget {
		keys = append(keys, k.ReadAgain)
	}
	return keys
}

// Situation says what is waited for, or why a target cannot be taken.
func (p *Prepare) Situation() Situation {
	s := Situation{Header: p.Header, Waiting: p.waiting, Own: map[string]string{}}
	switch p.stage {
	case pickCapability:
		if p.kinds.current() < 0 {
			s.Own["choose"] = reasonNothing
		}
	case pickTarget:
		s.Own["choose"] = p.refused()
	}
	return s
}

// refused is why the selected target cannot be taken, or "".
func (p *Prepare) refused() string {
	i := p.objects.current()
	switch {
	case i < 0:
		return reasonNothing
	case p.targets[i].Refused != "":
		return p.targets[i].Refused
	}
	return ""
}

// Hint explains a target that cannot be taken.
func (p *Prepare) Hint() string {
	if p.stage == pickCapability && p.settlesIn() > 0 {
		return "nothing can be authorized yet: " + sayCounting
	}
	if p.stage == pickTarget && p.waiting == "" && p.objects.current() >= 0 {
		if why := p.refused(); why != "" {
			return reasonRefused + ": " + why
		}
	}
	return ""
}

// Update follows keys and readings.
func (p *Prepare) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return p.press(msg)
	case TargetsRead:
		if p.waiting != "" && msg.Endpoint == p.spec.EndpointSymbol {
			return p.takeTargets(msg), nil
		}
	case FormRead:
		if p.waiting != "" && msg.Endpoint == p.spec.EndpointSymbol {
			return p.takeForm(msg)
		}
	case DraftPrepared:
		if p.waiting != "" {
			return p.takeDraft(msg)
		}
	case Ticked:
	default:
		if p.form != nil && p.stage == fillForm {
			return p.formed(p.form.update(msg))
		}
	}
	return nil, nil
}

func (p *Prepare) press(msg tea.KeyMsg) (Intent, tea.Cmd) {
	k := p.KeyMap
	switch {
	case k.Back.Is(msg):
		return p.back(), nil
	case p.waiting != "":
		return nil, nil
	case p.stage == fillForm:
		if msg.Type == tea.KeyCtrlV {
			return Say{Notice{Text: sayNoClipboard, Refusal: true}}, nil
		}
		return p.formed(p.form.update(msg))
	case p.stage == pickTarget && k.ReadAgain.Is(msg):
		return p.readTargets(), nil
	case k.Choose.Is(msg) && p.stage == pickCapability:
		return p.takeKind(p.kinds.current()), nil
	case k.Choose.Is(msg):
		return p.takeTarget(p.objects.current()), nil
	case p.stage == pickCapability:
		p.kinds.key(msg)
	default:
		p.objects.key(msg)
	}
	return nil, nil
}

// back goes one stage back, and from the first one leaves.
func (p *Prepare) back() Intent {
	p.waiting, p.failure = "", nil
	switch {
	case p.stage == fillForm:
		p.stage, p.form = pickTarget, nil
		return nil
	case p.stage == pickTarget && len(p.specs) > 1:
		p.stage = pickCapability
		return nil
	}
	return Back{}
}

func (p *Prepare) takeKind(i int) Intent {
	if i < 0 {
		return nil
	}
	p.spec, p.stage, p.targets = p.specs[i], pickTarget, nil
	p.objects = newPicker(p.Theme, nil)
	return p.readTargets()
}

func (p *Prepare) readTargets() Intent {
	p.waiting, p.failure = waitFirewall, nil
	return NeedTargets{p.spec.EndpointSymbol}
}

func (p *Prepare) takeTargets(msg TargetsRead) Intent {
	p.waiting, p.failure = "", msg.Err
	if msg.Err != nil {
		return Say{Refused(msg.Err)}
	}
	p.targets = msg.Targets
	choices := make([]choice, len(p.targets))
	for i, t := range p.targets {
		choices[i] = choice{label: t.Label, note: t.Summary, refused: t.Refused}
	}
	filter := p.objects.filter
	p.objects = newPicker(p.Theme, choices)
	p.objects.filter = filter
	p.objects.narrow()
	p.objects.resize(p.height - 3)
	return nil
}

func (p *Prepare) takeTarget(i int) Intent {
	if i < 0 || p.targets[i].Refused != "" {
		return nil
	}
	p.target, p.waiting = p.targets[i], waitFirewall
	return NeedForm{Endpoint: p.spec.EndpointSymbol, Target: p.target}
}

func (p *Prepare) takeForm(msg FormRead) (Intent, tea.Cmd) {
	p.waiting = ""
	if msg.Err != nil {
		return Say{Refused(msg.Err)}, nil
	}
	p.stage, p.form = fillForm, newForm(p.Theme, msg.Fields, nil)
	p.form.resize(p.width, p.height)
	return nil, p.form.init()
}

// formed submits a form that was filled in to its end.
func (p *Prepare) formed(done bool, cmd tea.Cmd) (Intent, tea.Cmd) {
	if !done {
		return nil, cmd
	}
	p.waiting = waitFirewall
	fields := p.form.values()
	for name, value := range p.target.Fields {
		fields[name] = value
	}
	return NeedDraft{Endpoint: p.spec.EndpointSymbol, Fields: fields, RequestKey: p.requestKey}, cmd
}

// takeDraft goes on to gate one. A completed form stays completed, so a new
// one with the same values is built in any case: for a refusal, or for esc.
func (p *Prepare) takeDraft(msg DraftPrepared) (Intent, tea.Cmd) {
	p.waiting = ""
	p.form = newForm(p.Theme, p.form.fields, p.form.typed())
	p.form.resize(p.width, p.height)
	if msg.Err != nil {
		return Say{Refused(msg.Err)}, p.form.init()
	}
	return OpenAuthorize{msg.Draft}, p.form.init()
}

// View is the picker or the form.
func (p *Prepare) View() string {
	lines := []string{""}
	switch {
	case p.waiting != "" && p.stage != fillForm && len(p.targets) == 0:
		lines = append(lines, " "+p.Theme.Dim.Render(p.waiting+p.Theme.Marks.Ellipsis))
	case p.stage == pickCapability:
		lines = append([]string{p.kinds.filterLine(p.width), ""}, p.kinds.lines(p.width)...)
	case p.stage == pickTarget && p.failure != nil:
		page := p.page()
		page.refusal(p.failure)
		lines = append(lines, page.lines...)
	case p.stage == pickTarget:
		lines = append([]string{p.objects.filterLine(p.width), ""}, p.objects.lines(p.width)...)
	default:
		lines = p.formLines()
	}
	return p.Theme.join(lines, p.width, p.height)
}

func (p *Prepare) formLines() []string {
	head := fmt.Sprintf("%s %s   %s", p.spec.Noun, p.target.Label, p.target.Summary)
	lines := []string{" " + p.Theme.Dim.Render(p.Theme.Clean(head)), ""}
	return append(lines, splitLines(p.form.view())...)
}
