package store

import (
	"testing"
	"time"

	"countersign/canon/canontest"
	"countersign/core"
)

// inState makes a contract in a state.
func (r *rig) inState(s core.State) core.Contract {
	r.t.Helper()
	executing := func() core.Contract { return r.acquire(r.confirm(r.create("c-1", "t", "i"))) }
	var c core.Contract
	var err error
	switch s {
	case core.Preparing:
		c = testContract("c-1", "t", "i", r.clock.Now(), testValidity)
		err = r.insertPreparing(c)
	case core.Prepared:
		c = r.create("c-1", "t", "i")
	case core.Executing:
		c = executing()
	case core.Failed, core.Reconciliation:
		c = r.move(executing(), s)
	case core.Verified:
		c = r.seal(executing())
	case core.RollingBack:
		c = r.rollBack(r.seal(executing()))
	case core.RollbackFailed:
		c = r.move(r.inState(core.RollingBack), s)
	case core.RolledBack:
		c = r.inState(core.RollingBack)
		c, err = r.SealRolledBack(r.ctx, c.ID, c.StateVersion, c.LifecycleLocator, core.Note{})
	case core.Expired:
		c = r.create("c-1", "t", "i")
		r.clock.add(testValidity)
		c, err = r.ExpirePrepared(r.ctx, c.ID, c.StateVersion)
	}
	r.must(err)
	if c.State != s {
		r.t.Fatalf("no way to %s: %s", s, c.State)
	}
	return c
}

// mustRefuse calls something that must not change the contract.
func (r *rig) mustRefuse(c core.Contract, what string, err error) {
	r.t.Helper()
	now, loadErr := r.Load(r.ctx, c.ID)
	r.must(loadErr)
	if err == nil || now.State != c.State || now.StateVersion != c.StateVersion {
		r.t.Errorf("%s in %s: %v; it is now %s", what, c.State, err, now.State)
	}
}

func (r *rig) mustRefuseTransition(c core.Contract, to core.State) {
	r.t.Helper()
	_, err := r.Transition(r.ctx, c.ID, c.StateVersion, to, core.Note{})
	r.mustRefuse(c, "transition to "+string(to), err)
}

func (r *rig) sealVerified(c core.Contract, locator int64) (core.Contract, error) {
	return r.SealVerified(r.ctx, c.ID, c.StateVersion, testDigest("after", c.ID), locator, core.Note{})
}

func (r *rig) sealRolledBack(c core.Contract, locator int64) (core.Contract, error) {
	return r.SealRolledBack(r.ctx, c.ID, c.StateVersion, locator, core.Note{})
}

// checkSealed: a state with a proof is entered by no generic transition, by a
// sealing call only from one state and with the unchanged locator, and by one
// conclusion of a person about a loss of certainty in that same state.
func checkSealed(t *testing.T, to, from core.State, seal func(*rig, core.Contract, int64) (core.Contract, error), outcome core.Outcome) {
	for _, s := range core.States() {
		r := newRig(t, nil)
		c := r.inState(s)
		r.mustRefuseTransition(c, to)
		if s != from {
			_, err := seal(r, c, c.LifecycleLocator)
			r.mustRefuse(c, "sealing", err)
		}
		if s != core.Reconciliation {
			_, err := r.Resolve(r.ctx, c.ID, r.evidence(c, outcome), acceptAll{})
			r.mustRefuse(c, "concluding", err)
		}
	}
	r := newRig(t, nil)
	c := r.inState(from)
	_, err := seal(r, c, c.LifecycleLocator+1)
	r.mustRefuse(c, "sealing with another locator", err)
	c, err = seal(r, c, c.LifecycleLocator)
	if err != nil || c.State != to || c.VerifiedTargetFingerprint == nil {
		t.Errorf("sealing from %s: %v, now %s", from, err, c.State)
	}
	r = newRig(t, nil)
	c = r.resolve(r.move(r.inState(from), core.Reconciliation), outcome)
	if c.State != to || c.VerifiedTargetFingerprint == nil {
		t.Errorf("%s leads to %s", outcome, c.State)
	}
	r.check()
}

// storeRules are the cases' rules by the edge they are about.
func storeRules() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"any to verified": func(t *testing.T) {
			checkSealed(t, core.Verified, core.Executing, (*rig).sealVerified, core.ConfirmedApplied)
		},
		"any to rolled_back": func(t *testing.T) {
			checkSealed(t, core.RolledBack, core.RollingBack, (*rig).sealRolledBack, core.ConfirmedRollbackApplied)
		},
		"preparing or prepared, expired, to anything but expired": func(t *testing.T) {
			for _, s := range []core.State{core.Preparing, core.Prepared} {
				r := newRig(t, nil)
				c := r.inState(s)
				r.clock.add(testValidity)
				for _, to := range core.States() {
					r.mustRefuseTransition(c, to) // to EXPIRED as well: ours has no such call for others
				}
				if _, err := r.transition(r.ctx, c.ID, c.StateVersion, core.Expired, core.Note{}); err != nil {
					t.Errorf("an expired contract in %s does not expire: %v", s, err)
				}
			}
		},
		"prepared to executing, unconfirmed or expired": func(t *testing.T) {
			r := newRig(t, nil)
			c := r.inState(core.Prepared)
			r.mustNotAcquire(c, "unconfirmed")
			c = r.confirm(c)
			r.mustRefuseTransition(c, core.Executing) // ours: confirmed as well, an acquisition has its own call
			_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
			r.must(err)
			r.clock.add(testValidity)
			r.mustNotAcquire(c, "expired")
		},
		// The reference cannot get there. Ours has ResumeRollback, an operator's
		// own approval of exactly one more send; no conclusion and no other
		// acquisition leads there.
		"reconciliation to rolling_back": func(t *testing.T) {
			for _, from := range []core.State{core.Executing, core.RollingBack} {
				r := newRig(t, nil)
				c := r.move(r.inState(from), core.Reconciliation)
				r.mustRefuseTransition(c, core.RollingBack)
				_, err := r.AcquireRollback(r.ctx, c.ID, r.approval(core.ApproveRollback, c), acceptAll{})
				r.mustRefuse(c, "acquiring the rollback", err)
				_, err = r.Resolve(r.ctx, c.ID, r.evidence(c, core.ResumeRollback), acceptAll{})
				r.mustRefuse(c, "concluding", err)
			}
		},
	}
}

