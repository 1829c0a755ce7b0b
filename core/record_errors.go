package core

import "errors"

// Reason is the class of a rule that a stored record breaks. The names are
// those of the conformance cases.
type Reason string

// The reasons a record is refused for.
const (
	ReasonJSON                  Reason = "json"
	ReasonDuplicateField        Reason = "duplicate_field"
	ReasonFields                Reason = "fields"
	ReasonNotExact              Reason = "not_exact"
	ReasonIdentifier            Reason = "identifier"
	ReasonCapability            Reason = "capability"
	ReasonMethod                Reason = "http_method"
	ReasonDigest                Reason = "digest"
	ReasonLocator               Reason = "lifecycle_locator"
	ReasonConfirmationDigest    Reason = "confirmation_digest"
	ReasonConfirmationPair      Reason = "confirmation_pair"
	ReasonConfirmationWindow    Reason = "confirmation_window"
	ReasonVerifiedFormat        Reason = "verified_fingerprint_format"
	ReasonVerifiedState         Reason = "verified_fingerprint_state"
	ReasonTimestamp             Reason = "timestamp"
	ReasonTimestampNotUTC       Reason = "timestamp_not_utc"
	ReasonExpiryOrder           Reason = "expiry_order"
	ReasonState                 Reason = "state"
	ReasonStateVersion          Reason = "state_version"
	ReasonOutlivesAuthorization Reason = "outlives_authorization"
	ReasonIdempotency           Reason = "idempotency_binding"
	ReasonProvenanceFields      Reason = "provenance_fields"
	ReasonProvenanceSchema      Reason = "provenance_schema"
	ReasonProvenancePlanSchema  Reason = "provenance_plan_schema"
	ReasonProvenanceIdentifier  Reason = "provenance_identifier"
	ReasonProvenanceDigest      Reason = "provenance_digest"
	ReasonProvenanceWindow      Reason = "provenance_window"
	ReasonArtifact              Reason = "artifact"
	ReasonEvidence              Reason = "evidence"
)

// ErrRecord is the class of every RecordError.
var ErrRecord = errors.New("invalid record")

// RecordError says which rule a record breaks, in which field; never the value.
type RecordError struct {
	Reason Reason
	Field  string
}

// Error names the class and the field.
func (e *RecordError) Error() string {
	return "invalid record: " + string(e.Reason) + " (" + e.Field + ")"
}

// Unwrap makes every RecordError an ErrRecord.
func (e *RecordError) Unwrap() error { return ErrRecord }

func recordError(r Reason, field string) *RecordError { return &RecordError{Reason: r, Field: field} }

// ReasonOf returns the class of a record error, or "" for another error.
func ReasonOf(err error) Reason {
	var re *RecordError
	if errors.As(err, &re) {
		return re.Reason
	}
	return ""
}
