package views

import (
	"errors"
	"fmt"
	"time"

	"countersign/core"
)

// Words that bindings share.
const (
	wordHelp = "help"
	wordQuit = "quit"
	wordBack = "back"
)

// Why a key is closed, or what a screen waits for.
const (
	waitReading       = "reading"
	waitFirewall      = "reading from the firewall"
	waitPassphrase    = "checking the passphrase"
	reasonSeeAll      = "scroll to the end first, so that nothing you agree to is unseen"
	reasonDrift       = "the target is not as it was prepared"
	reasonNoChoice    = "choose a conclusion first"
	sayCounting       = "an ambiguous send may still be writing; the header counts down"
	reasonSettling    = "an ambiguous send may still be writing; settled in "
	reasonWindow      = "the window is closed"
	reasonRefused     = "this target cannot be changed"
	reasonNothing     = "nothing is selected"
	reasonNoRequest   = "this console writes no requests to sign elsewhere"
	reasonNoFit       = "nothing in the inbox fits this"
	reasonUnread      = "nothing has been read yet"
	reasonQuarantined = "the record is quarantined: nothing acts on it"
	reasonTypeName    = "type the target's exact name first"
	reasonTypePass    = "type your passphrase first"
	offerSeeAll       = "read on to the end first (pgdn)"
	waitOpening       = "the store is being verified"
	reasonNotOpen     = "the console could not be opened"
)

// What the screens say.
const (
	sayOneRequest   = "You are about to send ONE request to %s (pin %s)."
	sayOnlyThis     = "nothing else in this %s changes"
	sayTypeName     = "Type the target's name to go on:"
	sayPassphraseOf = "Passphrase of %s:"
	sayPasteRefused = "pasted text is refused here: type the name yourself"
	sayNothingAgain = "From here on nothing is sent again, whatever happens. Closing this terminal is safe: the step in flight is finished and recorded."
	sayBeforeSend   = "Nothing has been sent yet."
	sayReady        = "Confirmed. Nothing has been sent yet; enter sends the one request."
	sayNoConclusion = "leave it open"
	sayStillBlocks  = "the contract keeps blocking this change"
	sayQuitInFlight = "%s in flight. Leaving is safe: what is in flight is finished and recorded, and nothing is sent again."
	sayExpiredStays = "An expired contract still blocks this change. Releasing it is the owner's decision; the console has no command for it."
	sayRollbackLost = "ROLLBACK_FAILED is final: it keeps its reservation and blocks this change. Put the target right on the firewall itself; what happens to the contract is the owner's decision."
	sayRecovered    = " under way when the %s ended: now in RECONCILIATION, nothing was sent again"
	sayQuarantined  = " quarantined: shown, never acted on"
	sayBringBack    = "sign it elsewhere with `countersign sign`, and put the result into the inbox"
	sayClipboard    = "copied %s to the terminal's clipboard"
	sayPractice     = "let something go wrong at the simulated firewall"
	sayTookOver     = "this console has taken over and may act now"
	sayNoClipboard  = "ctrl+v is not used here; paste with your terminal"
)

// What the first frame says.
const (
	sayOpening        = "Every record and every chain of the store is verified first."
	sayOpeningLeave   = "Nothing is sent meanwhile. q leaves; the next start verifies again."
	sayNotOpened      = "The console could not be opened."
	sayNotOpenedLeave = "Nothing was sent. q leaves."
	noteOpening       = "opening the store"
	noteVerifying     = "verifying %s of %s"
	noteScanned       = "verified %s, starting"
)

// tabName is a list's name on its tab.
func tabName(l core.ListName) string {
	switch l {
	case core.ListNeedsYou:
		return "Needs you"
	case core.ListActive:
		return "Active"
	}
	return "History"
}

// notPossible says what an action would need, where the contract's state has
// no such step.
func notPossible(a core.ActionName) string {
	switch a {
	case core.ActConfirm:
		return "only a PREPARED contract is, and once"
	case core.ActExecute:
		return "it is not confirmed, or was sent already"
	case core.ActDecline:
		return "only a PREPARED contract can be"
	case core.ActRollback:
		return "only a VERIFIED contract can be"
	case core.ActReconcile:
		return "nothing is in doubt here"
	case core.ActLoad:
		return "nothing is stored, or it works at once"
	}
	return "the contract's state has no such step"
}

// emptyListWords is what an empty list says.
func emptyListWords(l core.ListName, closed bool) string {
	words, way := "No contract has been made yet.", " n prepares the first change."
	switch l {
	case core.ListNeedsYou:
		return "Nothing needs you."
	case core.ListActive:
		words, way = "No change is under way.", " n prepares one."
	}
	if closed {
		return words
	}
	return words + way
}

