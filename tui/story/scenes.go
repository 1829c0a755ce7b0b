package story

import (
	"fmt"
	"time"

	"countersign/core"
)

// Scene is one story with its required end.
type Scene struct {
	Name string
	Ends string // what must be true at its end, in words
	play func(*told) error
}

// Scenes lists the eight scenes in their order.
func Scenes() []Scene {
	return []Scene{
		{"verified", "VERIFIED after one send", verified},
		{"rollback", "ROLLED_BACK after one send, and the old value is on the appliance", rollback},
		{"lost-response", "the answer was lost, an operator concluded, and there was one send", lostResponse},
		{"drift", "another admin was first: FAILED, nothing sent", drift},
		{"duplicate", "one attempt at a time, and an authorization works once", duplicate},
		{"wrong-passphrase", "refused, and the contract is still PREPARED", wrongPassphrase},
		{"restart", "killed before the send: RECONCILIATION, nothing sent", restart},
		{"tamper", "one changed byte: the record is quarantined and nothing acts on it", tamper},
	}
}

// The alias that the scenes change, and its new description.
const (
	alias  = "web_servers"
	wanted = "Public web, new DC (CHG-1042)"
)

func verified(t *told) error {
	id, err := t.verified(alias, wanted)
	if err != nil {
		return err
	}
	return all(
		func() error { return t.mustHaveSent(1) },
		func() error { return t.mustDescribe(alias, wanted) },
		func() error { return t.say("check", id, "the new description is on the appliance") },
	)
}

func rollback(t *told) error {
	old := t.AliasDescription(alias)
	tell := t.tell
	t.tell = quiet{}
	id, err := t.verified(alias, wanted)
	t.tell = tell
	if err != nil {
		return err
	}
	t.begin()
	return all(
		func() error {
			return t.say("verified", id, "the change is on the appliance; from here on sends are counted")
		},
		func() error { return t.rollBack(id) },
		func() error { return t.mustBe(id, core.RolledBack) },
		func() error { return t.mustHaveSent(1) },
		func() error { return t.mustDescribe(alias, old) },
		func() error {
			return t.say("check", id, "the old description is on the appliance")
		},
	)
}

func lostResponse(t *told) error {
	id, err := t.confirmed(alias, wanted)
	if err != nil {
		return err
	}
	t.LoseNextAnswer()
	if err := t.execute(id); err != nil {
		return err
	}
	if err := t.mustBe(id, core.Reconciliation); err != nil {
		return err
	}
	seen, err := t.Engine().Observe(t.ctx, id)
	if err != nil {
		return err
	}
	operator, passphrase := t.Operator()
	return all(
		func() error { return t.say("observe", id, "a fresh reading shows the intended state") },
		func() error {
			return t.Engine().Reconcile(t.ctx, id, core.ConfirmedApplied, seen, operator, passphrase)
		},
		func() error { return t.say("conclude", id, string(core.ConfirmedApplied)+", signed by "+operator) },
		func() error { return t.mustBe(id, core.Verified) },
		func() error { return t.mustHaveSent(1) },
	)
}

func drift(t *told) error {
	id, err := t.confirmed(alias, wanted)
	if err != nil {
		return err
	}
	t.EditAlias(alias, "edited by somebody else")
	return all(
		func() error { return t.say("other admin", id, "the description was edited after the confirmation") },
		func() error { return t.execute(id) },
		func() error { return t.mustBe(id, core.Failed) },
		func() error { return t.mustHaveSent(0) },
		func() error { return t.mustDescribe(alias, "edited by somebody else") },
	)
}

