package tui

import (
	"testing"
	"time"

	"countersign/core"
)

const (
	newID  = "aliasdescr-7c1e0000000000000000000000000001"
	doneID = "aliasdescr-9a3b0000000000000000000000000003"
	askID  = "aliasdescr-11110000000000000000000000000001"
)

// An operator drafts a change, authorizes it, confirms it, and watches it
// being sent once and verified.
func TestFlowConfirmAndExecute(t *testing.T) {
	r := begin(t, 80, 24, nil)
	r.sees("No change is under way")
	r.press("n").sees("alias description", "rule enabled or disabled", "nothing is created yet")
	r.press("enter").sees("web_servers", "host, 3 addresses")
	r.press("web", "enter").awaits(`now: "Public web, old DC"`)
	r.press("ctrl+u", "Public web, new DC (CHG-1042)", "enter").awaits("Authorize ·")
	r.sees("ONE attempt", `- "Public web, old DC"`, `+ "Public web, new DC (CHG-1042)"`, "Nothing is sent yet")
	r.called("prepare FIREWALL_ALIAS_DESCRIPTION map[alias_name:web_servers description:Public web, new DC (CHG-1042)] request-1")
	r.press(testPassphrase).lacks(testPassphrase).press("enter")

	r.sees("Confirm ·", "ONE request to fw1.example.net (pin 4f2a…91)", "window closes in", "Type the target's name to go on:")
	r.press("web_servers", "enter", testPassphrase).lacks(testPassphrase).press("enter")
	r.called("confirm web_servers as jo").wiped()

	r.sees("Ready to send", "Nothing has been sent yet", "enter send now")
	if n := r.calls("execute"); n != 0 {
		t.Fatalf("executed %d times before the key that sends", n)
	}
	r.press("enter").called("execute")
	r.engine.step(newID, core.StepSend)
	r.awaits("one request sent, waiting for the answer").
		sees("anchor advanced to 118", "target reserved, EXECUTING is on disk", "nothing is sent again", "keeps running")
	r.engine.finish(newID, core.Verified, "sent once, read back and verified")
	r.awaits("✓ VERIFIED  sent once").state(newID, core.Verified)
	r.press("enter").sees("History", "every one verified", "r roll back")
	r.press("esc").sees("[Active 1]", "✓ VERIFIED")
	if n := r.calls("execute"); n != 1 {
		t.Fatalf("executed %d times", n)
	}
}

// A wrong passphrase is refused at both gates: nothing changes, the screen
// says which class it was, and the right one still works afterwards.
func TestFlowWrongPassphrase(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter").sees("c confirm").press("c", "web_servers", "enter", "not the one", "enter")
	r.sees("wrong passphrase: refused, nothing has changed", "Confirm ·").lacks("not the one")
	r.state(newID, core.Prepared).wiped()
	r.press(testPassphrase, "enter").sees("Ready to send")
}

// The typed name must be the target's, and typed: a paste is refused.
func TestFlowTypedName(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "c", "web_server", "enter").sees("the name typed is not the target's")
	r.press("ctrl+u")
	r.paste("web_servers").sees("pasted text is refused here", "go on:  █")
	r.press("enter").sees("the name typed is not the target's")
	if n := r.calls("confirm"); n != 0 {
		t.Fatal("a name that was not typed reached the engine")
	}
}

// Declining ends a PREPARED contract; nothing is sent.
func TestFlowDecline(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "d").sees("Decline ·", "Nothing is sent")
	r.press(testPassphrase, "enter").sees("declined and recorded; nothing was sent", "✗ FAILED")
	r.called("decline as jo").state(newID, core.Failed).wiped()
	if n := r.calls("execute"); n != 0 {
		t.Fatal("something was sent")
	}
}

// Leaving gate two by decline works from inside the form as well.
func TestFlowDeclineFromConfirm(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "c", "d").sees("go on:  d█") // a letter is text here
	r.press("ctrl+d").sees("Decline ·").press(testPassphrase, "enter").sees("✗ FAILED")
}

// Loading is agreed to in the same confirmation; ^l leaves it out and takes it
// in again. Over other people's changes it has to be taken in.
func TestFlowConfirmWithLoading(t *testing.T) {
	loads := func(f *fake) { f.addLoading(newID, core.Prepared) }
	r := begin(t, 80, 24, loads)
	r.press("enter", "c").sees("once, right after it is verified, by the packet filter", "^l do not load")
	r.press("ctrl+l").sees("a step of its own, afterwards", "^l load too")
	r.press("ctrl+l").sees("once, right after").press("blocklist", "enter", testPassphrase, "enter")
	r.called("confirm and load [] blocklist as jo").wiped()

	r = begin(t, 80, 24, loads)
	r.press("enter", "c", "ctrl+l", "blocklist", "enter", testPassphrase, "enter").called("confirm blocklist as jo")

	r = begin(t, 80, 24, func(f *fake) { loads(f); f.pending = []string{"rule 1700000042"} })
	r.press("enter", "c").sees("loaded with it: rule 1700000042", "a step of its own, afterwards", "^l load too")
	r.press("ctrl+l").sees("once, right after it is verified, with rule 1700000042")
	r.press("blocklist", "enter", testPassphrase, "enter").called(`confirm and load ["rule 1700000042"] blocklist as jo`)
}

