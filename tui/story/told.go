package story

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/core"
)

// told is a bench that tells what it does.
type told struct {
	Bench
	ctx   context.Context
	scene string
	tell  Teller
	// before is what the appliance had received when the scene proper began.
	before int
	// last is the contract that the scene is about.
	last string
}

// sends is how many changes the appliance has received in this scene.
func (t *told) sends() int { return t.Sends() - t.before }

// begin counts sends from here on: what came before only set the scene.
func (t *told) begin() { t.before = t.Sends() }

// say tells one step with the contract's state as it is on disk now.
func (t *told) say(step, contractID, detail string) error {
	s := Step{Scene: t.scene, Step: step, Contract: contractID, Sends: t.sends(), Detail: detail}
	if contractID != "" {
		t.last = contractID
		if d, err := t.Engine().Detail(t.ctx, contractID); err == nil {
			s.State = strings.ToUpper(string(d.Contract.State))
		} else if errors.Is(err, core.ErrQuarantined) {
			s.State = "QUARANTINED"
		}
	}
	return t.tell.Tell(s)
}

const aliasDescription = "FIREWALL_ALIAS_DESCRIPTION"

// draft prepares a new description for an alias.
func (t *told) draft(alias, description string) (core.Draft, error) {
	d, err := t.Engine().Prepare(t.ctx, aliasDescription, core.Object{"alias_name": alias, "description": description}, "")
	if err != nil {
		return d, err
	}
	return d, t.say("draft", "", fmt.Sprintf("alias %s, description: prepared from a fresh reading", alias))
}

// prepared drafts and authorizes a change.
func (t *told) prepared(alias, description string) (string, error) {
	d, err := t.draft(alias, description)
	if err != nil {
		return "", err
	}
	operator, passphrase := t.Operator()
	id, err := t.Engine().Authorize(t.ctx, d, operator, passphrase)
	if err != nil {
		return "", err
	}
	return id, t.say("authorize", id, "one-shot authorization consumed, contract created")
}

// confirmed drafts, authorizes and confirms a change.
func (t *told) confirmed(alias, description string) (string, error) {
	id, err := t.prepared(alias, description)
	if err != nil {
		return "", err
	}
	operator, passphrase := t.Operator()
	if err := t.Engine().Confirm(t.ctx, id, alias, operator, passphrase); err != nil {
		return "", err
	}
	return id, t.say("confirm", id, "confirmed by "+operator)
}

// execute sends a contract and waits for the end of the run.
func (t *told) execute(id string) error {
	done, err := t.run(id, func() error { return t.Engine().Execute(t.ctx, id) })
	if err != nil {
		return err
	}
	return t.say("execute", id, done.Sentence)
}

// verified carries a change all the way.
func (t *told) verified(alias, description string) (string, error) {
	id, err := t.confirmed(alias, description)
	if err != nil {
		return "", err
	}
	if err := t.execute(id); err != nil {
		return "", err
	}
	return id, t.mustBe(id, core.Verified)
}

// rollBack rolls a verified contract back and waits.
func (t *told) rollBack(id string) error {
	operator, passphrase := t.Operator()
	done, err := t.run(id, func() error { return t.Engine().Rollback(t.ctx, id, operator, passphrase) })
	if err != nil {
		return err
	}
	return t.say("rollback", id, done.Sentence)
}

// run starts something and waits for its last progress.
func (t *told) run(id string, start func() error) (core.Progress, error) {
	progress, stop := t.Engine().Subscribe()
	defer stop()
	if err := start(); err != nil {
		return core.Progress{}, err
	}
	for {
		select {
		case <-t.ctx.Done():
			return core.Progress{}, t.ctx.Err()
		case p := <-progress:
			if p.ContractID == id && p.Done {
				return p, p.Err
			}
		}
	}
}

func (t *told) mustBe(id string, want core.State) error {
	d, err := t.Engine().Detail(t.ctx, id)
	if err != nil {
		return err
	}
	if got := d.Contract.State; got != want {
		return fmt.Errorf("the contract is %s, not %s", got, want)
	}
	return nil
}

func (t *told) mustHaveSent(want int) error {
	if got := t.sends(); got != want {
		return fmt.Errorf("the appliance received %d changes, not %d", got, want)
	}
	return nil
}

func (t *told) mustDescribe(alias, want string) error {
	if got := t.AliasDescription(alias); got != want {
		return errors.New("the description on the appliance is another one")
	}
	return nil
}

// refused requires an error of a class and tells it.
func (t *told) refused(step, id string, err, class error, detail string) error {
	if !errors.Is(err, class) {
		return fmt.Errorf("got %w, not a refusal of class %q", errOr(err), class)
	}
	return t.say(step, id, detail+": "+class.Error())
}

func errOr(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// all runs checks in order and stops at the first that fails.
func all(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}
