package core_test

import (
	"fmt"
	"time"

	"countersign/core"
)

// This file is the small model that TestModel compares the real parts with:
// the seeds in plain Go, without a store, a network or a key. It shares the
// names of states and classes of refusal with core, and none of its rules.

// The rules that the model restates. A table here that differs from core's is
// a finding about one of them.
var (
	legalEdges = map[core.State][]core.State{
		core.Preparing:   {core.Prepared, core.Failed, core.Expired},
		core.Prepared:    {core.Executing, core.Failed, core.Expired},
		core.Executing:   {core.Verified, core.Failed, core.Reconciliation},
		core.Verified:    {core.RollingBack},
		core.RollingBack: {core.RolledBack, core.RollbackFailed, core.Reconciliation},
	}
	manualEdges   = []core.State{core.Verified, core.Failed, core.RollingBack, core.RolledBack, core.RollbackFailed}
	blockedBy     = []core.State{core.Preparing, core.Prepared, core.Executing, core.Verified, core.Reconciliation, core.RollingBack, core.RollbackFailed}
	reservedBy    = []core.State{core.Executing, core.Reconciliation, core.RollingBack, core.RollbackFailed}
	coolsDown     = []core.State{core.Verified, core.Failed, core.RolledBack, core.RollbackFailed}
	finalStates   = []core.State{core.Failed, core.RolledBack, core.RollbackFailed, core.Expired}
	forwardDoubt  = []core.Outcome{core.ConfirmedApplied, core.ConfirmedNotApplied}
	backwardDoubt = []core.Outcome{core.ConfirmedRollbackApplied, core.ConfirmedRollbackNotApplied, core.ResumeRollback}
)

const (
	modelWindow    = 10 * time.Minute
	modelSettle    = 180 * time.Second
	modelCooldown  = time.Minute
	modelThreshold = 3
	modelSoon      = 3 * time.Minute
)

func among[T comparable](set []T, x T) bool {
	for _, y := range set {
		if x == y {
			return true
		}
	}
	return false
}

// object is one alias as a reading shows it; firewall is all of them, in order.
type object struct{ name, descr, addresses, details string }

type firewall struct {
	objects  []object
	readOnly bool
}

func (f firewall) clone() firewall {
	f.objects = append([]object(nil), f.objects...)
	return f
}

// find returns the position of the only object of this name, or why there is none.
func (f firewall) find(name string) (int, error) {
	at, err := -1, core.ErrTargetMissing
	for i, o := range f.objects {
		if o.name != name {
			continue
		}
		if at >= 0 {
			return -1, core.ErrTargetDuplicate
		}
		at, err = i, nil
	}
	return at, err
}

// pact is a contract in the model.
type pact struct {
	id        string
	target    string
	before    object // as prepared
	want      string // the new description
	at        int    // the position it was prepared at
	state     core.State
	chain     []core.State // every state it was in, one for each event
	resolved  map[int]bool // events that an operator's conclusion made
	confirmed bool
	sealed    bool // has a verified fingerprint
	spent     bool // the anchor had moved for it when its console ended
	expires   time.Time
	origin    core.State // where certainty was lost
	unsure    time.Time  // when
	partial   bool       // the read-back showed neither the old nor the new state
	resumed   bool       // an earlier send of this direction is still in doubt
	sends     map[core.Direction]int
	resumes   int
}

func (p *pact) verified() object {
	o := p.before
	o.descr = p.want
	return o
}

// key is the semantic identity of what the pact does (seed 000).
func (p *pact) key() string {
	return fmt.Sprint(p.target, "\x00", p.before, "\x00", p.at, "\x00", p.want)
}

// expectedBy is what the target must be before a send in this direction, and
// wanted what it must be after.
func (p *pact) expectedBy(dir core.Direction) (expected, wanted object) {
	if dir == core.Forward {
		return p.before, p.verified()
	}
	return p.verified(), p.before
}

func (p *pact) version() int64 { return int64(len(p.chain) - 1) }

// world is the model: the firewall, the contracts, and the clock.
type world struct {
	now        time.Time
	live       firewall
	late       *lateWrite
	keyRefused bool // the console will not use its API key any more
	pacts      []*pact
	cooling    map[string]time.Time
	unsure     time.Time // the newest send that may still be writing
	mark       int       // forward acquisitions, plus those that a crash left to be attributed, plus numbers used up
	planned    *pact     // whose number is the next one, because its console ended before the anchor moved
	sent       []object  // every request that reached the firewall: name and description
}

// lateWrite is a request that has outlived its connection: it holds the whole
// configuration as it was when it began, and puts that back.
type lateWrite struct {
	due   time.Time
	lands firewall
}

func (w *world) settling(since time.Time) bool {
	return !since.IsZero() && w.now.Before(since.Add(modelSettle))
}

func (w *world) expired(p *pact) bool { return !w.now.Before(p.expires) }

