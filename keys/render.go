package keys

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/canon"
	"countersign/core"
)

// RenderRequest shows a request file in full, as plain text that no value in
// it can forge: what would change on which firewall, and every member of the
// evidence. Before and after are derived by this build's own capabilities, and
// every digest was recomputed (core.SigningRequest.Open); what the console
// merely says stands apart. Errors wrap ErrFile, ErrNewerFile or those of Open.
func RenderRequest(raw []byte, caps core.SpecSet) (string, error) {
	v, err := openRequest(raw, caps)
	if err != nil {
		return "", err
	}
	p := &plainText{}
	p.head(v)
	p.change(v)
	p.reading(v)
	if err := p.bound(v); err != nil {
		return "", err
	}
	p.said(v)
	return p.String(), nil
}

func openRequest(raw []byte, caps core.SpecSet) (core.SigningView, error) {
	r, err := DecodeRequest(raw)
	if err != nil {
		return core.SigningView{}, err
	}
	return r.Open(caps)
}

// plainText lays out labels and values. Labels begin lines; values never do.
type plainText struct{ strings.Builder }

const (
	labelColumn = 15
	valueColumn = 80 - labelColumn - 1
)

// line writes a label and a value that are safe to print already. A label that
// is too long for its column, and every piece of a long value, has a line of
// its own.
func (p *plainText) line(label, value string) {
	if len(label) >= labelColumn {
		p.WriteString(label + "\n")
		label = ""
	}
	for _, piece := range pieces(value, valueColumn) {
		fmt.Fprintf(p, "%-*s%s\n", labelColumn, label, piece)
		label = ""
	}
}

// value writes a label and any value in full, the entries of a list one a line.
func (p *plainText) value(label string, v any) {
	label = visible(label)
	list, isList := v.([]any)
	if !isList || len(list) == 0 {
		p.line(label, shown(v))
		return
	}
	for i, item := range list {
		p.line(label, fmt.Sprintf("%d. %s", i+1, shown(item)))
		label = ""
	}
}

func (p *plainText) title(text string) { p.WriteString("\n" + text + "\n") }

// shown is one value on one line: text in quotation marks, the rest as
// canonical JSON.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return quote(s)
	}
	text, err := canon.Encode(v)
	if err != nil {
		return "?"
	}
	return visible(string(text))
}

// bare is shown without quotation marks, for the names, digests and instants
// of evidence, whose form core.SigningRequest.Open has checked.
func bare(v any) string {
	if s, ok := v.(string); ok {
		return visible(s)
	}
	return shown(v)
}

func moment(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

func (p *plainText) head(v core.SigningView) {
	p.WriteString(asked(v) + "\n\n")
	p.line("asked by", quote(v.Operator))
	p.line("at", moment(v.ExportedAt))
	if until := closes(v.SigningRequest); !until.IsZero() {
		p.line("closes", moment(until))
	}
	a := v.Appliance
	p.title("FIREWALL")
	p.line("address", quote(a.BaseURL))
	p.line("installation", quote(a.InstallationKind+" "+a.Installation))
	p.line("TLS", quote(a.TLSMode))
	if a.CACertificate != nil {
		p.line("certificate", a.CACertificate.String())
	}
}

func (p *plainText) change(v core.SigningView) {
	p.title("CHANGE")
	p.line("kind", visible(v.Spec.Title))
	p.line("capability", visible(v.Spec.Capability))
	p.line("endpoint", visible(v.Spec.EndpointSymbol))
	p.line("method", visible(v.Spec.Method+" "+v.Spec.WritePath))
	p.line(visible(v.Spec.Noun), quote(v.Target))
	p.line("position", fmt.Sprint(v.Locator))
	for _, c := range v.Changes {
		p.title(visible(c.Field))
		if c.Before != "" || !c.Member {
			p.line("  before", quote(c.Before))
		}
		if c.After != "" || !c.Member {
			p.line("  after", quote(c.After))
		}
	}
	p.title("AFTERWARDS")
	if v.Spec.Loads != core.LoadsAtOnce {
		p.line("loading", "stored only; loading it is a step of its own ("+visible(string(v.Spec.Loads))+")")
	}
	p.line("way back", visible(v.Spec.WayBack))
	p.title("TARGET AS IT WAS PREPARED")
	for _, name := range sortedNames(v.Snapshot) {
		p.value(name, v.Snapshot[name])
	}
}

// reading shows what a conclusion is drawn from.
func (p *plainText) reading(v core.SigningView) {
	if v.Comparison == nil {
		return
	}
	d := v.Doubt
	p.title("READ AGAIN AT " + moment(d.ReadAt))
	p.line("doubt while", quote(string(d.Origin)))
	p.line("boundary", quote(string(d.Boundary)))
	p.line("failure", quote(string(d.Failure)))
	if d.Found == nil {
		p.line("not found", quote(d.Problem))
		return
	}
	p.line("position now", fmt.Sprint(d.Locator))
	for _, f := range v.Comparison.Fields {
		p.title(visible(f.Name))
		p.line("  snapshot", quote(f.Snapshot))
		p.line("  intended", quote(f.Intended))
		p.line("  now", quote(f.Now))
	}
}

// bound lists the evidence itself, member by member.
func (p *plainText) bound(v core.SigningView) error {
	unsigned, err := unsignedObject(v.SigningRequest)
	if err != nil {
		return err
	}
	p.title("WHAT THE SIGNATURE BINDS")
	for _, name := range sortedNames(unsigned) {
		p.line(name, bare(unsigned[name]))
	}
	p.line("and", "your authority's name, its algorithm, and the time of signing")
	return nil
}

// said is what nobody can check from here.
func (p *plainText) said(v core.SigningView) {
	if v.Comparison == nil && len(v.Pending) == 0 {
		return
	}
	p.title("WHAT THE CONSOLE SAYS, AND THE SIGNATURE DOES NOT BIND")
	if v.Comparison != nil {
		p.line("contract", "that the change above is its change, and what was read")
	}
	for i, pending := range v.Pending {
		p.line("", fmt.Sprintf("%d. not loaded yet: %s", i+1, quote(pending)))
	}
}

// asked says in one line what a signature would do.
func asked(v core.SigningView) string {
	switch v.Kind {
	case core.ProofAuthorization:
		return "You are asked to AUTHORIZE one attempt at the change below."
	case core.ProofConfirmation:
		return "You are asked to CONFIRM that the change below is sent, once."
	}
	return "You are asked to CONCLUDE what became of the change below: " + conclusion(v.Reconciliation.Outcome)
}

func conclusion(o core.Outcome) string {
	switch o {
	case core.ConfirmedApplied:
		return "it WAS made."
	case core.ConfirmedNotApplied:
		return "it was NOT made."
	case core.ConfirmedRollbackApplied:
		return "it WAS undone."
	case core.ConfirmedRollbackNotApplied:
		return "it was NOT undone."
	}
	return quote(string(o))
}

// closes is when what is asked for stops being of use; zero for a conclusion.
func closes(r core.SigningRequest) time.Time {
	switch {
	case r.Authorization != nil:
		return r.Authorization.ExpiresAt
	case r.Confirmation != nil:
		return r.Confirmation.ExpiresAt
	}
	return time.Time{}
}

func sortedNames(o core.Object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
