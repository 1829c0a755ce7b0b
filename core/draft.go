package core

import (
	"fmt"
	"time"

	"countersign/canon"
)

// Draft is a prepared change before anything is created: a fresh reading,
// every digest, and the exact difference (design section 2, step 1). Two
// drafts of the same request from the same reading have the same digests.
type Draft struct {
	RequestKey  string // survives a lost answer or a crash (design section 5)
	Operator    string
	Spec        Spec
	Request     Request
	Observation Observation
	Intent      Object // the protected intent's plaintext
	Changes     []Change
	Waiting     Waiting // to be loaded already, shown first (rule 7)
	PreparedAt  time.Time
	LoadAfter   bool // the operator agreed to loading in the same request

	IdentityDigest        canon.Digest
	Fingerprint           canon.Digest
	IntentDigest          canon.Digest
	SnapshotDigest        canon.Digest
	ApplianceDigest       canon.Digest
	ExecutionIntentDigest canon.Digest
	PlanDigest            canon.Digest
	IdempotencyKey        canon.Digest
}

// PlanStep is the step that a console change authorizes.
const PlanStep = "single-change"

// planPurpose separates plan digests from every digest of the seeds.
const planPurpose = canon.Purpose("countersign-plan")

// Bind computes every digest of a change from one reading (seed 003,
// Canonicalization and digests).
func Bind(c Capability, req Request, o Observation, appliance canon.Digest) (Draft, error) {
	spec := c.Spec()
	b := spec.Binding()
	d := Draft{Spec: spec, Request: req, Observation: o, ApplianceDigest: appliance}
	d.Intent = executorIntent(spec, c.Intent(req), c.Identity(req), appliance)
	full := executorIntent(spec, c.Intent(req), c.RawTarget(o.Projection, o.Locator), appliance)

	var err error
	sum := func(into *canon.Digest, f func() (canon.Digest, error)) {
		if err == nil {
			*into, err = f()
		}
	}
	sum(&d.IdentityDigest, func() (canon.Digest, error) { return b.IdentityDigest(o.Identity) })
	sum(&d.Fingerprint, func() (canon.Digest, error) { return b.FingerprintDigest(o.Projection) })
	sum(&d.IntentDigest, func() (canon.Digest, error) { return b.IntentDigest(full) })
	sum(&d.SnapshotDigest, func() (canon.Digest, error) { return b.SnapshotDigest(o.Projection) })
	sum(&d.ExecutionIntentDigest, func() (canon.Digest, error) {
		return ExecutionIntentDigest(spec, d.Intent, o.Identity, o.Projection)
	})
	sum(&d.PlanDigest, func() (canon.Digest, error) {
		return canon.Sum(planPurpose, []string{PlanStep}, Object{
			"execution_intent_digest": d.ExecutionIntentDigest.String(),
			"lifecycle_locator":       o.Locator,
		})
	})
	sum(&d.IdempotencyKey, func() (canon.Digest, error) { return DeriveIdempotencyKey(d.bindings()) })
	if err != nil {
		return Draft{}, fmt.Errorf("binding the change: %w", err)
	}
	return d, nil
}

// bindings is a contract with only the digest-bound fields.
func (d Draft) bindings() Contract {
	return Contract{
		Capability: d.Spec.Capability, EndpointSymbol: d.Spec.EndpointSymbol, Method: d.Spec.Method,
		TargetIdentityDigest: d.IdentityDigest, TargetFingerprint: d.Fingerprint,
		IntentDigest: d.IntentDigest, SnapshotDigest: d.SnapshotDigest,
		RollbackPlanVersion: d.Spec.RollbackPlanVersion, LifecycleLocator: d.Observation.Locator,
		IdempotencyKey: d.IdempotencyKey,
	}
}

// Matches reports whether a fresh preparation equals the authorized one,
// digest by digest and in its locator (design section 2).
func (d Draft) Matches(fresh Draft) bool {
	return d.IdempotencyKey == fresh.IdempotencyKey && d.PlanDigest == fresh.PlanDigest &&
		d.ExecutionIntentDigest == fresh.ExecutionIntentDigest && d.ApplianceDigest == fresh.ApplianceDigest
}
