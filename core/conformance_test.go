package core_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/canon"
	"countersign/canon/canontest"
	"countersign/core"
)

func TestConformanceFiles(t *testing.T) { canontest.Check(t) }

// The records of the reference decode, validate and encode to the same bytes;
// every invalid and every lenient one is refused with its class.
func TestConformanceContracts(t *testing.T) {
	var file struct {
		Cases []struct {
			Name    string
			Payload []byte `json:"payload_b64"`
			Sum     string `json:"payload_sha256"`
		}
		Invalid []struct {
			Name    string
			Payload string
			Raw     *string `json:"payload_b64"`
			Reason  core.Reason
		}
		Lenient []struct{ Name, Payload string }
	}
	canontest.Load(t, "contracts.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			contract, err := core.DecodeContract(c.Payload)
			if err != nil {
				t.Fatal(err)
			}
			again, err := core.EncodeContract(contract)
			if err != nil || string(again) != string(c.Payload) {
				t.Fatalf("not the same bytes again: %v\n%s", err, again)
			}
		})
	}
	for _, c := range file.Invalid {
		t.Run("invalid/"+c.Name, func(t *testing.T) {
			payload := []byte(c.Payload)
			if c.Raw != nil {
				var err error
				if payload, err = base64.StdEncoding.DecodeString(*c.Raw); err != nil {
					t.Fatal(err)
				}
			}
			_, err := core.DecodeContract(payload)
			if core.ReasonOf(err) != c.Reason {
				t.Fatalf("got %v, want reason %s", err, c.Reason)
			}
		})
	}
	for _, c := range file.Lenient {
		t.Run("lenient/"+c.Name, func(t *testing.T) {
			if _, err := core.DecodeContract([]byte(c.Payload)); core.ReasonOf(err) == "" {
				t.Fatalf("got %v, want a refusal", err)
			}
		})
	}
	canontest.Ran(t, "contracts.json", map[string]int{
		"cases": len(file.Cases), "invalid": len(file.Invalid), "lenient": len(file.Lenient)})
}

func TestConformanceIdempotency(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, Capability string
			Endpoint         string       `json:"endpoint_symbol"`
			Method           string       `json:"http_method"`
			Target           canon.Digest `json:"target_identity_digest"`
			Fingerprint      canon.Digest `json:"target_fingerprint"`
			Locator          int64        `json:"lifecycle_locator"`
			Intent           canon.Digest `json:"intent_digest"`
			Snapshot         canon.Digest `json:"snapshot_digest"`
			Rollback         string       `json:"rollback_plan_version"`
			Key              canon.Digest `json:"idempotency_key"`
		}
	}
	canontest.Load(t, "idempotency.json", &file)
	for _, c := range file.Cases {
		key, err := core.DeriveIdempotencyKey(core.Contract{
			Capability: c.Capability, EndpointSymbol: c.Endpoint, Method: c.Method,
			TargetIdentityDigest: c.Target, TargetFingerprint: c.Fingerprint, LifecycleLocator: c.Locator,
			IntentDigest: c.Intent, SnapshotDigest: c.Snapshot, RollbackPlanVersion: c.Rollback,
		})
		if err != nil || key != c.Key {
			t.Errorf("%s: got %s, %v", c.Name, key, err)
		}
	}
	canontest.Ran(t, "idempotency.json", map[string]int{"cases": len(file.Cases)})
}

// testContract is a contract as the evidence cases describe it.
type testContract struct {
	ID          string       `json:"contract_id"`
	Operation   string       `json:"operation_id"`
	Target      canon.Digest `json:"target_identity_digest"`
	Fingerprint canon.Digest `json:"target_fingerprint"`
	Intent      canon.Digest `json:"intent_digest"`
	Created     string       `json:"created_at"`
	Expires     string       `json:"expires_at"`
	State       core.State   `json:"state"`
	Version     int64        `json:"state_version"`
	Confirmed   bool
	Locator     int64 `json:"lifecycle_locator"`
}

