package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/canon/canontest"
	"countersign/core"
)

// opsScenario is one scenario of store_ops.json or rate_policy.json.
type opsScenario struct {
	Name        string
	Validity    int64
	AnchorStart *uint64 `json:"anchor_start"`
	Limits      *struct {
		InFlight int `json:"max_global_in_flight"`
		Prepared int `json:"max_outstanding_prepared_per_target"`
		Cooldown int `json:"target_cooldown_seconds"`
		Lockout  int `json:"reconciliation_lockout_threshold"`
	}
	Steps []opsStep
}

type opsStep struct {
	Op        string
	Contract  string
	Target    string
	Intent    string
	Operation string
	To        core.State
	At        *int64
	NowAt     *int64 `json:"now_at"`
	CreatedAt *int64 `json:"created_at"`
	Validity  int64
	Version   *int64
	Expected  *int64     `json:"expected_version"`
	From      core.State `json:"expected_state"`
	Locator   *int64
	Outcome   core.Outcome
	Value     uint64
	Anchor    *uint64
	Mark      *uint64

	Result   string
	State    core.State
	Blocking string
	History  []string
	Events   [][]*string
	Moved    []string `json:"moved_to_reconciliation"`
}

// replay drives one scenario against a fresh store.
type replay struct {
	*rig
	scenario opsScenario
	anchorAt uint64
}

func newReplay(t *testing.T, s opsScenario) *replay {
	r := &replay{scenario: s}
	r.rig = newRig(t, func(o *Options) {
		o.Limits = core.Limits{MaxInFlight: 9, MaxPreparedPerTarget: -1, ReconciliationThreshold: -1}
		if l := s.Limits; l != nil {
			o.Limits = core.Limits{MaxInFlight: l.InFlight, MaxPreparedPerTarget: l.Prepared,
				TargetCooldown: time.Duration(l.Cooldown) * time.Second, ReconciliationThreshold: l.Lockout}
		}
	})
	if s.AnchorStart != nil {
		r.anchorAt = *s.AnchorStart
	}
	return r
}

// insertPreparing is AuthorizeAndCreate without the step to PREPARED, which
// the reference takes by itself.
func (r *rig) insertPreparing(c core.Contract) error {
	creation := r.creation(c)
	return r.write(r.ctx, "create", func(t *tx) error {
		if err := t.checkMayCreate(creation); err != nil {
			return err
		}
		_, err := t.begin(creation.Contract, core.Note{})
		return err
	})
}

// class names an error as the cases do.
func class(err error) string {
	var limit *LimitError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &limit):
		return "refused:" + string(limit.Limit)
	case errors.Is(err, core.ErrNotFound):
		return "not_found"
	case errors.Is(err, core.ErrIllegalTransition):
		return "illegal_transition"
	case errors.Is(err, core.ErrRolledBackStore):
		return "whole_store_rollback"
	case errors.Is(err, core.ErrInvalid):
		return "validation"
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrBlocked):
		return "conflict"
	}
	return err.Error()
}

func (r *replay) do(s opsStep) string {
	if s.At != nil {
		r.clock.at(time.Duration(*s.At) * time.Second)
	} else {
		r.clock.at(0)
	}
	switch s.Op {
	case "create":
		return class(r.insertPreparing(r.contractOf(s)))
	case "transition":
		return class(r.transitionTo(s, s.To))
	case "prepared", "executing", "failed", "verified", "rolling_back", "rollback_failed", "reconciliation", "expired":
		return class(r.transitionTo(s, core.State(s.Op)))
	case "confirm":
		return class(r.confirmStep(s))
	case "seal", "seal_rollback":
		return class(r.sealStep(s))
	case "resolve":
		return class(r.resolveStep(s))
	case "expire_prepared":
		return class(r.expireStep(s))
	case "provision":
		return r.provisionStep(s)
	}
	return r.observe(s)
}

func (r *replay) contractOf(s opsStep) core.Contract {
	validity := r.scenario.Validity
	if validity == 0 {
		validity = 3600
	}
	if s.Validity != 0 {
		validity = s.Validity
	}
	created := r.clock.Now()
	if s.CreatedAt != nil {
		created = testStart.Add(time.Duration(*s.CreatedAt) * time.Second)
	}
	intent := s.Intent
	if r.scenario.Limits != nil {
		intent = s.Contract // the rate cases give targets only
	}
	c := testContract(s.Contract, s.Target, intent, created, time.Duration(validity)*time.Second)
	if s.Operation != "" {
		c.OperationID = s.Operation
	}
	return c
}

