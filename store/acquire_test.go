package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"countersign/core"
)

const heldSettle = 2 * time.Minute

// sends are the four ways a request may leave, each made ready on target
// "held" before anything else is under way. plan is what came before the
// last check, and send makes that check.
func sends() map[string]func(r *rig) func() error {
	verified := func(r *rig) core.Contract { return r.seal(r.acquire(r.confirm(r.create("held", "held", "held")))) }
	return map[string]func(r *rig) func() error{
		"Acquire": func(r *rig) func() error {
			c := r.confirm(r.create("held", "held", "held"))
			_, err := r.PlanAcquisition(r.ctx, c.ID, c.StateVersion)
			r.must(err)
			return func() error { _, err := r.Acquire(r.ctx, c.ID, c.StateVersion); return err }
		},
		"AcquireRollback": func(r *rig) func() error {
			c := verified(r)
			a := r.approval(core.ApproveRollback, c)
			return func() error { _, err := r.AcquireRollback(r.ctx, c.ID, a, acceptAll{}); return err }
		},
		"ResumeRollback": func(r *rig) func() error {
			c := r.move(r.rollBack(verified(r)), core.Reconciliation)
			r.clock.add(heldSettle) // its own send has settled
			a := r.approval(core.ApproveResume, c)
			return func() error { _, err := r.ResumeRollback(r.ctx, c.ID, a, acceptAll{}); return err }
		},
		"RecordLoad": func(r *rig) func() error {
			c := verified(r)
			return func() error {
				return r.RecordLoad(r.ctx, core.LoadRecord{ContractID: c.ID, Direction: core.Forward,
					Subsystem: core.Firewall, Claim: core.LoadAsked, Actor: "jo"})
			}
		},
	}
}

// Whatever was checked earlier, the transaction that lets a request go checks
// again: another send that began meanwhile, or one whose outcome is in doubt
// since, refuses it (design section 4, rules 2 and 4). The other is a
// rollback, which needs no number of the anchor, so it can begin between the
// plan and the acquisition of the first.
func TestEverySendIsCheckedWhereItGoes(t *testing.T) {
	for name, ready := range sends() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Settle = heldSettle })
			other := r.seal(r.acquire(r.confirm(r.create("other", "other", "other"))))
			send := ready(r)
			other = r.rollBack(other)
			refuse := func(when string, want error) {
				t.Helper()
				before := everything(t, r.readers)
				if err := send(); !errors.Is(err, want) {
					t.Fatalf("%s: got %v, want %v", when, err, want)
				}
				if everything(t, r.readers) != before {
					t.Fatalf("%s: the refusal left something behind", when)
				}
			}
			refuse("while another is under way", core.ErrLimit)
			r.move(other, core.Reconciliation)
			refuse("while another may still be writing", core.ErrSettling)
			r.clock.add(heldSettle - time.Microsecond)
			refuse("one microsecond early", core.ErrSettling)
			r.clock.add(time.Microsecond)
			r.must(send())
			r.check()
		})
	}
}

// The same with the other's forward send: the number rule lets it acquire
// only after the first one's plan was withdrawn, and the limit still speaks
// first.
func TestPlannedContractMeetsAnotherAcquisition(t *testing.T) {
	r := newRig(t, nil)
	a, b := r.confirm(r.create("a", "a", "a")), r.confirm(r.create("b", "b", "b"))
	mark, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion)
	r.must(err)
	if _, err := r.PlanAcquisition(r.ctx, b.ID, b.StateVersion); !errors.Is(err, core.ErrNumberTaken) {
		t.Fatalf("two plans for one number: %v", err)
	}
	r.must(r.WithdrawAdvance(r.ctx, mark+1))
	b = r.acquire(b)
	if _, err := r.Acquire(r.ctx, a.ID, a.StateVersion); !errors.Is(err, core.ErrLimit) {
		t.Errorf("acquire: got %v, want %v", err, core.ErrLimit)
	}
	if _, err := r.PlanAcquisition(r.ctx, a.ID, a.StateVersion); !errors.Is(err, core.ErrLimit) {
		t.Errorf("plan: got %v, want %v", err, core.ErrLimit)
	}
	r.seal(b)
	r.acquire(a)
	r.check()
}