func (r *rig) mustNotAcquire(c core.Contract, why string) {
	r.t.Helper()
	r.mustRefuseTransition(c, core.Executing)
	_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
	r.mustRefuse(c, "planning, "+why, err)
	_, err = r.Acquire(r.ctx, c.ID, c.StateVersion)
	r.mustRefuse(c, "acquiring, "+why, err)
}

// The generic transition refuses what the reference's refuses, and what it
// refuses is possible only by the calls that the cases name.
func TestConformanceStoreRules(t *testing.T) {
	var file struct {
		Rules []struct {
			Edge    string
			Generic string `json:"generic_transition"`
		} `json:"store_rules"`
	}
	canontest.Load(t, "transitions.json", &file)
	rules := storeRules()
	for _, c := range file.Rules {
		check, known := rules[c.Edge]
		if !known || c.Generic != "refused" {
			t.Errorf("no test knows the rule about %q (generic transition %s)", c.Edge, c.Generic)
			continue
		}
		t.Run(c.Edge, check)
		delete(rules, c.Edge)
	}
	for edge := range rules {
		t.Errorf("the file has no rule about %q", edge)
	}
	canontest.Ran(t, "transitions.json", map[string]int{"store_rules": len(file.Rules)})
}

// rateRules are the cases' rules by their text. Each gets a store with the
// reference's limits.
func rateRules() map[string]func(*rig) {
	mustBe := func(r *rig, err error, want string) {
		r.t.Helper()
		if got := class(err); got != want {
			r.t.Errorf("%s, want %s", got, want)
		}
	}
	create := func(r *rig, id, target string) error {
		_, err := r.AuthorizeAndCreate(r.ctx, r.creation(testContract(id, target, id, r.clock.Now(), testValidity)))
		return err
	}
	return map[string]func(*rig){
		"create: count(state=reconciliation) >= reconciliation_lockout_threshold: refuse": func(r *rig) {
			for _, id := range []string{"a", "b", "c"} {
				mustBe(r, create(r, "before-"+id, "other-"+id), "ok")
				r.move(r.acquire(r.confirm(r.create(id, id, id))), core.Reconciliation)
			}
			mustBe(r, create(r, "d", "d"), "refused:reconciliation_lockout")
		},
		"create: count(target, state=prepared) >= max_outstanding_prepared_per_target: refuse": func(r *rig) {
			mustBe(r, create(r, "a", "t"), "ok")
			mustBe(r, create(r, "b", "t"), "refused:outstanding_prepared")
			mustBe(r, create(r, "c", "another"), "ok")
		},
		"create: now < cooldown_until of the target: refuse": func(r *rig) {
			r.move(r.acquire(r.confirm(r.create("a", "t", "a"))), core.Failed)
			r.clock.add(time.Minute - time.Microsecond)
			mustBe(r, create(r, "b", "t"), "refused:cooldown")
			r.clock.add(time.Microsecond)
			mustBe(r, create(r, "b", "t"), "ok")
		},
		"prepared to executing: count(state in executing, rolling_back) >= max_global_in_flight: refuse": func(r *rig) {
			b := r.confirm(r.create("b", "u", "b"))
			a := r.acquire(r.confirm(r.create("a", "t", "a")))
			mustAcquire := func(want string) {
				_, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion)
				mustBe(r, err, want)
			}
			mustAcquire("refused:in_flight")
			a = r.rollBack(r.seal(a))
			mustAcquire("refused:in_flight")
			r.move(a, core.RollbackFailed)
			mustAcquire("ok")
		},
		"entering a cooldown state: cooldown_until = now + target_cooldown_seconds": func(r *rig) {
			c := r.acquire(r.confirm(r.create("a", "t", "a")))
			r.clock.add(time.Second)
			r.seal(c)
			rows := rawRows(r.t, r.opts.Path, "SELECT cooldown_until FROM rate_cooldowns")
			if want := core.FormatInstant(testStart.Add(61 * time.Second)); len(rows) != 1 || rows[0][0] != want {
				r.t.Errorf("the cool-downs are %v, want one until %s", rows, want)
			}
		},
	}
}

func TestConformanceRateRules(t *testing.T) {
	var file struct {
		Rate struct {
			Checks []struct{ At, Rule string }
		}
	}
	canontest.Load(t, "transitions.json", &file)
	rules := rateRules()
	for _, c := range file.Rate.Checks {
		name := c.At + ": " + c.Rule
		check, known := rules[name]
		if !known {
			t.Errorf("no test knows the rule %q", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Limits = core.DefaultLimits() })
			check(r)
			r.check()
		})
		delete(rules, name)
	}
	for name := range rules {
		t.Errorf("the file has no rule %q", name)
	}
	canontest.Ran(t, "transitions.json", map[string]int{"rate.checks": len(file.Rate.Checks)})
}