// current loads a contract and the version that a step names or sees.
func (r *replay) current(s opsStep) (core.Contract, int64, error) {
	c, err := r.Load(r.ctx, s.Contract)
	version := c.StateVersion
	if s.Expected != nil {
		version = *s.Expected
	}
	return c, version, err
}

func (r *replay) transitionTo(s opsStep, to core.State) error {
	c, version, err := r.current(s)
	if err != nil {
		return err
	}
	if s.From != "" { // the cases' generic call names the state it expects, ours only the version
		if err := core.CheckGenericEdge(s.From, to); err != nil {
			return err
		}
	}
	switch {
	case to == core.Executing:
		return r.execute(c, version)
	case to == core.Verified && r.scenario.Limits != nil:
		return r.sealStep(s)
	case to == core.RollingBack && c.State != core.Reconciliation:
		_, err = r.AcquireRollback(r.ctx, c.ID, r.approval(core.ApproveRollback, c), acceptAll{})
		return err
	}
	_, err = r.transition(r.ctx, c.ID, version, to, core.Note{})
	return err
}

// execute does what the engine does: plan, compare and advance the anchor, acquire.
func (r *replay) execute(c core.Contract, version int64) error {
	mark, err := r.PlanAcquisition(r.ctx, c.ID, version)
	if err != nil {
		return err
	}
	if mark != r.anchorAt {
		return core.ErrRolledBackStore
	}
	r.anchorAt++
	_, err = r.Acquire(r.ctx, c.ID, version)
	return err
}

func (r *replay) confirmStep(s opsStep) error {
	c, version, err := r.current(s)
	if err != nil {
		return err
	}
	e := core.NewConfirmationEvidence(c, "owner", "hmac-v1", "nonce-1", c.CreatedAt)
	e.Proof = []byte("yes")
	_, err = r.Confirm(r.ctx, c.ID, version, e, acceptAll{})
	return err
}

func (r *replay) sealStep(s opsStep) error {
	c, version, err := r.current(s)
	if err != nil {
		return err
	}
	locator := c.LifecycleLocator
	if s.Locator != nil {
		locator = *s.Locator
	}
	if s.Op == "seal_rollback" {
		_, err = r.SealRolledBack(r.ctx, c.ID, version, locator, core.Note{})
	} else {
		_, err = r.SealVerified(r.ctx, c.ID, version, testDigest("after", c.ID), locator, core.Note{})
	}
	return err
}

func (r *replay) resolveStep(s opsStep) error {
	c, _, err := r.current(s)
	if err != nil {
		return err
	}
	outcome := s.Outcome
	if outcome == "" {
		outcome = core.ConfirmedNotApplied
	}
	_, err = r.Resolve(r.ctx, c.ID, r.evidence(c, outcome), acceptAll{})
	return err
}

func (r *replay) expireStep(s opsStep) error {
	c, version, err := r.current(s)
	if err != nil {
		return err
	}
	_, err = r.ExpirePrepared(r.ctx, c.ID, version)
	return err
}

func (r *replay) provisionStep(s opsStep) string {
	err := r.ProvisionAnchor(r.ctx, "0x01500000", s.Value)
	if errors.Is(err, core.ErrConflict) {
		return "AnchorAlreadyProvisionedError"
	}
	return class(err)
}

// observe runs a step that only looks, and compares what it sees.
func (r *replay) observe(s opsStep) string {
	switch s.Op {
	case "find":
		c, _, err := r.current(s)
		r.must(err)
		found, err := r.FindByIdempotencyKey(r.ctx, c.IdempotencyKey)
		r.must(err)
		if found == nil || found.ID != s.Blocking {
			r.t.Errorf("blocking %v, want %s", found, s.Blocking)
		}
	case "history":
		c, _, err := r.current(s)
		r.must(err)
		checkKey(r.t.(*testing.T), r.Store, c.IdempotencyKey.String(), r.blockingOf(c), s.History)
	case "state":
		_, err := r.Load(r.ctx, s.Contract)
		return class(err)
	case "events":
		r.observeEvents(s)
	case "restart":
		r.reopen()
		moved, err := r.RecoverInterrupted(r.ctx)
		r.must(err)
		var ids []string
		for _, c := range moved {
			ids = append(ids, c.ID)
		}
		if !slices.Equal(ids, s.Moved) {
			r.t.Errorf("moved %v, want %v", ids, s.Moved)
		}
	case "anchor":
		h, err := r.Health(r.ctx)
		r.must(err)
		if r.anchorAt != *s.Anchor || h.Mark != *s.Mark {
			r.t.Errorf("anchor %d, mark %d; want %d, %d", r.anchorAt, h.Mark, *s.Anchor, *s.Mark)
		}
	default:
		r.t.Fatalf("unknown step %q", s.Op)
	}
	return "ok"
}