// enter moves a pact to a state and does everything that goes with it.
func (w *world) enter(p *pact, to core.State) {
	from := p.state
	p.state, p.chain = to, append(p.chain, to)
	switch {
	case to == core.Verified:
		p.sealed = true
	case to == core.Reconciliation:
		p.origin, p.unsure, w.unsure = from, w.now, w.now
	}
	if from != to && among(coolsDown, to) {
		w.cooling[p.target] = w.now.Add(modelCooldown)
	}
}

// concluded marks the newest event as an operator's conclusion.
func (p *pact) concluded() { p.resolved[len(p.chain)-1] = true }

// prepare predicts a fresh preparation.
func (w *world) prepare(target, want string) (*pact, error) {
	switch at, err := w.live.find(target); {
	case w.keyRefused:
		return nil, core.ErrAppliance
	case w.live.readOnly:
		return nil, core.ErrReadOnlyAppliance
	case err != nil:
		return nil, err
	case w.live.objects[at].descr == want:
		return nil, core.ErrNoChange
	default:
		return &pact{target: target, before: w.live.objects[at], want: want, at: at}, nil
	}
}

// authorize predicts gate one for a draft that was prepared earlier.
func (w *world) authorize(d *pact, passOK bool) error {
	if w.settling(w.unsure) {
		return core.ErrSettling
	}
	waiting, outstanding := 0, 0
	for _, p := range w.pacts {
		if p.key() == d.key() && among(blockedBy, p.state) {
			return core.ErrBlocked
		}
		if p.state == core.Reconciliation {
			waiting++
		}
		if p.target == d.target && p.state == core.Prepared {
			outstanding++
		}
	}
	if w.reserved(d) {
		return core.ErrReserved
	}
	fresh, err := w.prepare(d.target, d.want)
	switch {
	case err != nil:
		return err
	case fresh.key() != d.key():
		return core.ErrDrift
	case !passOK:
		return core.ErrWrongPassphrase
	case waiting >= modelThreshold, outstanding >= 1, w.now.Before(w.cooling[d.target]):
		return core.ErrLimit
	}
	return nil
}

// create makes the pact that gate one let through.
func (w *world) create(d *pact, id string) {
	p := *d
	p.id, p.state, p.chain = id, core.Prepared, []core.State{core.Preparing, core.Prepared}
	p.expires, p.sends, p.resolved = w.now.Add(modelWindow), map[core.Direction]int{}, map[int]bool{}
	w.pacts = append(w.pacts, &p)
}

// confirm predicts gate two.
func (w *world) confirm(p *pact, nameOK, passOK bool) error {
	switch {
	case !nameOK:
		return core.ErrTypedTarget
	case w.expired(p):
		return core.ErrExpired
	case !passOK:
		return core.ErrWrongPassphrase
	case p.state != core.Prepared || p.confirmed:
		return core.ErrConflict
	}
	return nil
}

func (w *world) decline(p *pact, passOK bool) error {
	switch {
	case !passOK:
		return core.ErrWrongPassphrase
	case p.state != core.Prepared:
		return core.ErrConflict
	case w.expired(p):
		return core.ErrExpired
	}
	return nil
}

// reserved: another contract keeps the target to itself.
func (w *world) reserved(p *pact) bool {
	for _, other := range w.pacts {
		if other != p && other.target == p.target && among(reservedBy, other.state) {
			return true
		}
	}
	return false
}

// undisturbed: the target is as it was prepared.
func (w *world) undisturbed(p *pact) bool {
	at, err := w.live.find(p.target)
	return err == nil && at == p.at && w.live.objects[at] == p.before
}

// acquire predicts what a run refuses before anything is acquired: the two
// runs differ only in where they may begin.
func (w *world) acquire(p *pact, from core.State) error {
	switch {
	case p.state != from || from != core.Prepared && !p.sealed:
		return core.ErrConflict
	case from == core.Prepared && !p.confirmed:
		return core.ErrUnconfirmed
	case from == core.Prepared && w.expired(p):
		return core.ErrExpired
	case w.keyRefused:
		return core.ErrAppliance
	case w.live.readOnly:
		return core.ErrReadOnlyAppliance
	case p.spent, w.reserved(p):
		return core.ErrConflict
	}
	return nil
}

// mayRollBack predicts what is refused before a rollback's run begins.
func (w *world) mayRollBack(p *pact, passOK bool) error {
	at, err := w.live.find(p.target)
	switch {
	case w.settling(w.unsure):
		return core.ErrSettling
	case w.keyRefused:
		return core.ErrAppliance
	case err != nil, w.live.objects[at] != p.verified(), at != p.at:
		return core.ErrDrift
	case !passOK:
		return core.ErrWrongPassphrase
	}
	return nil
}

