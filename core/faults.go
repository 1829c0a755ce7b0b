package core

// Boundary is how far an exchange had come when something went wrong.
type Boundary string

// The boundaries of seed 003's fault decisions.
const (
	BeforeSend     Boundary = "before_send"
	DuringSend     Boundary = "during_send"
	AfterSend      Boundary = "after_send"
	DuringRollback Boundary = "during_rollback"
)

// Knowledge is what is proven about the effect.
type Knowledge string

// What can be known.
const (
	ProvenNone      Knowledge = "proven_none"
	VerifiedSuccess Knowledge = "verified_success"
	VerifiedFailure Knowledge = "verified_failure"
	Ambiguous       Knowledge = "ambiguous"
)

// Resolve is the fault table: the state that follows, and whether a person
// must conclude. Nothing is ever retried automatically.
func Resolve(b Boundary, k Knowledge) (next State, manual bool) {
	rollback := b == DuringRollback
	switch {
	case k == VerifiedSuccess && rollback:
		return RolledBack, false
	case k == VerifiedSuccess:
		return Verified, false
	case (k == ProvenNone || k == VerifiedFailure) && rollback:
		return RollbackFailed, false
	case k == ProvenNone || k == VerifiedFailure:
		return Failed, false
	}
	return Reconciliation, true
}

// Direction tells a forward change from its rollback.
type Direction string

// The two directions of a contract; each is sent at most once.
const (
	Forward  Direction = "forward"
	Backward Direction = "rollback"
)

// SendMark is how much of a request may have left this machine, read from
// the connection itself (design section 4, rule 3).
type SendMark int

// From nothing to everything.
const (
	NotSent SendMark = iota
	PartlySent
	FullySent
)

// FailureClass is a value-free name of what went wrong, for the audit trail.
type FailureClass string

// Failure classes of an exchange and of its read-back.
const (
	FailureNone          FailureClass = ""
	FailurePolicy        FailureClass = "refused_by_policy"
	FailureConnect       FailureClass = "connection_never_established"
	FailureTLS           FailureClass = "tls_refused"
	FailureWrite         FailureClass = "request_interrupted"
	FailureTimeout       FailureClass = "timeout"
	FailureReset         FailureClass = "connection_lost"
	FailureTruncated     FailureClass = "answer_truncated"
	FailureMalformed     FailureClass = "answer_malformed"
	FailureRedirect      FailureClass = "redirect"
	FailureClientStatus  FailureClass = "status_4xx_not_proven"
	FailureServerStatus  FailureClass = "status_5xx"
	FailureOddStatus     FailureClass = "status_unexpected"
	FailureRefusal       FailureClass = "refused_by_appliance"
	FailureResponseShape FailureClass = "response_shape"
	FailureReadBack      FailureClass = "read_back_failed"
	FailureNoEffect      FailureClass = "read_back_shows_pre_state"
	FailurePartial       FailureClass = "read_back_shows_neither"
	FailureIdentity      FailureClass = "read_back_identity_changed"
	FailureMissing       FailureClass = "target_missing"
	FailureDuplicate     FailureClass = "target_duplicate"
	FailureUnsupported   FailureClass = "target_unsupported"
	FailureDrift         FailureClass = "fingerprint_drift"
	FailureRenumbered    FailureClass = "locator_changed"
	FailureUnreadable    FailureClass = "appliance_unreadable"
	FailureArtifact      FailureClass = "protected_artifact_unreadable"
	FailureBinding       FailureClass = "binding_mismatch"
	FailureRestart       FailureClass = "process_ended"
	FailureDeclined      FailureClass = "declined_by_operator"
	FailureGivenUp       FailureClass = "given_up_not_proven"
	FailureReadOnly      FailureClass = "appliance_read_only"
)

// Verdict is what an observed exchange proves.
type Verdict struct {
	Boundary  Boundary
	Knowledge Knowledge
	Failure   FailureClass
}

// JudgeSend decides what an exchange proves about its effect (design section
// 4, rule 3, which is stricter than the reference's send observations):
//
//   - no request byte left: no effect;
//   - a 4xx is a refusal only with the API's own envelope and a response_id
//     on the capability's list of refusals made before writing;
//   - a 2xx with a well-formed envelope goes on to the read-back;
//   - everything else is ambiguous.
func JudgeSend(dir Direction, o Exchange, refusals Refusals) Verdict {
	v := Verdict{Boundary: boundaryOf(dir, o.Sent), Knowledge: Ambiguous, Failure: o.Failure}
	switch {
	case o.Sent == NotSent:
		v.Knowledge = ProvenNone
	case o.Failure != FailureNone:
	case o.Status >= 200 && o.Status < 300 && o.Enveloped:
		v.Knowledge = VerifiedSuccess
	case o.Status >= 200 && o.Status < 300:
		v.Failure = FailureMalformed
	case o.Status >= 300 && o.Status < 400:
		v.Failure = FailureRedirect
	case o.Status >= 400 && o.Status < 500:
		v.Failure = FailureClientStatus
		if o.Enveloped && refusals.Proves(o.Status, o.ResponseID) {
			v.Knowledge, v.Failure = VerifiedFailure, FailureRefusal
		}
	case o.Status >= 500:
		v.Failure = FailureServerStatus
	default:
		v.Failure = FailureOddStatus
	}
	return v
}

func boundaryOf(dir Direction, mark SendMark) Boundary {
	switch {
	case dir == Backward:
		return DuringRollback
	case mark == NotSent:
		return BeforeSend
	case mark == PartlySent:
		return DuringSend
	}
	return AfterSend
}

// Refusals is a capability's allow-list: response_ids, by status, that the
// appliance gives only before it writes.
type Refusals map[int][]string

// Proves reports whether status and responseID prove that nothing was written.
func (r Refusals) Proves(status int, responseID string) bool {
	for _, id := range r[status] {
		if id == responseID {
			return true
		}
	}
	return false
}