// Where the agreement to load could not be recorded, the change is confirmed
// all the same: nothing is asked again, and the notice says what is left out.
func TestFlowLoadingLeftOut(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.addLoading(newID, core.Prepared); f.noLoads = true })
	r.press("enter", "c", "blocklist", "enter", testPassphrase, "enter").called("confirm and load [] blocklist as jo")
	r.sees("Ready to send", "loading could not be agreed to with it: the disk is full").wiped()
	r.press("enter").called("execute")
}

// A verified change that was left out of loading is loaded by a step of its
// own, after its own review.
func TestFlowLoad(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.addLoading(doneID, core.Verified)
		f.pending = []string{"rule 1700000042"}
	})
	r.press("enter").sees("L load").press("L").sees("ask the packet filter to load what is stored, once", "rule 1700000042: this change, and whatever else")
	r.press("wrong", "enter").sees("wrong passphrase")
	r.press(testPassphrase, "enter").called("load as jo").wiped()
}

// A verified change is rolled back by one request and read back.
func TestFlowRollback(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(doneID, core.Verified, "web_servers") })
	r.press("enter").sees("r roll back").press("r")
	r.sees("ONE rollback request", `- "Public web, new DC (CHG-1042)"`, `+ "Public web, old DC"`, "12 unchanged")
	r.press("wrong", "enter").sees("wrong passphrase").state(doneID, core.Verified)
	r.press(testPassphrase, "enter").called("rollback as jo")
	r.engine.step(doneID, core.StepSend)
	r.awaits("target reserved, ROLLING_BACK is on disk").sees("Rolling back ·")
	r.engine.finish(doneID, core.RolledBack, "rolled back: the old value was read back")
	r.awaits("↺ ROLLED_BACK").press("esc").sees("the old value was read back", "↺ ROLLED_BACK")
	r.wiped()
}

// What a second look finds is told wherever the operator has gone by then.
func TestFlowSecondLook(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "c", "web_servers", "enter", testPassphrase, "enter").press("enter").called("execute")
	r.engine.finish(newID, core.Verified, "sent once, read back and verified")
	r.awaits("✓ VERIFIED").press("b")
	r.engine.warn(newID, "something else changed: office_nets: look before you go")
	r.awaits("web_servers: something else changed: office_nets: look before you go")
}

// An ambiguous change is settled by a person: what the reading does not
// support is closed and says why, and time opens what only time closed.
func TestFlowReconcile(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(askID, core.Reconciliation, "web_servers")
		f.compared = sampleComparison(f.clock.Now())
	})
	r.sees("[Needs you 1]", "? RECONCILIATION").press("enter", "R")
	r.sees("the connection broke before an answer came", "SNAPSHOT", "INTENDED", "NOW", "settled in 2:41 (of 3:00)",
		"not offered: NOW is not the intended state", "offered in 2:41: a late write is still possible", "▌ leave it open")
	r.press("up", "up", "enter").sees("enter choose: not now, NOW is not the intended state")
	r.press("down", "enter").sees("enter choose: not now, a late write is still possible")
	if n := r.calls("reconcile"); n != 0 {
		t.Fatal("a closed conclusion reached the engine")
	}
	r.clock.advance(161 * time.Second)
	r.awaits("records FAILED").press("enter")
	r.sees("You conclude: confirmed not applied", "Passphrase of jo:")
	r.press(testPassphrase, "enter").sees("your conclusion is recorded: FAILED")
	r.called("reconcile confirmed_not_applied as jo").state(askID, core.Failed).wiped()
}

// Resuming a doubtful rollback is a recorded conclusion followed by one send,
// which is watched like any other.
func TestFlowResumeRollback(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(askID, core.Reconciliation, "web_servers")
		f.compared.Origin, f.compared.Boundary, f.compared.Failure = core.RollingBack, core.DuringRollback, core.FailureReset
		f.compared.Offers = []core.OutcomeOffer{{Outcome: core.ConfirmedRollbackApplied, Reason: "NOW is not the snapshot"},
			{Outcome: core.ConfirmedRollbackNotApplied}, {Outcome: core.ResumeRollback}}
	})
	r.press("enter", "R").sees("sends ONE further rollback request").press("up", "enter")
	r.sees("You conclude: resume the rollback").press(testPassphrase, "enter")
	r.awaits("Rolling back ·")
	r.engine.finish(askID, core.RolledBack, "rolled back: the old value was read back")
	r.awaits("↺ ROLLED_BACK").called("reconcile resume_rollback as jo")
}

// Leaving it open changes nothing.
func TestFlowLeaveOpen(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(askID, core.Reconciliation, "web_servers")
		f.compared = sampleComparison(f.clock.Now())
	})
	r.press("enter", "R", "enter").sees("Bindings").state(askID, core.Reconciliation)
	if n := r.calls("reconcile"); n != 0 {
		t.Fatal("leaving it open recorded something")
	}
}

// What would be refused is closed before a person types anything.
func TestFlowDriftClosesTheGate(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(newID, core.Prepared, "web_servers")
		f.drift = "the target has changed on the firewall"
	})
	r.press("enter", "c").sees("Sending now would be refused", "Not now: the target is not as it was prepared")
	r.press("web_servers", "enter").sees("not now")
	if n := r.calls("confirm"); n != 0 {
		t.Fatal("a drifted target was confirmed")
	}
}