// mayConclude predicts whether a conclusion is refused (seed 003, Execution
// algorithm; design section 4, rule 4).
func (w *world) mayConclude(p *pact, o core.Outcome, passOK bool) error {
	possible := forwardDoubt
	switch p.origin {
	case core.RollingBack:
		possible = backwardDoubt
	case "":
		possible = nil
	}
	at, missing := w.live.find(p.target)
	now, here := object{}, at == p.at
	if missing == nil {
		now = w.live.objects[at]
	}
	supported := map[core.Outcome]bool{
		core.ConfirmedApplied:            missing == nil && here && now == p.verified(),
		core.ConfirmedNotApplied:         (missing != nil || now != p.verified()) && (!p.partial || missing == nil && now == p.before),
		core.ConfirmedRollbackApplied:    missing == nil && here && now == p.before,
		core.ConfirmedRollbackNotApplied: missing != nil || now != p.before,
		core.ResumeRollback:              missing == nil && here && p.sealed && now == p.verified(),
	}[o]
	denies := o != core.ConfirmedApplied && o != core.ConfirmedRollbackApplied
	switch {
	case w.keyRefused:
		return core.ErrAppliance
	case !among(possible, o), !supported:
		return core.ErrOutcome
	case denies && w.settling(p.unsure):
		return core.ErrSettling
	case o == core.ResumeRollback && w.settling(w.unsure):
		return core.ErrSettling
	case !passOK:
		return core.ErrWrongPassphrase
	case o != core.ResumeRollback && p.state != core.Reconciliation:
		return core.ErrConflict
	}
	return nil
}

// plan gives the next number to a pact; that of another one is used up.
func (w *world) plan(p *pact) {
	if w.planned != nil && w.planned != p {
		w.mark++
	}
	w.planned = p
}

// take is the step of the anchor under the planned number.
func (w *world) take(p *pact) {
	w.plan(p)
	w.planned = nil
	w.mark++
}

// begin is the durable acquisition.
func (w *world) begin(p *pact, dir core.Direction) {
	resumed := p.state == core.Reconciliation
	p.partial, p.resumed = false, resumed
	if dir == core.Forward {
		w.enter(p, core.Executing)
		w.take(p)
		return
	}
	w.enter(p, core.RollingBack)
	if resumed {
		p.concluded()
		p.resumes++
	}
}

// arrive is one request that reaches the firewall. It is refused where the
// position no longer holds an object of that name.
func (w *world) arrive(p *pact, dir core.Direction) {
	_, wanted := p.expectedBy(dir)
	p.sends[dir]++
	w.sent = append(w.sent, object{name: p.target, descr: wanted.descr})
}

func (f *firewall) apply(p *pact, dir core.Direction) bool {
	_, wanted := p.expectedBy(dir)
	if p.at >= len(f.objects) || f.objects[p.at].name != p.target {
		return false
	}
	f.objects[p.at].descr = wanted.descr
	return true
}

// carry predicts a whole run after its acquisition.
func (w *world) carry(p *pact, dir core.Direction, tr trouble) core.State {
	proven, success := core.Failed, core.Verified
	if dir == core.Backward {
		proven, success = core.RollbackFailed, core.RolledBack
	}
	expected, wanted := p.expectedBy(dir)
	unsent := proven // what this run's not having sent anything proves
	if p.resumed {
		unsent = core.Reconciliation
	}

	tr.strike(beforeReread, w)
	at, err := w.live.find(p.target)
	drifted := tr.when == beforeReread && tr.kind != "" || err != nil || w.live.objects[at] != expected || at != p.at
	tr.strike(beforeSend, w) // also where nothing will be sent
	if drifted {
		return unsent
	}
	if tr.when == beforeSend && tr.kind != "" {
		return unsent // no connection
	}
	w.arrive(p, dir)
	if tr.when == atSend {
		switch effect := effectOf(tr.kind); effect {
		case lostBefore:
			return core.Reconciliation
		case lostAfter:
			w.live.apply(p, dir)
			return core.Reconciliation
		case writesLate:
			w.late = &lateWrite{due: w.now.Add(tr.late), lands: w.live.clone()}
			w.late.lands.apply(p, dir)
			return core.Reconciliation
		case refusesKey:
			w.keyRefused = true
			return proven
		case turnsReadOnly:
			w.live.readOnly = true
			return proven
		case refuses, changesNothing:
			return proven
		}
	} else if _, err := w.live.find(p.target); err == core.ErrTargetDuplicate {
		// The firewall refuses what is not unique, with an answer that is not
		// on the list of proofs.
		return core.Reconciliation
	} else if !w.live.apply(p, dir) {
		return proven
	}
	tr.strike(beforeReadBack, w)
	at, err = w.live.find(p.target)
	switch {
	case tr.when == atReadBack, err != nil, at != p.at:
		return core.Reconciliation
	case w.live.objects[at] == wanted:
		return success
	case w.live.objects[at] == expected:
		return proven
	}
	p.partial = true
	return core.Reconciliation
}

// landed: the time has come for a late write, if there is one.
func (w *world) landed() bool {
	if w.late == nil || w.now.Before(w.late.due) {
		return false
	}
	w.live, w.late = w.late.lands, nil
	return true
}
