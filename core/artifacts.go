package core

import (
	"context"
	"fmt"

	"countersign/canon"
)

// Opened is a contract with its protected artifacts decrypted and checked
// against the digests that bind them (design lesson 13).
type Opened struct {
	Contract   Contract
	Capability Capability
	Request    Request
	Identity   Object
	Intent     Object
	Snapshot   Object
	Appliance  canon.Digest
}

// OpenContract decrypts a contract's artifacts, restores the typed request
// and recomputes every digest. Errors wrap ErrPolicy, ErrBinding or the
// sealer's error.
func OpenContract(ctx context.Context, c Contract, caps SpecSet, sealer Sealer) (Opened, error) {
	capability, ok := caps.Find(c.Binding())
	if !ok || capability.Spec().RollbackPlanVersion != c.RollbackPlanVersion {
		return Opened{}, fmt.Errorf("%w: no such capability, endpoint, method and rollback plan", ErrPolicy)
	}
	o := Opened{Contract: c, Capability: capability}
	for _, part := range []struct {
		role Role
		a    Artifact
		into *Object
	}{
		{RoleTargetIdentity, c.ProtectedTarget, &o.Identity},
		{RoleIntent, c.ProtectedIntent, &o.Intent},
		{RoleSnapshot, c.ProtectedSnapshot, &o.Snapshot},
	} {
		plain, err := sealer.Open(ctx, c.ID, part.role, part.a)
		if err != nil {
			return Opened{}, fmt.Errorf("opening the protected %s: %w", part.role, err)
		}
		if *part.into, err = canon.ParseObject(plain); err != nil {
			return Opened{}, fmt.Errorf("%w: protected %s", ErrBinding, part.role)
		}
	}
	return o, o.restore()
}

// restore rebuilds request and appliance from the intent and compares every digest.
func (o *Opened) restore() error {
	text, _ := o.Intent["appliance_target_digest"].(string)
	appliance, err := canon.ParseDigest(text)
	if err != nil {
		return fmt.Errorf("%w: the intent names no appliance", ErrBinding)
	}
	o.Appliance = appliance
	if o.Request, err = o.Capability.RequestFromIntent(o.Intent); err != nil {
		return fmt.Errorf("%w: the intent holds no valid request", ErrBinding)
	}
	d, err := Bind(o.Capability, o.Request, Observation{
		Identity: o.Identity, Projection: o.Snapshot, Locator: o.Contract.LifecycleLocator,
	}, appliance)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBinding, err)
	}
	return o.check(d)
}

func (o *Opened) check(d Draft) error {
	c := o.Contract
	switch {
	case d.IdentityDigest != c.TargetIdentityDigest:
		return fmt.Errorf("%w: target identity", ErrBinding)
	case d.Fingerprint != c.TargetFingerprint:
		return fmt.Errorf("%w: target fingerprint", ErrBinding)
	case d.SnapshotDigest != c.SnapshotDigest:
		return fmt.Errorf("%w: snapshot", ErrBinding)
	case d.IntentDigest != c.IntentDigest:
		return fmt.Errorf("%w: intent", ErrBinding)
	}
	return nil
}

// CheckRequest compares a caller's typed request with the one the contract
// binds: the caller supplies the contract id and the matching request, never
// a contract (seed 003, Authoritative fields).
func (o Opened) CheckRequest(req Request) error {
	d, err := Bind(o.Capability, req, Observation{
		Identity: o.Capability.Identity(req), Projection: o.Snapshot, Locator: o.Contract.LifecycleLocator,
	}, o.Appliance)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBinding, err)
	}
	return o.check(d)
}

// SealDraft protects a draft's artifacts for a contract.
func SealDraft(ctx context.Context, d Draft, contractID string, sealer Sealer) (target, intent, snapshot Artifact, err error) {
	for _, part := range []struct {
		role  Role
		value Object
		into  *Artifact
	}{
		{RoleTargetIdentity, d.Observation.Identity, &target},
		{RoleIntent, d.Intent, &intent},
		{RoleSnapshot, d.Observation.Projection, &snapshot},
	} {
		plain, err := canon.Encode(part.value)
		if err != nil {
			return target, intent, snapshot, fmt.Errorf("protecting the %s: %w", part.role, err)
		}
		if *part.into, err = sealer.Seal(ctx, contractID, part.role, plain); err != nil {
			return target, intent, snapshot, fmt.Errorf("protecting the %s: %w", part.role, err)
		}
	}
	return target, intent, snapshot, nil
}
