package core

import (
	"fmt"
	"time"

	"countersign/canon"
)

// Authorization is the one-shot artifact of gate one: it permits one attempt
// at one prepared intent on one appliance (design section 2; seed 000,
// Execution-core preflight). It arrives in the fixed inbox or is issued on
// the spot by an enrolled operator.
type Authorization struct {
	AuthorizationID       string
	AuthorityID           string
	Algorithm             string
	StepID                string
	PlanDigest            canon.Digest
	ExecutionIntentDigest canon.Digest
	ApplianceDigest       canon.Digest
	IssuedAt, ExpiresAt   time.Time
	Proof                 []byte
}

// authorizationSchema is written into every artifact; another one is refused.
const authorizationSchema = "countersign-authorization/1"

func (a Authorization) object() Object {
	return Object{
		"schema":                   authorizationSchema,
		"authorization_id":         a.AuthorizationID,
		"authority_id":             a.AuthorityID,
		"algorithm":                a.Algorithm,
		"step_id":                  a.StepID,
		"plan_digest":              a.PlanDigest.String(),
		"execution_intent_digest":  a.ExecutionIntentDigest.String(),
		"appliance_target_digest":  a.ApplianceDigest.String(),
		"authorization_issued_at":  FormatInstant(a.IssuedAt),
		"authorization_expires_at": FormatInstant(a.ExpiresAt),
	}
}

// SigningPayload is what the authority proves: every field but the proof.
func (a Authorization) SigningPayload() ([]byte, error) { return canon.Encode(a.object()) }

// Provenance is what the contract keeps of its authorization.
func (a Authorization) Provenance() Provenance {
	return Provenance{
		AuthorizationID: a.AuthorizationID, AuthorityID: a.AuthorityID, StepID: a.StepID,
		PlanDigest: a.PlanDigest, ExecutionIntentDigest: a.ExecutionIntentDigest,
		ApplianceDigest: a.ApplianceDigest, IssuedAt: a.IssuedAt, ExpiresAt: a.ExpiresAt,
	}
}

// Validate checks the artifact's own form.
func (a Authorization) Validate() error {
	for _, id := range []string{a.AuthorizationID, a.AuthorityID, a.Algorithm, a.StepID} {
		if !ValidIdentifier(id) {
			return fmt.Errorf("authorization: %w", recordError(ReasonEvidence, "identifier"))
		}
	}
	if !a.IssuedAt.Before(a.ExpiresAt) {
		return fmt.Errorf("authorization: %w", recordError(ReasonEvidence, "window"))
	}
	return checkProofSize(a.Proof)
}

// CheckAuthorization decides whether a may authorize a draft at now; the
// proof is checked last.
func CheckAuthorization(a Authorization, d Draft, now time.Time, verify func() error) error {
	if err := a.Validate(); err != nil {
		return err
	}
	switch {
	case a.IssuedAt.After(now):
		return fmt.Errorf("%w: the authorization is not valid yet", ErrExpired)
	case !now.Before(a.ExpiresAt):
		return fmt.Errorf("%w: the authorization's window is over", ErrExpired)
	case a.ExecutionIntentDigest != d.ExecutionIntentDigest:
		return fmt.Errorf("%w: the authorization is for another prepared intent", ErrBinding)
	case a.StepID != PlanStep:
		return fmt.Errorf("%w: the authorization is for another step", ErrBinding)
	case a.PlanDigest != d.PlanDigest:
		return fmt.Errorf("%w: the authorization is for another plan", ErrBinding)
	case a.ApplianceDigest != d.ApplianceDigest:
		return fmt.Errorf("%w: the authorization is for another firewall", ErrBinding)
	}
	return verify()
}
