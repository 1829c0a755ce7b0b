package core

import "countersign/canon"

// Object is a canonical JSON object: nil, bool, int64, string, []any and
// nested objects as values (canon's value model).
type Object = map[string]any

// Binding is the policy triple capability, endpoint symbol and method.
type Binding struct{ Capability, EndpointSymbol, Method string }

func (b Binding) context() []string { return []string{b.Capability, b.EndpointSymbol, b.Method} }

// IdentityDigest digests a target's natural identity. Its context is the
// capability alone: endpoints of one capability share reservations.
func (b Binding) IdentityDigest(identity Object) (canon.Digest, error) {
	return canon.Sum(canon.TargetIdentity, []string{b.Capability}, identity)
}

// FingerprintDigest digests a target's fingerprint projection.
func (b Binding) FingerprintDigest(projection Object) (canon.Digest, error) {
	return canon.Sum(canon.TargetFingerprint, b.context(), projection)
}

// SnapshotDigest digests a protected snapshot.
func (b Binding) SnapshotDigest(snapshot Object) (canon.Digest, error) {
	return canon.Sum(canon.Snapshot, b.context(), snapshot)
}

// IntentDigest digests the executor's intent: operation, new values,
// appliance, and the whole observed target.
func (b Binding) IntentDigest(intent Object) (canon.Digest, error) {
	return canon.Sum(canon.Intent, b.context(), intent)
}

// executorIntent builds what IntentDigest binds; hint is the full observed target.
func executorIntent(spec Spec, extra Object, hint Object, appliance canon.Digest) Object {
	intent := Object{
		"operation":               spec.SemanticUnit,
		"raw_target_hint":         hint,
		"appliance_target_digest": appliance.String(),
	}
	for k, v := range extra {
		intent[k] = v
	}
	return intent
}

// executionIntentSchema is the version inside an execution intent.
const executionIntentSchema = 1

// ExecutionIntentDigest is what an authorization authorizes: the complete
// prepared execution. intent is the protected intent's plaintext, identity the
// natural identity, and the snapshot is also the precondition.
func ExecutionIntentDigest(spec Spec, intent, identity, snapshot Object) (canon.Digest, error) {
	return canon.Sum(canon.ExecutionIntent, []string{"PreparedExecutionIntentV1"}, Object{
		"adapter_version":            spec.AdapterVersion,
		"capability":                 spec.Capability,
		"endpoint_symbol":            spec.EndpointSymbol,
		"http_method":                spec.Method,
		"normalized_mutation_intent": intent,
		"resource_target":            identity,
		"rollback_plan_version":      spec.RollbackPlanVersion,
		"rollback_snapshot":          snapshot,
		"schema_version":             int64(executionIntentSchema),
		"target_precondition":        snapshot,
	})
}

// ApplianceIdentity is which firewall the console is configured for.
type ApplianceIdentity struct {
	BaseURL          string        // https://host[:port], normalised once at configuration (lesson 22)
	TLSMode          string        // "strict" (system roots) or "auto" (a pinned CA or certificate)
	CACertificate    *canon.Digest // nil under system roots
	Installation     string        // netgate_id, or pfhostid where that is empty
	InstallationKind string        // "netgate_id" or "pfhostid"
}

// Digest binds an appliance's identity into intents and authorizations.
func (a ApplianceIdentity) Digest() (canon.Digest, error) {
	return canon.Sum(canon.TargetIdentity, []string{"configured-pfsense-appliance-v1"}, Object{
		"ca_certificate_digest":      digestOrNull(a.CACertificate),
		"configured_base_url":        a.BaseURL,
		"installation_identity":      a.Installation,
		"installation_identity_kind": a.InstallationKind,
		"tls_mode":                   a.TLSMode,
	})
}
