package core

import (
	"bytes"
	"encoding/base64"
	"errors"
	"time"

	"countersign/canon"
)

// contractFields are the members of a stored record, no more and no less
// (schema v7 and v8).
var contractFields = []string{
	"authorization_provenance", "capability", "confirmation_digest", "confirmed_at", "contract_id",
	"created_at", "endpoint_symbol", "expires_at", "http_method", "idempotency_key", "intent_digest",
	"lifecycle_locator", "operation_id", "protected_intent", "protected_snapshot",
	"protected_target_identity", "rollback_plan_version", "snapshot_digest", "state", "state_version",
	"target_fingerprint", "target_identity_digest", "verified_target_fingerprint",
}

// EncodeContract writes the exact stored bytes of a valid contract (design
// section 3): sorted members, no spaces, ASCII escapes.
func EncodeContract(c Contract) ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return canon.EncodeASCII(contractObject(c))
}

func contractObject(c Contract) map[string]any {
	return map[string]any{
		"authorization_provenance":    provenanceObject(c.Provenance),
		"capability":                  c.Capability,
		"confirmation_digest":         digestOrNull(c.ConfirmationDigest),
		"confirmed_at":                instantOrNull(c.ConfirmedAt),
		"contract_id":                 c.ID,
		"created_at":                  FormatInstant(c.CreatedAt),
		"endpoint_symbol":             c.EndpointSymbol,
		"expires_at":                  FormatInstant(c.ExpiresAt),
		"http_method":                 c.Method,
		"idempotency_key":             c.IdempotencyKey.String(),
		"intent_digest":               c.IntentDigest.String(),
		"lifecycle_locator":           c.LifecycleLocator,
		"operation_id":                c.OperationID,
		"protected_intent":            artifactObject(c.ProtectedIntent),
		"protected_snapshot":          artifactObject(c.ProtectedSnapshot),
		"protected_target_identity":   artifactObject(c.ProtectedTarget),
		"rollback_plan_version":       c.RollbackPlanVersion,
		"snapshot_digest":             c.SnapshotDigest.String(),
		"state":                       string(c.State),
		"state_version":               c.StateVersion,
		"target_fingerprint":          c.TargetFingerprint.String(),
		"target_identity_digest":      c.TargetIdentityDigest.String(),
		"verified_target_fingerprint": digestOrNull(c.VerifiedTargetFingerprint),
	}
}

func artifactObject(a Artifact) map[string]any {
	return map[string]any{
		"algorithm":  a.Algorithm,
		"ciphertext": base64.StdEncoding.EncodeToString(a.Ciphertext),
		"key_id":     a.KeyID,
	}
}

func digestOrNull(d *canon.Digest) any {
	if d == nil {
		return nil
	}
	return d.String()
}

func instantOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return FormatInstant(*t)
}

// DecodeContract reads a stored record. Only the exact bytes that
// EncodeContract would write are accepted (design lesson 14); anything else is
// a *RecordError with its class.
func DecodeContract(payload []byte) (Contract, error) {
	if c, ok := decodeExact(payload); ok && c.Validate() == nil {
		return c, nil
	}
	return decodeGeneral(payload)
}

// decodeGeneral reads a record through canon's parser and names the class of
// what is wrong with it.
func decodeGeneral(payload []byte) (Contract, error) {
	m, err := parseRecord(payload, contractFields)
	if err != nil {
		return Contract{}, err
	}
	c, err := contractFromObject(m)
	if err != nil {
		return Contract{}, err
	}
	if err := c.Validate(); err != nil {
		return Contract{}, err
	}
	again, err := canon.EncodeASCII(contractObject(c))
	if err != nil || !bytes.Equal(again, payload) {
		return Contract{}, recordError(ReasonNotExact, "record")
	}
	return c, nil
}

// parseRecord parses payload strictly and requires exactly the named members.
func parseRecord(payload []byte, fields []string) (map[string]any, error) {
	v, err := canon.ParseRaw(payload)
	if err != nil {
		if errors.Is(err, canon.ErrDuplicateKey) {
			return nil, recordError(ReasonDuplicateField, "record")
		}
		if errors.Is(err, canon.ErrFloat) {
			return floatReason(payload)
		}
		return nil, recordError(ReasonJSON, "record")
	}
	m, ok := v.(map[string]any)
	if !ok || !hasExactly(m, fields) {
		return nil, recordError(ReasonFields, "record")
	}
	return m, nil
}

// floatReason names the field in which a fraction stands where an integer
// must: the only two integers of a record.
func floatReason(payload []byte) (map[string]any, error) {
	if bytes.Contains(payload, []byte(`"state_version":`)) {
		rest := payload[bytes.Index(payload, []byte(`"state_version":`))+len(`"state_version":`):]
		number, _, _ := bytes.Cut(rest, []byte(","))
		if bytes.ContainsAny(number, ".eE") {
			return nil, recordError(ReasonStateVersion, "state_version")
		}
	}
	return nil, recordError(ReasonLocator, "lifecycle_locator")
}