func duplicate(t *told) error {
	first, err := t.draft(alias, wanted)
	if err != nil {
		return err
	}
	spent, err := t.SignOffHost(first)
	if err != nil {
		return err
	}
	second, err := t.SignOffHost(first)
	if err != nil {
		return err
	}
	operator, passphrase := t.Operator()
	id, err := t.Engine().AuthorizeFromInbox(t.ctx, first, spent, operator)
	if err != nil {
		return err
	}
	if err := t.say("authorize", id, "authorization signed off-host, consumed"); err != nil {
		return err
	}
	if err := t.attemptIsRefused("second", id, second, core.ErrBlocked, "a second authorization is refused before it is consumed"); err != nil {
		return err
	}
	if err := t.Engine().Confirm(t.ctx, id, alias, operator, passphrase); err != nil {
		return err
	}
	return all(
		func() error { return t.execute(id) },
		func() error { return t.mustBe(id, core.Verified) },
		func() error { return t.rollBack(id) },
		func() error { return t.mustBe(id, core.RolledBack) },
		func() error { return t.afterRollback(id, spent, second) },
	)
}

// afterRollback: the spent authorization stays spent, the other one works.
func (t *told) afterRollback(id string, spent, second core.Authorization) error {
	t.Elapse(2 * time.Minute) // the target's cool-down
	if err := t.attemptIsRefused("spent", id, spent, core.ErrSpent, "the first authorization is refused"); err != nil {
		return err
	}
	d, err := t.draft(alias, wanted)
	if err != nil {
		return err
	}
	operator, _ := t.Operator()
	again, err := t.Engine().AuthorizeFromInbox(t.ctx, d, second, operator)
	if err != nil {
		return fmt.Errorf("the fresh authorization was refused: %w", err)
	}
	return t.say("fresh", again, "the second authorization, never consumed, is accepted")
}

// attemptIsRefused makes the same change as a new request of its own.
func (t *told) attemptIsRefused(step, id string, a core.Authorization, class error, detail string) error {
	d, err := t.draft(alias, wanted)
	if err != nil {
		return err
	}
	operator, _ := t.Operator()
	_, err = t.Engine().AuthorizeFromInbox(t.ctx, d, a, operator)
	return t.refused(step, id, err, class, detail)
}

func wrongPassphrase(t *told) error {
	id, err := t.prepared(alias, wanted)
	if err != nil {
		return err
	}
	operator, _ := t.Operator()
	err = t.Engine().Confirm(t.ctx, id, alias, operator, []byte("not the passphrase"))
	return all(
		func() error {
			return t.refused("confirm", id, err, core.ErrWrongPassphrase, "the confirmation is refused")
		},
		func() error { return t.mustBe(id, core.Prepared) },
		func() error { return t.mustHaveSent(0) },
	)
}

func restart(t *told) error {
	id, err := t.confirmed(alias, wanted)
	if err != nil {
		return err
	}
	report, err := t.ExecuteAndDie(t.ctx, id)
	if err != nil {
		return err
	}
	if len(report.Recovered) != 1 || report.Recovered[0].ContractID != id {
		return fmt.Errorf("the next start recovered %d contracts, not this one", len(report.Recovered))
	}
	return all(
		func() error {
			return t.say("killed", id, "the process died between acquisition and send; the next start says so")
		},
		func() error { return t.mustBe(id, core.Reconciliation) },
		func() error { return t.mustHaveSent(0) },
	)
}

func tamper(t *told) error {
	id, err := t.confirmed(alias, wanted)
	if err != nil {
		return err
	}
	report, err := t.FlipRecordByte(t.ctx, id)
	if err != nil {
		return err
	}
	if len(report.Quarantined) != 1 || report.Quarantined[0].ContractID != id {
		return fmt.Errorf("the next start quarantined %d records, not this one", len(report.Quarantined))
	}
	if err := t.say("tampered", id, "quarantined: "+report.Quarantined[0].Reason); err != nil {
		return err
	}
	operator, passphrase := t.Operator()
	for _, attempt := range []struct {
		step string
		err  error
	}{
		{"execute", t.Engine().Execute(t.ctx, id)},
		{"rollback", t.Engine().Rollback(t.ctx, id, operator, passphrase)},
		{"decline", t.Engine().Decline(t.ctx, id, operator, passphrase)},
	} {
		if err := t.refused(attempt.step, id, attempt.err, core.ErrQuarantined, "refused"); err != nil {
			return err
		}
	}
	return t.mustHaveSent(0)
}
