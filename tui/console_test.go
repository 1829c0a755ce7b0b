package tui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// Runes that arrive together, as over a slow link, are keys one by one, and
// each reaches the screen that the one before it opened.
func TestRunesArriveTogether(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(doneID, core.Verified, "one")
		f.add(newID, core.Prepared, "two")
		f.add(askID, core.Reconciliation, "three")
	})
	r.press("tab").sees("[Active 3]", "▌ ? RECONCILIATION")
	r.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj")})
	r.sees("▌ ✓ VERIFIED")
	r.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("k/tw")})
	r.sees("/tw█", "▌ ◍ PREPARED")
}

// A pasted text is never a key.
func TestPastedTextIsNoKey(t *testing.T) {
	r := begin(t, 80, 24, nil)
	r.paste("q").paste("n").sees("[Active 0]")
}

// A closed key says why, does nothing, and is not in the footer.
func TestClosedKeySaysWhy(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.header.Mode, f.header.LockHolder = core.ModeObserver, "jo@jump1 since 13:58 (process 4121)"
		f.header.Closed = "this console only observes: " + f.header.LockHolder
		f.add(newID, core.Prepared, "web_servers")
	})
	r.sees("OBSERVER · jo@jump1 since 13:58 (process 4121) holds the executor").lacks("n new change")
	r.press("n").sees("n new change: not now, this console only observes")
	r.press("enter").lacks("c confirm", "d decline")
	r.press("c").sees("c confirm: not now, this console only observes").sees("Bindings")
	r.press("x").sees("x execute: not now, it is not confirmed, or was sent already")
	r.press("?").sees("Keys that work now").press("pgdown").sees("Keys that are closed now", "not now: this console only observes")
	if len(r.engine.calls) != 0 {
		t.Fatalf("an observer called %q", r.engine.calls)
	}
}

// The palette runs the same bindings, and the closed ones say why.
func TestPalette(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", ":").sees("Command", "not now: nothing is in doubt here")
	r.press("roll", "enter").sees("enter choose: not now, only a VERIFIED contract can be").press("esc")
	r.press(":", "confirm", "enter").sees("Type the target's name")
	r.press("esc", "esc").press(":", "history", "enter").sees("[History 1]")
	r.press(":", "health", "enter").sees("Health", "tier1-production-anchor", "probe again").press("esc").sees("[History 1]")
	r.press("i").sees("Inbox", "Nothing waits").press("esc")
}

// The console is left by q; while something is in flight it asks, and the key
// that leaves is another one, so that a key pressed twice stays.
func TestLeaving(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(newID, core.Prepared, "web_servers")
		f.begin(newID, core.Forward, core.Verified)
	})
	r.press("q").sees("Leave the console", "1 run in flight", "nothing is sent again")
	r.press("q", "ctrl+c").sees("Leave the console")
	r.press("esc").sees("[Active 1]")
	r.press("ctrl+c").sees("Leave the console")
	r.tm.Send(keyNamed("Q"))
	r.left()
	if n := r.engine.InFlight(); n != 1 {
		t.Fatal("leaving ended the run")
	}
}

func TestLeavingAtOnce(t *testing.T) {
	r := begin(t, 80, 24, nil)
	r.tm.Send(keyNamed("q"))
	r.left()
}

// left requires that the program ends by itself.
func (r *robot) left() {
	r.t.Helper()
	done := make(chan struct{})
	go func() { r.tm.WaitFinished(r.t); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		r.t.Fatal("the console does not end")
	}
}

// Below 80x24 nothing can be agreed to, everything else works, and a larger
// terminal goes on where the operator was.
func TestSmallTerminal(t *testing.T) {
	r := begin(t, 64, 20, func(f *fake) {
		f.add(newID, core.Prepared, "web_servers")
		f.add(askID, core.Reconciliation, "office_nets")
	})
	r.sees("? RECONCILIATION").press("enter").sees("Bindings").press("R")
	r.sees("This terminal is 64x20", "need 80x24").lacks("What do you conclude")
	r.press("up", "enter").sees("need 80x24")
	r.size(80, 24).sees("What do you conclude")
	r.press("esc", "esc", "tab", "down", "enter", "c")
	r.sees("Type the target's name").size(79, 24).sees("This terminal is 79x24")
	r.press("web_servers", "enter", testPassphrase, "enter").size(80, 24).sees("go on:  █")
	if r.calls("confirm") != 0 || r.calls("reconcile") != 0 {
		t.Fatal("something was agreed to on a small terminal")
	}
	r.size(30, 8).sees("This terminal is 30x8")
}

