package views

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Health shows the state of everything the console depends on.
type Health struct {
	base
	store   core.StoreHealth
	status  core.ApplianceStatus
	read    bool
	failure error
	scroll  scroll
}

// NewHealth shows the health screen.
func NewHealth(f *Frame) *Health { return &Health{base: base{Frame: f}} }

// Init asks for the store's and the appliance's health.
func (h *Health) Init() (Intent, tea.Cmd) { return NeedHealth{}, nil }

// SetSize keeps the page in bounds.
func (h *Health) SetSize(width, height int) {
	h.base.SetSize(width, height)
	h.scroll.measure(len(h.lines()), height)
}

// Title names the screen.
func (h *Health) Title() (string, string) {
	return "Health", "times are " + h.Now.In(h.zone()).Format("MST")
}

// Keys scroll and read again.
func (h *Health) Keys() []Binding {
	k := h.KeyMap
	return []Binding{k.ReadAgainR.as("probe again").meaning(k.Refresh.Long), k.Back, k.Help, k.Up, k.Down, k.PageUp, k.PageDown}
}

// Update follows keys and readings.
func (h *Health) Update(msg tea.Msg) (Intent, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		switch k := h.KeyMap; {
		case h.scroll.key(k, msg):
		case k.Back.Is(msg):
			return Back{}, nil
		case k.ReadAgainR.Is(msg):
			return Refresh{}, nil
		}
	case HeaderRead:
		return NeedHealth{}, nil
	case HealthRead:
		h.store, h.status, h.failure, h.read = msg.Store, msg.Status, msg.Err, true
		h.scroll.measure(len(h.lines()), h.height)
	}
	return nil, nil
}

// View shows the part of the page that is scrolled to.
func (h *Health) View() string {
	return h.scroll.show(h.Theme, h.lines(), h.width, h.height)
}

func (h *Health) lines() []string {
	p := h.page()
	p.blank()
	h.console(p)
	p.blank()
	h.appliance(p)
	p.blank()
	h.storeFacts(p)
	return p.lines
}

func (h *Health) console(p *page) {
	p.heading("Console")
	p.pair("mode", string(h.Header.Mode))
	if h.Header.LockHolder != "" {
		p.pair("executor", h.Header.LockHolder)
	}
	if h.Header.Closed != "" {
		p.styled(h.Theme.Warn, "closed", h.Header.Closed)
	}
	p.pair("operators", orElse(strings.Join(h.Operators, ", "), "nobody is enrolled"))
}

func (h *Health) appliance(p *page) {
	s := h.status
	p.heading("Firewall")
	p.pair("address", h.Header.Appliance)
	p.pair("version", fmt.Sprintf("pfSense %s, API %s", orElse(h.Header.Version, "not read"), orElse(h.Header.APIVersion, "not read")))
	p.pair("pin", orElse(grouped(h.Header.Pin), "unknown"))
	switch {
	case s.ReadOnly:
		p.styled(h.Theme.Warn, "changes", "the REST API is in read-only mode")
	case h.read && !s.ReadOnlyKnown:
		p.pair("changes", "whether the REST API is read-only may not be seen")
	case h.read:
		p.pair("changes", "allowed by the REST API")
	}
	for _, subsystem := range []core.Subsystem{core.Firewall, core.DNSResolver, core.Routing} {
		if pending := s.Pending[subsystem]; len(pending) > 0 {
			p.pair("not loaded", subsystemWords(subsystem)+": "+strings.Join(pending, ", "))
		}
	}
	for _, w := range s.Warnings {
		p.styled(h.Theme.Warn, "look", w)
	}
}

func (h *Health) storeFacts(p *page) {
	s, t := h.store, h.Theme
	p.heading("Store")
	if h.failure != nil {
		p.refusal(h.failure)
		return
	}
	p.pair("file", s.Path)
	p.pair("store id", fmt.Sprintf("%s, schema %d", s.StoreID, s.Schema))
	p.pair("records", fmt.Sprintf("%s, %s", counted(s.Contracts, "contract"), counted(s.Events, "event")))
	if !s.Verified.IsZero() {
		p.pair("verified", "completely, at "+h.clock(s.Verified))
	}
	if h.Header.AnchorOK {
		p.pair("anchor", fmt.Sprintf("agrees with the mark %d", s.Mark))
	} else {
		p.styled(t.Bad, "anchor", orElse(h.Header.AnchorNote, "not checked"))
	}
	if n := h.Header.Counts.Quarantined; n > 0 {
		p.styled(t.Bad, "quarantine", counted(n, "record")+" that nothing acts on")
	}
}
