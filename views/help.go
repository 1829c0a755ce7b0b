package views

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// Help lists every key of the screen below it, and why it is closed now. It
// is made from the same bindings as the footer.
type Help struct {
	base
	keys      []Binding
	situation Situation
	scroll    scroll
}

// NewHelp explains the keys of a screen.
func NewHelp(f *Frame, keys []Binding, s Situation) *Help {
	return &Help{base: base{Frame: f}, keys: keys, situation: s}
}

// SetSize keeps the page in bounds.
func (h *Help) SetSize(width, height int) {
	h.base.SetSize(width, height)
	h.scroll.measure(len(h.lines()), height)
}

// Title names the screen.
func (h *Help) Title() (string, string) { return "Help", "" }

// Keys only scroll and leave.
func (h *Help) Keys() []Binding {
	k := h.KeyMap
	return []Binding{k.Back, k.Up, k.Down, k.PageUp, k.PageDown}
}

// Update scrolls; help itself, esc and q leave.
func (h *Help) Update(msg tea.Msg) (Intent, tea.Cmd) {
	if key, ok := msg.(tea.KeyMsg); ok && !h.scroll.key(h.KeyMap, key) {
		if h.KeyMap.Back.Is(key) || h.KeyMap.Help.Is(key) || h.KeyMap.Quit.Is(key) {
			return Back{}, nil
		}
	}
	return nil, nil
}

// View shows the part of the page that is scrolled to.
func (h *Help) View() string {
	return h.scroll.show(h.Theme, h.lines(), h.width, h.height)
}

// keyWidth is the column of keys.
const keyWidth = 11

func (h *Help) lines() []string {
	p := h.page()
	p.blank()
	p.heading("Keys that work now")
	h.listed(p, func(why string) bool { return why == "" })
	p.blank()
	if h.someClosed() {
		p.heading("Keys that are closed now")
		h.listed(p, func(why string) bool { return why != "" })
		p.blank()
	}
	p.heading("Marks")
	h.marks(p)
	p.blank()
	p.heading("Words")
	p.pair("sent", "a request left this console")
	p.pair("stored", "the firewall's configuration holds it")
	p.pair("loaded", "the firewall says that it works with it")
	p.pair("verified", "it was read back and is exactly as intended")
	return p.lines
}

func (h *Help) someClosed() bool {
	return slices.ContainsFunc(h.keys, func(b Binding) bool { return b.Reason(h.situation) != "" })
}

// listed adds the keys whose reason to be closed is as wanted.
func (h *Help) listed(p *page, wanted func(why string) bool) {
	t := h.Theme
	for _, b := range h.keys {
		why := b.Reason(h.situation)
		if !wanted(why) {
			continue
		}
		lead := "   " + t.Key.Render(t.fit(b.Shown(), keyWidth))
		p.hanging(t.Text, lead, "   "+t.fit("", keyWidth), b.Word()+": "+b.Long)
		if why != "" {
			p.text(t.Warn, 3+keyWidth, "not now: "+why)
		}
	}
}