func (r *replay) blockingOf(c core.Contract) *string {
	found, err := r.FindByIdempotencyKey(r.ctx, c.IdempotencyKey)
	r.must(err)
	if found == nil {
		return nil
	}
	return &found.ID
}

func (r *replay) observeEvents(s opsStep) {
	events, err := r.Timeline(r.ctx, s.Contract)
	r.must(err)
	if len(events) != len(s.Events) {
		r.t.Fatalf("%d events, want %d", len(events), len(s.Events))
	}
	for i, e := range events {
		want, previous := s.Events[i], ""
		if want[1] != nil {
			previous = *want[1]
		}
		if string(e.Type) != *want[0] || string(e.Previous) != previous || string(e.Current) != *want[2] {
			r.t.Errorf("event %d is %+v", i, e)
		}
	}
}

// deviation is a step at which ours decides otherwise than the reference, or
// at another time.
type deviation struct {
	result, why string
	at          int64 // seconds; 0 keeps the step's time
}

// deviations by scenario and step.
var deviations = map[string]map[int]deviation{
	"second attempt while the first is expired": {
		2: {"ok", "lesson 21: run when it has expired, not before", 300},
		3: {"ok", "after that", 301}, 4: {"ok", "after that", 301}, 5: {"ok", "after that", 301}},
	"expire_prepared: the caller gives the time (reference)": {
		2: {"conflict", "lesson 21: the store's own clock decides", 0}},
	"generic transition to expired before expiry (reference allows it)": {
		3: {"conflict", "lesson 21: a contract expires only when it has expired", 0},
		4: {"conflict", "it therefore still blocks", 0}},
	"preparing does not count as outstanding": {
		1: {"refused:outstanding_prepared", "lesson 16: PREPARING counts", 0},
		3: {"not_found", "b was not created", 0}},
	"expired starts no cooldown": {
		2: {"conflict", "lesson 21: a contract expires only when it has expired", 0},
		3: {"refused:outstanding_prepared", "it therefore is still outstanding", 0}},
	"rolling back counts as in flight but is not itself limited": {
		9: {"refused:in_flight", "lesson 16: a rollback is limited as well", 0}},
}

func replayFile(t *testing.T, file string) {
	var cases struct{ Scenarios []opsScenario }
	canontest.Load(t, file, &cases)
	steps, different := 0, 0
	for _, s := range cases.Scenarios {
		steps += len(s.Steps)
		t.Run(s.Name, func(t *testing.T) {
			r := newReplay(t, s)
			for i, step := range s.Steps {
				want := step.Result
				if d, deviates := deviations[s.Name][i]; deviates {
					want = d.result
					if d.at != 0 {
						step.At = &d.at
					}
					different++
					t.Logf("step %d deviates (%s): %s", i, d.why, want)
				}
				if got := r.do(step); got != want {
					t.Fatalf("step %d %s %s: %s, want %s", i, step.Op, step.Contract, got, want)
				}
				r.checkState(step, want)
			}
			r.check()
		})
	}
	canontest.Ran(t, file, map[string]int{"scenarios": len(cases.Scenarios), "scenarios.*.steps": steps})
	t.Logf("%s: %d steps are decided otherwise by the lessons", file, different)
}

func (r *replay) checkState(step opsStep, result string) {
	if result != "ok" || step.State == "" && step.Version == nil {
		return
	}
	c, err := r.Load(r.ctx, step.Contract)
	r.must(err)
	if step.State != "" && c.State != step.State {
		r.t.Fatalf("%s is %s, want %s", step.Contract, c.State, step.State)
	}
	if step.Version != nil && c.StateVersion != *step.Version {
		r.t.Fatalf("%s has version %d, want %d", step.Contract, c.StateVersion, *step.Version)
	}
}

func TestConformanceStoreOps(t *testing.T) {
	t.Parallel()
	replayFile(t, "store_ops.json")
}

func TestConformanceRatePolicy(t *testing.T) { replayFile(t, "rate_policy.json") }

// A deviation must name a case that exists, or it hides one that was renamed.
func TestConformanceDeviationsExist(t *testing.T) {
	var all []string
	for _, file := range []string{"store_ops.json", "rate_policy.json"} {
		var cases struct{ Scenarios []opsScenario }
		canontest.Load(t, file, &cases)
		for _, s := range cases.Scenarios {
			all = append(all, s.Name)
		}
	}
	for name := range deviations {
		if !slices.Contains(all, name) {
			t.Errorf("no case is named %q in %s", name, strings.Join(all, ", "))
		}
	}
}