func (c testContract) contract(t *testing.T) core.Contract {
	t.Helper()
	out := core.Contract{ID: c.ID, OperationID: c.Operation, TargetIdentityDigest: c.Target,
		TargetFingerprint: c.Fingerprint, IntentDigest: c.Intent, State: c.State, StateVersion: c.Version,
		LifecycleLocator: c.Locator, CreatedAt: instant(t, c.Created), ExpiresAt: instant(t, c.Expires)}
	if c.Confirmed {
		at := out.CreatedAt
		out.ConfirmationDigest, out.ConfirmedAt = &canon.Digest{}, &at
	}
	return out
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := core.ParseInstant(s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

type authorities struct {
	Authorities []struct {
		ID     string `json:"authority_id"`
		Public string `json:"public_key_hex"`
		Active bool
	}
	Algorithm string `json:"accepted_algorithm"`
}

// verify is the reference's verifier for a set of authorities.
func (a authorities) verify(id, algorithm string, payload, proof []byte) error {
	for _, x := range a.Authorities {
		if key, _ := hex.DecodeString(x.Public); x.ID == id && x.Active && algorithm == a.Algorithm && ed25519.Verify(key, payload, proof) {
			return nil
		}
	}
	return core.ErrProof
}

type confirmationEvidence struct {
	Authority   string  `json:"authority_id"`
	Algorithm   string  `json:"algorithm"`
	Nonce       string  `json:"nonce"`
	Contract    string  `json:"contract_id"`
	Operation   string  `json:"operation_id"`
	Target      string  `json:"target_identity_digest"`
	Fingerprint string  `json:"target_fingerprint"`
	Intent      string  `json:"intent_digest"`
	Expires     string  `json:"expires_at"`
	Issued      string  `json:"issued_at"`
	Proof       hexText `json:"proof_hex"`
}

func (e confirmationEvidence) evidence() (core.ConfirmationEvidence, error) {
	proof, err := hex.DecodeString(string(e.Proof))
	if err != nil {
		return core.ConfirmationEvidence{}, err
	}
	out := core.ConfirmationEvidence{AuthorityID: e.Authority, Algorithm: e.Algorithm, Nonce: e.Nonce,
		ContractID: e.Contract, OperationID: e.Operation, Proof: proof}
	for _, d := range []struct {
		from string
		into *canon.Digest
	}{{e.Target, &out.TargetIdentityDigest}, {e.Fingerprint, &out.TargetFingerprint}, {e.Intent, &out.IntentDigest}} {
		if *d.into, err = canon.ParseDigest(d.from); err != nil {
			return out, err
		}
	}
	if out.IssuedAt, err = core.ParseInstant(e.Issued); err != nil {
		return out, err
	}
	if out.ExpiresAt, err = core.ParseInstant(e.Expires); err != nil {
		return out, err
	}
	return out, out.Validate()
}

func TestConformanceConfirmation(t *testing.T) {
	var file struct {
		authorities
		Cases []struct {
			Name         string
			Contract     testContract
			Evidence     confirmationEvidence
			Payload      string `json:"signing_payload_hex"`
			EvidenceSum  string `json:"evidence_digest"`
			Confirmation string `json:"confirmation_digest"`
			At           string `json:"confirmed_at"`
		}
		Rejects []struct {
			Name, Reason string
			Contract     testContract
			Evidence     confirmationEvidence
			Version      int64  `json:"expected_version"`
			Now          string `json:"now"`
		}
		Malformed []struct {
			Name     string
			Evidence confirmationEvidence
		}
	}
	canontest.Load(t, "confirmation.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			e, err := c.Evidence.evidence()
			if err != nil {
				t.Fatal(err)
			}
			payload, _ := e.SigningPayload()
			evidence, _ := e.Digest()
			confirmation, _ := e.ConfirmationDigest()
			if hex.EncodeToString(payload) != c.Payload || evidence.String() != c.EvidenceSum || confirmation.String() != c.Confirmation {
				t.Fatalf("payload %s\nevidence %s\nconfirmation %s", payload, evidence, confirmation)
			}
			err = core.CheckConfirmation(c.Contract.contract(t), c.Contract.Version, e, instant(t, c.At), func() error {
				return file.verify(e.AuthorityID, e.Algorithm, payload, e.Proof)
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, c := range file.Rejects {
		t.Run("reject/"+c.Name, func(t *testing.T) {
			e, err := c.Evidence.evidence()
			if err != nil {
				t.Fatal(err)
			}
			err = core.CheckConfirmation(c.Contract.contract(t), c.Version, e, instant(t, c.Now), func() error {
				payload, _ := e.SigningPayload()
				switch c.Reason {
				case "verifier_missing":
					return core.ErrVerifierMissing
				case "verifier_failure":
					return core.ErrVerifierFailed
				}
				return file.verify(e.AuthorityID, e.Algorithm, payload, e.Proof)
			})
			wantClass(t, err, c.Reason)
		})
	}
	for _, c := range file.Malformed {
		t.Run("malformed/"+c.Name, func(t *testing.T) {
			if _, err := c.Evidence.evidence(); err == nil {
				t.Fatal("accepted")
			}
		})
	}
	canontest.Ran(t, "confirmation.json", map[string]int{
		"cases": len(file.Cases), "rejects": len(file.Rejects), "malformed": len(file.Malformed)})
}

type reconciliationEvidence struct {
	Authority   string       `json:"authority_id"`
	Algorithm   string       `json:"algorithm"`
	Contract    string       `json:"contract_id"`
	Operation   string       `json:"operation_id"`
	Version     any          `json:"observed_state_version"`
	Outcome     core.Outcome `json:"outcome"`
	Issued      string       `json:"issued_at"`
	Fingerprint *string      `json:"verified_target_fingerprint"`
	Locator     any          `json:"verified_lifecycle_locator"`
	Proof       hexText      `json:"proof_hex"`
}

func (e reconciliationEvidence) evidence() (core.ReconciliationEvidence, error) {
	proof, err := hex.DecodeString(string(e.Proof))
	if err != nil {
		return core.ReconciliationEvidence{}, err
	}
	out := core.ReconciliationEvidence{AuthorityID: e.Authority, Algorithm: e.Algorithm, ContractID: e.Contract,
		OperationID: e.Operation, Outcome: e.Outcome, Proof: proof}
	if out.ObservedStateVersion, err = integer(e.Version); err != nil {
		return out, err
	}
	if e.Locator != nil {
		n, err := integer(e.Locator)
		if err != nil {
			return out, err
		}
		out.VerifiedLifecycleLocator = &n
	}
	if e.Fingerprint != nil {
		d, err := canon.ParseDigest(*e.Fingerprint)
		if err != nil {
			return out, err
		}
		out.VerifiedTargetFingerprint = &d
	}
	if out.IssuedAt, err = core.ParseInstant(e.Issued); err != nil {
		return out, err
	}
	return out, out.Validate()
}

func integer(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, core.ErrInvalid
	}
	return n.Int64()
}

// hexText is hexadecimal text, or a repetition of one.
type hexText string

func (h *hexText) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*h = hexText(text)
		return nil
	}
	var repeated struct {
		Repeat string
		Times  int
	}
	if err := json.Unmarshal(data, &repeated); err != nil {
		return err
	}
	*h = hexText(strings.Repeat(repeated.Repeat, repeated.Times))
	return nil
}

func TestConformanceReconciliation(t *testing.T) {
	var file struct {
		authorities
		Targets map[core.Outcome]core.State `json:"outcome_target_state"`
		Cases   []struct {
			Name        string
			Origin      core.State
			Contract    testContract
			Evidence    reconciliationEvidence
			Payload     string `json:"signing_payload_hex"`
			EvidenceSum string `json:"evidence_digest"`
		}
		Rejects []struct {
			Name, Reason string
			Origin       core.State
			Contract     testContract
			Evidence     reconciliationEvidence
		}
		Malformed []struct {
			Name     string
			Evidence reconciliationEvidence
		}
	}
	canontest.Load(t, "reconciliation.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			e, err := c.Evidence.evidence()
			if err != nil {
				t.Fatal(err)
			}
			payload, _ := e.SigningPayload()
			sum, _ := e.Digest()
			if hex.EncodeToString(payload) != c.Payload || sum.String() != c.EvidenceSum {
				t.Fatalf("payload %s\ndigest %s", payload, sum)
			}
			err = core.CheckReconciliation(c.Contract.contract(t), c.Origin, e, func() error {
				return file.verify(e.AuthorityID, e.Algorithm, payload, e.Proof)
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, c := range file.Rejects {
		t.Run("reject/"+c.Name, func(t *testing.T) {
			e, err := c.Evidence.evidence()
			if err != nil {
				t.Fatal(err)
			}
			err = core.CheckReconciliation(c.Contract.contract(t), c.Origin, e, func() error {
				if c.Reason == "verifier_missing" {
					return core.ErrVerifierMissing
				}
				payload, _ := e.SigningPayload()
				return file.verify(e.AuthorityID, e.Algorithm, payload, e.Proof)
			})
			wantClass(t, err, c.Reason)
		})
	}
	for _, c := range file.Malformed {
		t.Run("malformed/"+c.Name, func(t *testing.T) {
			if _, err := c.Evidence.evidence(); err == nil {
				t.Fatal("accepted")
			}
		})
	}
	for o, want := range file.Targets {
		if got, ok := o.Target(); !ok || got != want {
			t.Errorf("%s leads to %s, want %s", o, got, want)
		}
	}
	canontest.Ran(t, "reconciliation.json", map[string]int{"outcome_target_state": len(file.Targets),
		"cases": len(file.Cases), "rejects": len(file.Rejects), "malformed": len(file.Malformed)})
}