// stepWords says a step of a run: before, while and after.
func stepWords(s core.StepProgress, p core.Progress) string {
	waiting, running, done := stepPhrases(s.Name, p.Direction)
	switch s.Status {
	case core.StepDone:
		if s.Name == core.StepAnchor && p.Direction == core.Forward && s.Detail != "" {
			return done + " to " + s.Detail
		}
		return done
	case core.StepRunning:
		return running
	case core.StepStopped:
		if s.Name == core.StepAskLoad {
			return waiting + ": " + s.Detail
		}
		if s.Name == core.StepSend && (p.Final == core.Reconciliation || errors.Is(p.Err, core.ErrStoreUncertain)) {
			return done + ": no clear answer"
		}
		return waiting + ": stopped here"
	}
	return waiting
}

func stepPhrases(n core.StepName, dir core.Direction) (waiting, running, done string) {
	state := "EXECUTING"
	if dir == core.Backward {
		state = "ROLLING_BACK"
	}
	switch n {
	case core.StepLoad:
		return "load and authenticate the contract", "loading and authenticating the contract", "loaded and authenticated the contract"
	case core.StepBindings:
		return "check bindings, policy and confirmation", "checking bindings, policy and confirmation", "bindings, policy and confirmation hold"
	case core.StepAnchor:
		if dir == core.Backward {
			return "check the anchor", "checking the anchor", "anchor agrees"
		}
		return "advance the anchor", "advancing the anchor", "anchor advanced"
	case core.StepAcquire:
		return "reserve the target", "reserving the target", "target reserved, " + state + " is on disk"
	case core.StepReread:
		return "read the target again", "reading the target again", "target read again: unchanged, same position"
	case core.StepSend:
		return "send one request", "one request sent, waiting for the answer", "one request sent"
	case core.StepReadBack:
		return "read back the whole list", "reading back the whole list", "read back the whole list"
	case core.StepSeal:
		return "seal the result", "sealing the result", "result sealed"
	case core.StepAskLoad:
		return "ask the firewall to load it", "asked the firewall to load it, once", "the firewall says that it is loaded"
	}
	return string(n), string(n), string(n)
}

// outcomeWords is a conclusion as an operator chooses it.
func outcomeWords(o core.Outcome) string {
	switch o {
	case core.ConfirmedApplied:
		return "confirmed applied"
	case core.ConfirmedNotApplied:
		return "confirmed not applied"
	case core.ConfirmedRollbackApplied:
		return "confirmed rolled back"
	case core.ConfirmedRollbackNotApplied:
		return "confirmed not rolled back"
	case core.ResumeRollback:
		return "resume the rollback"
	}
	return string(o)
}

// outcomeMeaning says what a conclusion does.
func outcomeMeaning(o core.Outcome) string {
	switch o {
	case core.ConfirmedApplied:
		return "records VERIFIED and signs exactly what is NOW"
	case core.ConfirmedNotApplied:
		return "records FAILED; a fresh attempt may then be made"
	case core.ConfirmedRollbackApplied:
		return "records ROLLED_BACK and signs exactly what is NOW"
	case core.ConfirmedRollbackNotApplied:
		return "records ROLLBACK_FAILED, which is final and keeps blocking"
	case core.ResumeRollback:
		return "sends ONE further rollback request"
	}
	return ""
}

// certaintyWords says where certainty was lost.
func certaintyWords(c core.Comparison) string {
	what := "The change"
	if c.Origin == core.RollingBack {
		what = "The rollback"
	}
	switch {
	case c.Failure == core.FailureRestart:
		return what + " was under way when the console ended. Whether it was sent is not known."
	case c.Boundary == core.BeforeSend:
		return what + " was stopped before anything was sent."
	case c.Boundary == core.DuringSend:
		return what + " was sent in part; the connection broke before the request was complete."
	case c.Failure == core.FailureNone:
		return what + " was sent once; its outcome is not known."
	}
	return what + " was sent once; " + c.Failure.Words() + "."
}

// boundaryWords names a boundary in the timeline.
func boundaryWords(b core.Boundary) string {
	switch b {
	case core.BeforeSend:
		return "before send"
	case core.DuringSend:
		return "during send"
	case core.AfterSend:
		return "after send"
	case core.DuringRollback:
		return "during rollback"
	}
	return string(b)
}

// loadWords says what is known about loading.
func loadWords(l core.LoadClaim) string {
	switch l {
	case core.LoadAgreed:
		return "stored · not loaded: agreed to, and not asked"
	case core.LoadAsked:
		return "stored · asked to load, no answer yet"
	case core.LoadClaimed:
		return "stored · the firewall says loaded"
	case core.LoadRefused:
		return "stored · loading was refused"
	case core.LoadUnknown:
		return "stored · whether it is loaded is not known"
	}
	return "stored · not loaded yet"
}

// subsystemWords names what loads a change.
func subsystemWords(s core.Subsystem) string {
	switch s {
	case core.Firewall:
		return "the packet filter"
	case core.DNSResolver:
		return "the DNS resolver"
	case core.Routing:
		return "routing"
	}
	return "nothing; it works at once"
}

// readAgo says how fresh a reading is.
func readAgo(now, at time.Time) string {
	return fmt.Sprintf("read from the firewall %s ago", age(now.Sub(at)))
}
