package views

import (
	"context"
	"errors"
	"strings"

	"countersign/core"
)

// advice is what one class of refusal says: what is wrong, and what to do.
type advice struct {
	class      error
	wrong, way string
}

// advices go from the special to the general: the first class that an error
// wraps decides.
func advices() []advice {
	return []advice{
		{core.ErrLoadingLeftOut, "confirmed; loading could not be agreed to with it", "loading is a step of its own, once the change is verified"},
		{core.ErrWrongPassphrase, "wrong passphrase: refused, nothing has changed", "type it again; failed attempts are counted, delayed and recorded"},
		{core.ErrUnknownOperator, "no such operator is enrolled: refused, nothing has changed", "an enrolled operator can add one: `countersign operator add NAME`"},
		{core.ErrTypedTarget, "the name typed is not the target's: refused, nothing has changed", "compare it with the target above and type it exactly"},
		{core.ErrSpent, "this authorization was already used for an earlier attempt", "a fresh attempt needs a fresh authorization"},
		{core.ErrBlocked, "an earlier contract for this change is not resolved yet; nothing was spent", "open it in Active or Needs you and bring it to an end first"},
		{core.ErrSettling, "an ambiguous send to this firewall may still be writing", "wait until the countdown in the header is over, then read again"},
		{core.ErrExpired, "the window is over: refused, nothing has changed", "it still blocks this change; releasing it is the owner's decision"},
		{core.ErrAttributed, "a request of this contract may have left before: it is not sent any more", "decline it, read the target, and prepare the change afresh"},
		{core.ErrUnconfirmed, "the contract is not confirmed: nothing was sent", "confirm it first"},
		{core.ErrRetryChanged, "this request was already made with other values; nothing was spent", "leave, and begin a new change for the new values"},
		{core.ErrRetryNewer, "the receipt of this request was written by a newer version", "use that version, or begin a new change"},
		{core.ErrRetryUnknownVersion, "the version of this request is not known here", "begin a new change"},
		{core.ErrRetryUnrepresentable, "the receipt's version cannot express this request", "begin a new change"},
		{core.ErrRetryWeakDigest, "the old receipt cannot prove that this is the same request", "begin a new change"},
		{core.ErrVerifierMissing, "no verifier is configured, so nothing can be accepted", "ask the owner to configure an authority; closed stays closed"},
		{core.ErrVerifierFailed, "the verifier itself failed, so nothing was accepted", "closed stays closed; see `countersign doctor`"},
		{core.ErrProof, "the proof was refused: it is not one of a known, active authority", "have it signed again by an enrolled authority"},
		{core.ErrWaitingUnread, "the firewall does not say what waits to be loaded: nothing was sent", "leave loading out with ^l; it is then a step of its own"},
		{core.ErrWaitingChanged, "other changes wait to be loaded than you were shown: nothing was sent", "read again with ^r and decide"},
		{core.ErrOutcome, "this conclusion is not possible here: nothing was recorded", "read again, and choose one that the reading supports"},
		{core.ErrLimit, "a limit refuses this; nothing was spent and nothing was sent", "bring the contracts that are under way to an end first"},
		{core.ErrRolledBackStore, "this database is older than its anchor: nothing is sent from it", "reading works; restore the newest copy, or ask the owner"},
		{core.ErrNumberTaken, "another contract's send was begun and is not settled: nothing was sent", "probe again with ^r, then try once more"},
		{core.ErrAnchor, "the anchor is not available: nothing is sent without it", "unlock the keyring, then probe again with ^r"},
		{core.ErrObserver, "this console only observes", "it takes over when the other console ends"},
		{core.ErrReadOnlyAppliance, "the firewall's REST API is in read-only mode: nothing was sent", "only the firewall's own pages can switch that off"},
		{core.ErrApplianceMismatch, "this is another firewall than the contract's: nothing was sent", "start the console with the configuration of that firewall"},
		{core.ErrTargetMissing, "the target does not exist on the firewall", "it may have been renamed or deleted; look on the firewall"},
		{core.ErrTargetDuplicate, "more than one object on the firewall has this identity", "make it unique on the firewall, then read again"},
		{core.ErrTargetUnsupported, "the target cannot be changed safely", "change it on the firewall's own pages"},
		{core.ErrDrift, "the target has changed on the firewall", "read again; a new draft starts from what is there now"},
		{core.ErrNoChange, "the target already has this value", "there is nothing to do"},
		{core.ErrRequest, "the request is not valid", "go back and correct it; nothing was created"},
		{core.ErrPolicy, "not allowed by this build's policy", ""},
		{core.ErrStoreUncertain, "sent, but the result could not be written down yet", "nothing is sent again; the next start reconciles it"},
		{core.ErrBusy, "this contract is being worked on right now", "wait until that has ended"},
		{core.ErrQuarantined, "this record is quarantined: nothing acts on it", "see `countersign verify`; the record is not repaired"},
		{core.ErrNotFound, "there is no such contract", "go back and read the list again"},
		{core.ErrAppliance, "the firewall could not be read", "check the connection, the certificate and the API key; then read again"},
		{core.ErrBinding, "this does not belong to the contract: refused", "read again and start over"},
		{core.ErrIllegalTransition, "the contract's state does not allow this", "read it again; somebody may have been faster"},
		{core.ErrReserved, "another contract keeps this target to itself: nothing was spent or sent", "bring that one to an end first: it is under Needs you, or being sent"},
		{core.ErrConflict, "the contract has changed meanwhile: refused, nothing has changed", "read it again and look at its state"},
		{core.ErrRecord, "a record does not have the form it must have", "see `countersign verify`; nothing is repaired"},
		{core.ErrInvalid, "a value does not have the form it must have", "go back and correct it"},
		{context.Canceled, "given up before it was finished", "read again"},
		{context.DeadlineExceeded, "no answer came in time", "read again"},
	}
}

// Explain says a refusal in one line, and the way on in a second, or "". An
// error of core carries no secret; what it adds behind its class is kept,
// because it is what a person needs to correct the matter. An error that does
// not name its class is a sentence of its own, with what to do in it or brought
// along.
func Explain(err error) (wrong, way string) {
	if err == nil {
		return "", ""
	}
	var advised interface{ WayOn() string }
	for _, a := range advices() {
		if errors.Is(err, a.class) {
			rest, ok := tail(err, a.class)
			if !ok {
				return err.Error(), ""
			}
			if errors.As(err, &advised) {
				return a.wrong + rest, advised.WayOn()
			}
			return a.wrong + rest, a.way
		}
	}
	if errors.As(err, &advised) {
		return err.Error(), advised.WayOn()
	}
	return "refused: " + err.Error(), ""
}

// tail is what an error says behind its class: ": 1024 characters at most". It
// is not ok where the error does not name its class.
func tail(err, class error) (rest string, ok bool) {
	_, rest, ok = strings.Cut(err.Error(), class.Error())
	if rest = strings.TrimLeft(rest, ": "); rest == "" {
		return "", ok
	}
	return ": " + rest, ok
}
