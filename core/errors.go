package core

import "errors"

// One sentinel per class of refusal. Errors carry no values: no target,
// intent, payload, credential or response text (seed 003, Audit contract).
var (
	// ErrIllegalTransition: the state machine has no such edge, or it is manual-only.
	ErrIllegalTransition = errors.New("illegal transition")
	// ErrConflict: a precondition decided inside the transaction does not hold
	// (version, expiry, reservation, duplicate identity).
	ErrConflict = errors.New("conflict")
	// ErrNotFound: there is no such contract.
	ErrNotFound = errors.New("no such contract")
	// ErrQuarantined: the record is corrupt, foreign or replayed; nothing acts on it.
	ErrQuarantined = errors.New("record is quarantined")
	// ErrInvalid: a value is not of the form its field demands.
	ErrInvalid = errors.New("invalid")
	// ErrReserved: another contract keeps the target to itself until it is
	// resolved (seed 003, Target identity).
	ErrReserved = errors.New("the target is reserved by another contract")
	// ErrBlocked: a contract that blocks this operation already exists (seed 000, case 1).
	ErrBlocked = errors.New("a contract for this operation is not resolved yet")
	// ErrSpent: this authorization was already consumed (seed 000, case 2).
	ErrSpent = errors.New("this authorization was already used")
	// ErrExpired: the contract's or the authorization's window is over.
	ErrExpired = errors.New("the window has expired")
	// ErrAttributed: a start found that the anchor had moved for this contract
	// and nothing is known of an acquisition, so a request may have left, from a
	// newer copy of this database. It is never sent from here
	// (docs/decisions/0013-what-an-attribution-means.md).
	ErrAttributed = errors.New("the anchor moved for this contract and its console ended there")
	// ErrUnconfirmed: the contract has no confirmation.
	ErrUnconfirmed = errors.New("the contract is not confirmed")
	// ErrBinding: evidence or a request does not belong to this contract.
	ErrBinding = errors.New("does not match the contract")
	// ErrVerifierMissing: no verifier is configured, so nothing can be accepted.
	ErrVerifierMissing = errors.New("no verifier is configured")
	// ErrWaitingUnread: what else loading would load cannot be known, so it is
	// not agreed to beforehand (design section 4, rules 7 and 15).
	ErrWaitingUnread = errors.New("the firewall does not say what waits to be loaded")
	// ErrWaitingChanged: loading would load other changes than the operator was
	// shown (design section 4, rule 7).
	ErrWaitingChanged = errors.New("other changes wait to be loaded than were shown")
	// ErrLoadingLeftOut: the confirmation is recorded, and what was agreed to with
	// it about loading is not. The change can be sent (design section 4, rule 7).
	ErrLoadingLeftOut = errors.New("the change is confirmed; loading could not be agreed to and is a step of its own")
	// ErrVerifierFailed: the verifier itself failed; closed means closed.
	ErrVerifierFailed = errors.New("the verifier failed")
	// ErrProof: the proof is not one of a known, active authority.
	ErrProof = errors.New("the proof was refused")
	// ErrWrongPassphrase: the passphrase does not open this operator's key.
	ErrWrongPassphrase = errors.New("wrong passphrase")
	// ErrUnknownOperator: nobody is enrolled under this name.
	ErrUnknownOperator = errors.New("no such operator is enrolled")
	// ErrTypedTarget: the name typed is not the target's.
	ErrTypedTarget = errors.New("the typed name is not the target's")
	// ErrOutcome: the conclusion is not possible after the boundary at which
	// certainty was lost, or the reading does not support it.
	ErrOutcome = errors.New("this conclusion is not possible here")
	// ErrSettling: an ambiguous send may still be writing (design section 4, rule 4).
	ErrSettling = errors.New("the settle window is still open")
	// ErrLimit: a containment limit refuses the change (design lessons 1, 16).
	ErrLimit = errors.New("a limit refuses this")
	// ErrRolledBackStore: database and anchor disagree (design section 6).
	ErrRolledBackStore = errors.New("this database is older than its anchor")
	// ErrAnchor: the anchor could not be read or advanced.
	ErrAnchor = errors.New("the anchor is not available")
	// ErrNumberTaken: the advance of another contract is planned at the number
	// that the anchor shows.
	ErrNumberTaken = errors.New("an advance of the anchor is planned for another contract")
	// ErrObserver: this console does not hold the executor lock.
	ErrObserver = errors.New("this console only observes")
	// ErrReadOnlyAppliance: the REST API is in read-only mode.
	ErrReadOnlyAppliance = errors.New("the firewall's REST API is in read-only mode")
	// ErrAppliance: the appliance cannot be read, or answers something else.
	ErrAppliance = errors.New("the firewall could not be read")
	// ErrApplianceMismatch: this is not the appliance the contract was made for.
	ErrApplianceMismatch = errors.New("this is another firewall than the contract's")
	// ErrTargetMissing: no object has this identity.
	ErrTargetMissing = errors.New("the target does not exist on the firewall")
	// ErrTargetDuplicate: more than one object has this identity.
	ErrTargetDuplicate = errors.New("more than one object on the firewall has this identity")
	// ErrTargetUnsupported: the object has a form that can't be changed safely.
	ErrTargetUnsupported = errors.New("the target cannot be changed safely")
	// ErrDrift: the target is not as it was.
	ErrDrift = errors.New("the target has changed on the firewall")
	// ErrRequest: the typed request is not valid for its capability.
	ErrRequest = errors.New("the request is not valid")
	// ErrNoChange: the target already has the requested value.
	ErrNoChange = errors.New("the target already has this value")
	// ErrPolicy: the build has no such capability, endpoint or method.
	ErrPolicy = errors.New("not allowed by this build's policy")
	// ErrStoreUncertain: the store failed after the acquisition; the row stays where
	// it is and the next start reconciles (design lesson 5).
	ErrStoreUncertain = errors.New("the result could not be recorded yet")
	// ErrBusy: the engine already works on this contract.
	ErrBusy = errors.New("this contract is being worked on")
)
