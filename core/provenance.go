package core

import (
	"time"

	"countersign/canon"
)

// Provenance records which authorization let a contract be created (design
// section 2; seed 000, Composition-layer wiring compares AuthorizationID with
// every historical attempt).
type Provenance struct {
	AuthorizationID       string
	AuthorityID           string
	StepID                string
	PlanDigest            canon.Digest
	ExecutionIntentDigest canon.Digest
	ApplianceDigest       canon.Digest
	IssuedAt, ExpiresAt   time.Time
}

// provenanceSchema is the one version of both schemas that a record may name.
const provenanceSchema = 2

var provenanceFields = []string{
	"appliance_target_digest", "authority_id", "authorization_expires_at", "authorization_id",
	"authorization_issued_at", "execution_intent_digest", "plan_authorization_schema_version",
	"plan_digest", "schema_version", "step_id",
}

// Validate checks identifiers and window.
func (p Provenance) Validate() error {
	for _, id := range []string{p.AuthorizationID, p.AuthorityID, p.StepID} {
		if !ValidIdentifier(id) {
			return recordError(ReasonProvenanceIdentifier, "authorization_provenance")
		}
	}
	if !p.IssuedAt.Before(p.ExpiresAt) {
		return recordError(ReasonProvenanceWindow, "authorization_provenance")
	}
	return nil
}

func provenanceObject(p *Provenance) any {
	if p == nil {
		return nil
	}
	return map[string]any{
		"appliance_target_digest":           p.ApplianceDigest.String(),
		"authority_id":                      p.AuthorityID,
		"authorization_expires_at":          FormatInstant(p.ExpiresAt),
		"authorization_id":                  p.AuthorizationID,
		"authorization_issued_at":           FormatInstant(p.IssuedAt),
		"execution_intent_digest":           p.ExecutionIntentDigest.String(),
		"plan_authorization_schema_version": int64(provenanceSchema),
		"plan_digest":                       p.PlanDigest.String(),
		"schema_version":                    int64(provenanceSchema),
		"step_id":                           p.StepID,
	}
}

func provenanceFromObject(v any) (*Provenance, error) {
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok || !hasExactly(m, provenanceFields) {
		return nil, recordError(ReasonProvenanceFields, "authorization_provenance")
	}
	if n, ok := m["schema_version"].(int64); !ok || n != provenanceSchema {
		return nil, recordError(ReasonProvenanceSchema, "schema_version")
	}
	if n, ok := m["plan_authorization_schema_version"].(int64); !ok || n != provenanceSchema {
		return nil, recordError(ReasonProvenancePlanSchema, "plan_authorization_schema_version")
	}
	r := &fieldReader{m: m}
	p := &Provenance{
		AuthorizationID:       r.text("authorization_id", ReasonProvenanceIdentifier),
		AuthorityID:           r.text("authority_id", ReasonProvenanceIdentifier),
		StepID:                r.text("step_id", ReasonProvenanceIdentifier),
		PlanDigest:            r.digest("plan_digest", ReasonProvenanceDigest),
		ExecutionIntentDigest: r.digest("execution_intent_digest", ReasonProvenanceDigest),
		ApplianceDigest:       r.digest("appliance_target_digest", ReasonProvenanceDigest),
	}
	p.IssuedAt = provenanceInstant(r, "authorization_issued_at")
	p.ExpiresAt = provenanceInstant(r, "authorization_expires_at")
	return p, r.err
}

func provenanceInstant(r *fieldReader, name string) time.Time {
	t, err := parseInstantField(r.m[name], name)
	if err != nil {
		r.fail(ReasonProvenanceWindow, name)
	}
	return t
}