func hasExactly(m map[string]any, fields []string) bool {
	if len(m) != len(fields) {
		return false
	}
	for _, f := range fields {
		if _, ok := m[f]; !ok {
			return false
		}
	}
	return true
}

func contractFromObject(m map[string]any) (Contract, error) {
	r := &fieldReader{m: m}
	c := Contract{
		ID:                        r.text("contract_id", ReasonIdentifier),
		OperationID:               r.text("operation_id", ReasonIdentifier),
		EndpointSymbol:            r.text("endpoint_symbol", ReasonIdentifier),
		RollbackPlanVersion:       r.text("rollback_plan_version", ReasonIdentifier),
		Capability:                r.text("capability", ReasonCapability),
		Method:                    r.text("http_method", ReasonMethod),
		IdempotencyKey:            r.digest("idempotency_key", ReasonDigest),
		IntentDigest:              r.digest("intent_digest", ReasonDigest),
		SnapshotDigest:            r.digest("snapshot_digest", ReasonDigest),
		TargetFingerprint:         r.digest("target_fingerprint", ReasonDigest),
		TargetIdentityDigest:      r.digest("target_identity_digest", ReasonDigest),
		LifecycleLocator:          r.integer("lifecycle_locator", ReasonLocator),
		StateVersion:              r.integer("state_version", ReasonStateVersion),
		State:                     State(r.text("state", ReasonState)),
		CreatedAt:                 r.instant("created_at"),
		ExpiresAt:                 r.instant("expires_at"),
		ConfirmationDigest:        r.optionalDigest("confirmation_digest", ReasonConfirmationDigest),
		ConfirmedAt:               r.confirmedAt(),
		VerifiedTargetFingerprint: r.optionalDigest("verified_target_fingerprint", ReasonVerifiedFormat),
		ProtectedTarget:           r.artifact("protected_target_identity"),
		ProtectedIntent:           r.artifact("protected_intent"),
		ProtectedSnapshot:         r.artifact("protected_snapshot"),
	}
	if r.err == nil {
		c.Provenance, r.err = provenanceFromObject(m["authorization_provenance"])
	}
	return c, r.err
}

// fieldReader takes typed members out of a parsed record and keeps the first error.
type fieldReader struct {
	m   map[string]any
	err error
}

func (r *fieldReader) fail(reason Reason, name string) {
	if r.err == nil {
		r.err = recordError(reason, name)
	}
}

func (r *fieldReader) text(name string, reason Reason) string {
	s, ok := r.m[name].(string)
	if !ok {
		r.fail(reason, name)
	}
	return s
}

func (r *fieldReader) integer(name string, reason Reason) int64 {
	n, ok := r.m[name].(int64)
	if !ok {
		r.fail(reason, name)
	}
	return n
}

func (r *fieldReader) digest(name string, reason Reason) canon.Digest {
	s, ok := r.m[name].(string)
	if !ok {
		r.fail(reason, name)
		return canon.Digest{}
	}
	d, err := canon.ParseDigest(s)
	if err != nil {
		r.fail(reason, name)
	}
	return d
}

func (r *fieldReader) optionalDigest(name string, reason Reason) *canon.Digest {
	if r.m[name] == nil {
		return nil
	}
	d := r.digest(name, reason)
	return &d
}

func (r *fieldReader) instant(name string) time.Time {
	t, err := parseInstantField(r.m[name], name)
	if err != nil && r.err == nil {
		r.err = err
	}
	return t
}

// confirmedAt: a confirmation time that is not UTC breaks the confirmation's window.
func (r *fieldReader) confirmedAt() *time.Time {
	if r.m["confirmed_at"] == nil {
		return nil
	}
	t, err := parseInstantField(r.m["confirmed_at"], "confirmed_at")
	if err != nil {
		r.fail(ReasonConfirmationWindow, "confirmed_at")
	}
	return &t
}

func (r *fieldReader) artifact(name string) Artifact {
	m, ok := r.m[name].(map[string]any)
	if !ok || !hasExactly(m, []string{"algorithm", "ciphertext", "key_id"}) {
		r.fail(ReasonArtifact, name)
		return Artifact{}
	}
	algorithm, okA := m["algorithm"].(string)
	keyID, okK := m["key_id"].(string)
	text, okC := m["ciphertext"].(string)
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if !okA || !okK || !okC || err != nil || base64.StdEncoding.EncodeToString(raw) != text {
		r.fail(ReasonArtifact, name)
	}
	return Artifact{Algorithm: algorithm, KeyID: keyID, Ciphertext: raw}
}
