package keys

import (
	"encoding/base64"
	"fmt"
	"time"

	"countersign/canon"
	"countersign/core"
)

// Evidence is the one signed artifact that an evidence file holds in full.
type Evidence struct {
	Kind           core.ProofKind
	Authorization  *core.Authorization
	Confirmation   *core.ConfirmationEvidence
	Reconciliation *core.ReconciliationEvidence
}

// EncodeEvidence writes an evidence file's bytes. It holds digests, names and
// the proof, and no value in plain text. Errors wrap core.ErrInvalid or
// core.ErrRecord.
func EncodeEvidence(e Evidence) ([]byte, error) {
	if err := e.validate(); err != nil {
		return nil, err
	}
	bound, err := e.object()
	if err != nil {
		return nil, err
	}
	return canon.Encode(core.Object{
		"schema": evidenceSchema, "version": int64(fileVersion), "kind": string(e.Kind),
		"evidence": bound, "proof": base64.StdEncoding.EncodeToString(e.proof()),
	})
}

// DecodeEvidence accepts exactly what EncodeEvidence writes. It checks form
// and no proof. Errors wrap ErrFile or ErrNewerFile.
func DecodeEvidence(raw []byte) (Evidence, error) {
	m, err := openFile(raw, evidenceSchema, maxEvidenceFile)
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{Kind: core.ProofKind(take[string](m, "kind"))}
	m.within("evidence", func(bound *members) { e.read(bound, true) })
	e.setProof(m.bytes("proof"))
	if m.err != nil {
		return Evidence{}, m.err
	}
	again, err := EncodeEvidence(e)
	return e, exact(raw, again, err)
}

// object is what the evidence binds: the very members that are signed.
func (e Evidence) object() (core.Object, error) {
	payload, err := e.payload()
	if err != nil {
		return nil, err
	}
	return canon.ParseObject(payload)
}

func (e Evidence) payload() ([]byte, error) {
	switch {
	case e.Authorization != nil:
		return e.Authorization.SigningPayload()
	case e.Confirmation != nil:
		return e.Confirmation.SigningPayload()
	case e.Reconciliation != nil:
		return e.Reconciliation.SigningPayload()
	}
	return nil, fmt.Errorf("%w: there is no evidence", core.ErrInvalid)
}

func (e Evidence) validate() error {
	switch {
	case e.Kind == core.ProofAuthorization && e.Authorization != nil:
		return e.Authorization.Validate()
	case e.Kind == core.ProofConfirmation && e.Confirmation != nil:
		return e.Confirmation.Validate()
	case e.Kind == core.ProofReconciliation && e.Reconciliation != nil:
		return e.Reconciliation.Validate()
	}
	return fmt.Errorf("%w: kind of evidence", core.ErrInvalid)
}

func (e Evidence) proof() []byte {
	switch {
	case e.Authorization != nil:
		return e.Authorization.Proof
	case e.Confirmation != nil:
		return e.Confirmation.Proof
	case e.Reconciliation != nil:
		return e.Reconciliation.Proof
	}
	return nil
}

func (e Evidence) setProof(proof []byte) {
	switch {
	case e.Authorization != nil:
		e.Authorization.Proof = proof
	case e.Confirmation != nil:
		e.Confirmation.Proof = proof
	case e.Reconciliation != nil:
		e.Reconciliation.Proof = proof
	}
}

// read takes the bound members of e.Kind. Those that the signer adds are there
// only once it is signed. A schema that evidence
// names for itself is compared when the file is written again.
func (e *Evidence) read(m *members, signed bool) {
	by := signer{m, signed}
	switch e.Kind {
	case core.ProofAuthorization:
		e.Authorization = &core.Authorization{
			AuthorityID: by.text("authority_id"), Algorithm: by.text("algorithm"), IssuedAt: by.instant("authorization_issued_at"),
			AuthorizationID: take[string](m, "authorization_id"), StepID: take[string](m, "step_id"),
			PlanDigest: m.digest("plan_digest"), ExecutionIntentDigest: m.digest("execution_intent_digest"),
			ApplianceDigest: m.digest("appliance_target_digest"), ExpiresAt: m.instant("authorization_expires_at")}
	case core.ProofConfirmation:
		e.Confirmation = &core.ConfirmationEvidence{
			AuthorityID: by.text("authority_id"), Algorithm: by.text("algorithm"), IssuedAt: by.instant("issued_at"),
			Nonce: take[string](m, "nonce"), ContractID: take[string](m, "contract_id"), OperationID: take[string](m, "operation_id"),
			TargetIdentityDigest: m.digest("target_identity_digest"), TargetFingerprint: m.digest("target_fingerprint"),
			IntentDigest: m.digest("intent_digest"), ExpiresAt: m.instant("expires_at")}
	case core.ProofReconciliation:
		e.Reconciliation = &core.ReconciliationEvidence{
			AuthorityID: by.text("authority_id"), Algorithm: by.text("algorithm"), IssuedAt: by.instant("issued_at"),
			ContractID: take[string](m, "contract_id"), OperationID: take[string](m, "operation_id"),
			ObservedStateVersion:      take[int64](m, "observed_state_version"),
			Outcome:                   core.Outcome(take[string](m, "outcome")),
			VerifiedTargetFingerprint: m.optionalDigest("verified_target_fingerprint")}
		if locator, present := optional[int64](m, "verified_lifecycle_locator"); present {
			e.Reconciliation.VerifiedLifecycleLocator = &locator
		}
	default:
		m.fail("kind")
	}
}

// signer reads the members that a signature adds; before it they are empty.
type signer struct {
	m      *members
	signed bool
}

func (s signer) text(name string) string {
	if !s.signed {
		return ""
	}
	return take[string](s.m, name)
}

func (s signer) instant(name string) (t time.Time) {
	if !s.signed {
		return t
	}
	return s.m.instant(name)
}
