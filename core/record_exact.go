package core

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"

	"countersign/canon"
)

// decodeExact reads a record of exactly the bytes that EncodeContract writes
// for plain ASCII text, in one pass and without an intermediate object; a
// verified scan decodes every record once. Members have a fixed order and
// every value one spelling, so what it accepts would be written again byte
// for byte. Anything else is left to the general reader (ok is false), which
// also says what is wrong.
func decodeExact(payload []byte) (c Contract, ok bool) {
	r := &exactReader{rest: payload}
	r.literal(`{"authorization_provenance":`)
	c.Provenance = r.provenance()
	c.Capability = r.member(`,"capability":`)
	c.ConfirmationDigest = r.optionalDigest(`,"confirmation_digest":`)
	c.ConfirmedAt = r.optionalInstant(`,"confirmed_at":`)
	c.ID = r.member(`,"contract_id":`)
	c.CreatedAt = r.instant(`,"created_at":`)
	c.EndpointSymbol = r.member(`,"endpoint_symbol":`)
	c.ExpiresAt = r.instant(`,"expires_at":`)
	c.Method = r.member(`,"http_method":`)
	c.IdempotencyKey = r.digest(`,"idempotency_key":`)
	c.IntentDigest = r.digest(`,"intent_digest":`)
	c.LifecycleLocator = r.integer(`,"lifecycle_locator":`)
	c.OperationID = r.member(`,"operation_id":`)
	c.ProtectedIntent = r.artifact(`,"protected_intent":`)
	c.ProtectedSnapshot = r.artifact(`,"protected_snapshot":`)
	c.ProtectedTarget = r.artifact(`,"protected_target_identity":`)
	c.RollbackPlanVersion = r.member(`,"rollback_plan_version":`)
	c.SnapshotDigest = r.digest(`,"snapshot_digest":`)
	c.State = State(r.member(`,"state":`))
	c.StateVersion = r.integer(`,"state_version":`)
	c.TargetFingerprint = r.digest(`,"target_fingerprint":`)
	c.TargetIdentityDigest = r.digest(`,"target_identity_digest":`)
	c.VerifiedTargetFingerprint = r.optionalDigest(`,"verified_target_fingerprint":`)
	r.literal(`}`)
	return c, !r.failed && len(r.rest) == 0
}

// exactReader takes exactly spelled values off the front of a text.
type exactReader struct {
	rest   []byte
	failed bool
}

func (r *exactReader) literal(s string) {
	if len(r.rest) < len(s) || string(r.rest[:len(s)]) != s {
		r.failed = true
		return
	}
	r.rest = r.rest[len(s):]
}

func (r *exactReader) null() bool {
	if !bytes.HasPrefix(r.rest, []byte("null")) {
		return false
	}
	r.rest = r.rest[len("null"):]
	return true
}

// quoted takes a string of printable ASCII without escapes.
func (r *exactReader) quoted() string {
	r.literal(`"`)
	end := bytes.IndexByte(r.rest, '"')
	if r.failed || end < 0 {
		r.failed = true
		return ""
	}
	s := r.rest[:end]
	r.rest = r.rest[end+1:]
	for _, b := range s {
		if b < ' ' || b > '~' || b == '\\' {
			r.failed = true
		}
	}
	return string(s)
}

func (r *exactReader) member(name string) string { r.literal(name); return r.quoted() }

func (r *exactReader) integer(name string) int64 {
	r.literal(name)
	end := bytes.IndexByte(r.rest, ',')
	if r.failed || end < 0 {
		r.failed = true
		return 0
	}
	n, err := strconv.ParseInt(string(r.rest[:end]), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(r.rest[:end]) {
		r.failed = true
	}
	r.rest = r.rest[end:]
	return n
}

func (r *exactReader) digest(name string) canon.Digest {
	d, err := canon.ParseDigest(r.member(name))
	r.failed = r.failed || err != nil
	return d
}

func (r *exactReader) optionalDigest(name string) *canon.Digest {
	r.literal(name)
	if r.null() {
		return nil
	}
	d := r.digest("")
	return &d
}

func (r *exactReader) instant(name string) time.Time {
	t, err := ParseInstant(r.member(name))
	r.failed = r.failed || err != nil
	return t
}

func (r *exactReader) optionalInstant(name string) *time.Time {
	r.literal(name)
	if r.null() {
		return nil
	}
	t := r.instant("")
	return &t
}

func (r *exactReader) artifact(name string) Artifact {
	r.literal(name)
	a := Artifact{Algorithm: r.member(`{"algorithm":`)}
	text := r.member(`,"ciphertext":`)
	a.KeyID = r.member(`,"key_id":`)
	r.literal(`}`)
	var err error
	a.Ciphertext, err = base64.StdEncoding.Strict().DecodeString(text)
	r.failed = r.failed || err != nil
	return a
}

func (r *exactReader) provenance() *Provenance {
	if r.null() {
		return nil
	}
	const schema = "2"
	var p Provenance
	p.ApplianceDigest = r.digest(`{"appliance_target_digest":`)
	p.AuthorityID = r.member(`,"authority_id":`)
	p.ExpiresAt = r.instant(`,"authorization_expires_at":`)
	p.AuthorizationID = r.member(`,"authorization_id":`)
	p.IssuedAt = r.instant(`,"authorization_issued_at":`)
	p.ExecutionIntentDigest = r.digest(`,"execution_intent_digest":`)
	r.literal(`,"plan_authorization_schema_version":` + schema)
	p.PlanDigest = r.digest(`,"plan_digest":`)
	r.literal(`,"schema_version":` + schema)
	p.StepID = r.member(`,"step_id":`)
	r.literal(`}`)
	return &p
}