func (r *robot) size(width, height int) *robot {
	r.tm.Send(tea.WindowSizeMsg{Width: width, Height: height})
	r.idle()
	return r
}

// Keys typed ahead while a passphrase is being checked agree to nothing.
func TestTypeAheadAgreesToNothing(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "c", "web_servers", "enter", testPassphrase)
	r.engine.mu.Lock() // the engine is slow
	for range 3 {
		r.tm.Send(tea.KeyMsg{Type: tea.KeyEnter})
	}
	r.tm.Send(peek(make(chan glance, 1))) // the keys have been handled
	r.engine.mu.Unlock()
	r.awaits("Ready to send")
	if n := r.calls("execute"); n != 0 {
		t.Fatalf("typed-ahead keys sent the request (%d)", n)
	}
}

// The form's passphrase may come from another enrolled operator.
func TestOtherOperator(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "d").sees("Passphrase of jo:").press("ctrl+o").sees("Passphrase of mika:")
	r.press("something", "enter").called("decline as mika").sees("no such operator is enrolled")
	r.press("ctrl+o").sees("Passphrase of jo:")
}

// Copying offers the contract's id first, then each digest.
func TestCopy(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.add(newID, core.Prepared, "web_servers") })
	r.press("enter", "y").sees("copied contract").press("y").sees("copied intent").press("y").sees("copied fingerprint")
	r.press("j", "y").sees("copied contract")
}

// A run that was left is watched again from its contract.
func TestWatchAgain(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		d := f.add(newID, core.Prepared, "web_servers")
		digest := digestOf("confirmation")
		d.Contract.ConfirmationDigest = &digest
		f.settle(d)
	})
	r.press("enter", "x").sees("Ready to send").press("enter")
	r.engine.step(newID, core.StepSend)
	r.awaits("waiting for the answer").press("b").sees("▶ EXECUTING", "w watch")
	r.press("w").sees("waiting for the answer").press("b", "esc")
	r.engine.finish(newID, core.Reconciliation, "the outcome is not proven")
	r.awaits("? RECONCILIATION")
}

// A rollback is not mistaken for the execution before it.
func TestEarlierRunIsNotShown(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(doneID, core.Verified, "web_servers")
		f.last[doneID] = core.Progress{ContractID: doneID, Done: true, Final: core.Verified, StartedAt: f.clock.Now().Add(-time.Minute),
			Sentence: "the earlier run"}
	})
	r.press("enter", "r", testPassphrase, "enter").lacks("the earlier run").sees("Rolling back ·", "check the anchor")
}

// What was signed elsewhere is used at each gate, and requests to sign are
// written where main says.
func TestOffHost(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) {
		f.add(newID, core.Prepared, "web_servers")
		f.add(askID, core.Reconciliation, "office_nets")
		f.compared.Origin = core.Executing
		f.compared.Offers = []core.OutcomeOffer{{Outcome: core.ConfirmedApplied}}
		f.inbox = []core.InboxFile{
			{ContractID: newID, Kind: core.ProofConfirmation, Confirmation: &core.ConfirmationEvidence{AuthorityID: "owner", ContractID: newID}},
			{ContractID: askID, Kind: core.ProofReconciliation, Reconciliation: &core.ReconciliationEvidence{AuthorityID: "owner", Outcome: core.ConfirmedApplied}},
		}
	})
	r.press("enter", "R").sees("The inbox holds a conclusion of owner: confirmed applied")
	r.press("up", "s").called("export confirmed_applied to requests/reconciliation-"+askID).sees("the request is in requests/", "countersign sign")
	r.press("t").called("reconcile confirmed_applied with evidence of owner").sees("your conclusion is recorded: VERIFIED")
	r.press("esc", "tab", "down", "enter", "c").sees("a confirmation of owner waits")
	r.press("ctrl+t").sees("type the target's exact name first")
	r.press("ctrl+x").called("export confirmation to requests/confirmation-" + newID)
	r.press("web_servers", "ctrl+t").called("confirm web_servers with evidence of owner").sees("Ready to send")
}

// A long history: the first screen reads one page, and the end is reached.
func TestLongHistory(t *testing.T) {
	r := begin(t, 80, 24, func(f *fake) { f.history = 10_000; f.count() })
	before := r.engine.lists
	r.press("tab").sees("[History 10,000]", "alias_000000")
	if n := r.engine.lists - before; n > 2 {
		t.Errorf("%d pages were read for the first screen", n)
	}
	r.press("pgdown", "pgdown").sees("alias_000020").press("G").awaits("alias_009999").sees("10,000/10,000")
	r.press("g").awaits("alias_000000")
}