const (
	flightRounds = 12
	flightTime   = time.Millisecond // long enough for the other to meet it
)

// playFlightChild carries changes of its own targets through, forth and
// back, as soon as it is let.
func playFlightChild(args []string) int {
	r, err := crashRig(args[0], nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer r.Close()
	for round := range flightRounds {
		if err := r.fly(flightID(args[1], round)); err != nil {
			fmt.Println(err)
			return 1
		}
		time.Sleep(4 * flightTime) // or the other would hardly ever get a turn
	}
	return 0
}

func flightID(name string, round int) string { return name + "-" + strconv.Itoa(round) }

func (r *rig) fly(id string) error {
	c, err := r.Load(r.ctx, id)
	if err != nil {
		return err
	}
	err = whenLet(func() error {
		if _, err := r.PlanAcquisition(r.ctx, id, c.StateVersion); err != nil {
			return err
		}
		sent, err := r.Acquire(r.ctx, id, c.StateVersion)
		if err == nil {
			c = sent
		}
		return err
	})
	time.Sleep(flightTime)
	if err == nil {
		c, err = r.SealVerified(r.ctx, id, c.StateVersion, testDigest("after", id), c.LifecycleLocator, core.Note{})
	}
	if err != nil {
		return err
	}
	err = whenLet(func() error {
		back, err := r.AcquireRollback(r.ctx, id, r.approval(core.ApproveRollback, c), acceptAll{})
		if err == nil {
			c = back
		}
		return err
	})
	time.Sleep(flightTime)
	if err == nil {
		_, err = r.SealRolledBack(r.ctx, id, c.StateVersion, c.LifecycleLocator, core.Note{})
	}
	return err
}

// whenLet tries until no other send and no other plan is in the way.
func whenLet(try func() error) error {
	for {
		if err := try(); !errors.Is(err, core.ErrLimit) && !errors.Is(err, core.ErrNumberTaken) {
			return err
		}
		time.Sleep(flightTime)
	}
}

// Two processes with targets of their own and MaxInFlight 1: the chain, which
// has one order for the whole store, never shows two of them in flight.
func TestTwoProcessesOneInFlight(t *testing.T) {
	r := newRig(t, nil)
	names := []string{"a", "b"}
	for _, name := range names {
		for round := range flightRounds {
			id := flightID(name, round)
			r.confirm(r.create(id, id, id))
		}
	}
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	var wait sync.WaitGroup
	for _, name := range names {
		wait.Add(1)
		go func() {
			defer wait.Done()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = child("flight", r.opts.Path, name).Env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", name, err, out)
				stop() // the other would wait for this one's number for ever
			}
		}()
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	rows, err := r.readers.Query("SELECT contract_id, current_state FROM audit_events ORDER BY sequence")
	r.must(err)
	defer rows.Close()
	flying, flights, turns, last := map[string]bool{}, 0, 0, ""
	for rows.Next() {
		var id, state string
		r.must(rows.Scan(&id, &state))
		if delete(flying, id); !core.State(state).InFlight() {
			continue
		}
		flying[id] = true
		flights++
		if len(flying) > 1 {
			t.Fatalf("in flight at once: %v", flying)
		}
		if id[:1] != last {
			last = id[:1]
			turns++
		}
	}
	r.must(rows.Err())
	if want := len(names) * flightRounds * 2; flights != want {
		t.Fatalf("%d sends were seen, want %d", flights, want)
	}
	r.check()
	t.Logf("%d sends of two processes, never two at once, in %d turns", flights, turns)
}
