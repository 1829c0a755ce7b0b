package core

import "time"

// Capability is one kind of guarded change. An implementation is a set of
// pure functions over readings and canonical objects: it neither reads nor
// sends, so one generic suite can examine all of them. One file each, in
// pfsense/.
type Capability interface {
	Spec() Spec
	// Form describes what an operator fills in for a chosen target.
	Form(o Observation) []Field
	// Targets lists what can be picked from a reading, with the reason where
	// a target cannot be changed.
	Targets(r Reading) ([]Target, error)
	// ParseRequest validates and normalises a typed request; unknown and
	// missing members are errors. Errors wrap ErrRequest.
	ParseRequest(fields Object) (Request, error)
	// RequestFromIntent restores the request from a protected intent.
	RequestFromIntent(intent Object) (Request, error)
	// Intent gives the members that a request adds to an intent.
	Intent(r Request) Object
	// Identity gives the natural identity that a request names.
	Identity(r Request) Object
	// Label is the name of a target that an operator reads and types.
	Label(identity Object) string
	// Summary says beside the label what a snapshot's target is: "host, 3
	// addresses". It is the Summary of the observation that was snapshotted.
	Summary(snapshot Object) string
	// Observe finds the one object with this identity. Errors wrap
	// ErrTargetMissing, ErrTargetDuplicate or ErrTargetUnsupported.
	Observe(r Reading, identity Object) (Observation, error)
	// RawTarget rebuilds the full observed target from a snapshot and a locator.
	RawTarget(snapshot Object, locator int64) Object
	// Admit refuses a change that has no effect (ErrNoChange), that the
	// appliance could not make, or whose pre-state could not be written back.
	Admit(r Reading, o Observation, req Request) error
	// Forward builds the request body of the change.
	Forward(req Request, o Observation) ([]byte, error)
	// Rollback builds the request body that restores a snapshot.
	Rollback(snapshot Object, o Observation) ([]byte, error)
	// CheckAnswer checks the exact shape of a 2xx answer's data.
	CheckAnswer(data any, o Observation) error
	// Intended is the projection as it must be once the request is made: what
	// the reconcile screen compares NOW with.
	Intended(req Request, snapshot Object) Object
	// Applied reports whether now is the snapshot with the request made and
	// nothing else changed.
	Applied(req Request, snapshot Object, now Observation) bool
	// Changes gives before and after in plain text, for people.
	Changes(req Request, snapshot Object) []Change
}

// Spec is a capability's fixed facts (the accepted build's policy).
type Spec struct {
	Capability          string
	EndpointSymbol      string
	Method              string
	SemanticUnit        string // "set_firewall_alias_description_v1"
	AdapterVersion      string
	RollbackPlanVersion string
	ContractPrefix      string
	Title               string // "alias description"
	Noun                string // "alias"
	WritePath           string
	ReadPath            string    // the whole list the target lives in
	OtherReads          []string  // further readings its rules need
	OptionalReads       []string  // lists to look references up in; the appliance refuses without them
	Loads               Subsystem // what must load the change, or LoadsAtOnce
	Marks               []string  // by what names the appliance then says that it waits; none for rules
	Refusals            Refusals
	WayBack             string // one line: what rollback restores
}

// Binding is the policy triple.
func (s Spec) Binding() Binding {
	return Binding{Capability: s.Capability, EndpointSymbol: s.EndpointSymbol, Method: s.Method}
}

// Reads lists every path that an observation needs, the target's list first.
func (s Spec) Reads() []string { return append([]string{s.ReadPath}, s.OtherReads...) }

// Request is a validated, normalised typed request.
type Request struct{ Fields Object }

// Reading is what was read from the appliance at one time, by path.
type Reading struct {
	At   time.Time
	Data map[string]any
}

// Observation is one target as it was found in a reading.
type Observation struct {
	Identity   Object
	Projection Object // the fingerprint projection; also the snapshot
	Locator    int64
	Label      string // the name an operator types, unsanitised
	Summary    string // "host, 3 addresses", unsanitised
	Neighbours []Neighbour
	Related    []Change // linked objects, shown before and after
	// Guard is what a request repeats from this reading so that the appliance
	// itself refuses a shifted position (design section 4, rule 6), or nil.
	Guard any
}

// Neighbour is another object of the same list, by digest only.
type Neighbour struct {
	Name   string // for the screen; never stored
	Digest string
}

// Target is one row of the picker.
type Target struct {
	Fields  Object // the members of a request that name it
	Label   string
	Summary string
	Locator int64
	Refused string // why it cannot be changed, or ""
}

// FieldKind is how a form asks for a value.
type FieldKind int

// The kinds of form fields.
const (
	TextField FieldKind = iota
	ChoiceField
	BoolField
	NumberField
	ListField // one entry a line
)

// Field is one member of a request that the operator fills in.
type Field struct {
	Name    string
	Label   string
	Help    string
	Kind    FieldKind
	Choices []string
	Current any // the present value, as the request would carry it
	Limit   int // most characters, 0 for no limit
}

// Change is one line of a difference, in plain text.
type Change struct {
	Field  string
	Before string
	After  string
	// Member: one member of a list was removed or added, so that one side does
	// not exist, rather than being empty.
	Member bool
}

// SpecSet is the accepted build's policy: the capabilities by endpoint symbol.
type SpecSet []Capability

// Find returns the capability that a binding names exactly.
func (s SpecSet) Find(b Binding) (Capability, bool) {
	for _, c := range s {
		if c.Spec().Binding() == b {
			return c, true
		}
	}
	return nil, false
}

// ByEndpoint returns the capability of an endpoint symbol.
func (s SpecSet) ByEndpoint(symbol string) (Capability, bool) {
	for _, c := range s {
		if c.Spec().EndpointSymbol == symbol {
			return c, true
		}
	}
	return nil, false
}
