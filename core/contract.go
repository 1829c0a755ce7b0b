package core

import (
	"fmt"
	"time"

	"countersign/canon"
)

// MaxLocator is the largest lifecycle locator (a signed 32-bit integer, as
// the reference stores it).
const MaxLocator = 1<<31 - 1

// Contract is the authoritative record of one guarded change (seed 003,
// Authoritative fields). It never holds plaintext target, intent or snapshot.
type Contract struct {
	ID             string
	OperationID    string
	IdempotencyKey canon.Digest
	Capability     string // *_WRITE, one of KnownCapability
	EndpointSymbol string
	Method         string // POST, PUT, PATCH or DELETE

	TargetIdentityDigest canon.Digest
	TargetFingerprint    canon.Digest // the complete original pre-forward precondition, for ever
	IntentDigest         canon.Digest
	SnapshotDigest       canon.Digest
	RollbackPlanVersion  string
	// LifecycleLocator is the position read at protection time, a continuity
	// guard and never an identity (seed 003, Target contract).
	LifecycleLocator int64
	// VerifiedTargetFingerprint is written once, with VERIFIED.
	VerifiedTargetFingerprint *canon.Digest

	ProtectedTarget   Artifact
	ProtectedIntent   Artifact
	ProtectedSnapshot Artifact

	Provenance *Provenance

	CreatedAt, ExpiresAt time.Time
	ConfirmationDigest   *canon.Digest
	ConfirmedAt          *time.Time

	State        State
	StateVersion int64
}

// Artifact is protected text: ciphertext under a named key.
type Artifact struct {
	Algorithm  string
	KeyID      string
	Ciphertext []byte
}

// Role says which of a contract's artifacts a ciphertext is; it is bound
// into the associated data, so artifacts cannot change places.
type Role string

// The three protected artifacts of seed 003.
const (
	RoleTargetIdentity Role = "target-identity"
	RoleIntent         Role = "intent"
	RoleSnapshot       Role = "snapshot"
)

// Confirmed reports whether an authenticated person has confirmed the contract.
func (c Contract) Confirmed() bool { return c.ConfirmationDigest != nil }

// ExpiredAt reports whether the contract's window is over at now. The
// instant of expiry is already outside.
func (c Contract) ExpiredAt(now time.Time) bool { return !now.Before(c.ExpiresAt) }

// Binding is the policy triple that is the context of most digests.
func (c Contract) Binding() Binding {
	return Binding{Capability: c.Capability, EndpointSymbol: c.EndpointSymbol, Method: c.Method}
}

// KnownCapability reports whether name is one of the accepted build's
// mutating capabilities. The set is closed and shared with the reference, so
// that either can open the other's store.
func KnownCapability(name string) bool {
	switch name {
	case "ALIAS_WRITE", "FIREWALL_WRITE", "SERVICE_WRITE",
		"NTP_TIME_SERVER_PREFER_WRITE", "NTP_SETTINGS_OBSERVABILITY_WRITE",
		"LOG_DISPLAY_PREFERENCES_WRITE", "LOG_RETENTION_SETTINGS_WRITE", "SYSTEM_TIMEZONE_WRITE":
		return true
	}
	return false
}

// MutatingMethod reports whether m is one of the four methods a contract may use.
func MutatingMethod(m string) bool {
	return m == "POST" || m == "PUT" || m == "PATCH" || m == "DELETE"
}

// Validate applies every rule a record must obey by itself (seed 003,
// Authoritative fields, Confirmation contract, Target contract). The error
// is a *RecordError with the class of the first rule broken.
func (c Contract) Validate() error {
	checks := []func(Contract) error{
		checkIdentifiers, checkPolicyNames, checkVersions, checkInstants,
		checkConfirmation, checkVerifiedFingerprint, checkArtifacts, checkProvenance, checkIdempotency,
	}
	for _, check := range checks {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func checkIdentifiers(c Contract) error {
	for _, f := range [...]struct{ name, id string }{{"contract_id", c.ID}, {"operation_id", c.OperationID},
		{"endpoint_symbol", c.EndpointSymbol}, {"rollback_plan_version", c.RollbackPlanVersion}} {
		if !ValidIdentifier(f.id) {
			return recordError(ReasonIdentifier, f.name)
		}
	}
	return nil
}

func checkPolicyNames(c Contract) error {
	if !KnownCapability(c.Capability) {
		return recordError(ReasonCapability, "capability")
	}
	if !MutatingMethod(c.Method) {
		return recordError(ReasonMethod, "http_method")
	}
	return nil
}

func checkVersions(c Contract) error {
	if !c.State.Known() {
		return recordError(ReasonState, "state")
	}
	if c.StateVersion < 0 {
		return recordError(ReasonStateVersion, "state_version")
	}
	if c.LifecycleLocator < 0 || c.LifecycleLocator > MaxLocator {
		return recordError(ReasonLocator, "lifecycle_locator")
	}
	return nil
}

func checkInstants(c Contract) error {
	if !c.CreatedAt.Before(c.ExpiresAt) {
		return recordError(ReasonExpiryOrder, "expires_at")
	}
	return nil
}

func checkConfirmation(c Contract) error {
	if (c.ConfirmationDigest == nil) != (c.ConfirmedAt == nil) {
		return recordError(ReasonConfirmationPair, "confirmation_digest")
	}
	if c.ConfirmedAt != nil && (c.ConfirmedAt.Before(c.CreatedAt) || !c.ConfirmedAt.Before(c.ExpiresAt)) {
		return recordError(ReasonConfirmationWindow, "confirmed_at")
	}
	return nil
}

func checkVerifiedFingerprint(c Contract) error {
	rule, has := c.State.VerifiedFingerprint(), c.VerifiedTargetFingerprint != nil
	if (rule == FingerprintRequired && !has) || (rule == FingerprintForbidden && has) {
		return recordError(ReasonVerifiedState, "verified_target_fingerprint")
	}
	return nil
}

func checkArtifacts(c Contract) error {
	for _, a := range []Artifact{c.ProtectedTarget, c.ProtectedIntent, c.ProtectedSnapshot} {
		if !ValidIdentifier(a.Algorithm) || !ValidIdentifier(a.KeyID) || len(a.Ciphertext) == 0 {
			return recordError(ReasonArtifact, "protected artifact")
		}
	}
	return nil
}

func checkProvenance(c Contract) error {
	if c.Provenance == nil {
		return nil
	}
	if err := c.Provenance.Validate(); err != nil {
		return err
	}
	if c.ExpiresAt.After(c.Provenance.ExpiresAt) {
		return recordError(ReasonOutlivesAuthorization, "expires_at")
	}
	return nil
}

func checkIdempotency(c Contract) error {
	key, err := DeriveIdempotencyKey(c)
	if err != nil {
		return fmt.Errorf("%w: %w", recordError(ReasonIdempotency, "idempotency_key"), err)
	}
	if key != c.IdempotencyKey {
		return recordError(ReasonIdempotency, "idempotency_key")
	}
	return nil
}
