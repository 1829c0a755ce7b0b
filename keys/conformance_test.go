package keys

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"countersign/canon"
	"countersign/canon/canontest"
	"countersign/core"
)

func TestConformanceFiles(t *testing.T) { canontest.Check(t) }

// hexBytes is a byte string in hexadecimal.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

type artifactCase struct {
	Name       string    `json:"name"`
	Reason     string    `json:"reason"`
	Key        hexBytes  `json:"key_hex"`
	KeyID      string    `json:"key_id"`
	ContractID string    `json:"contract_id"`
	Role       core.Role `json:"role"`
	Algorithm  string    `json:"algorithm"`
	Nonce      hexBytes  `json:"nonce_hex"`
	Epoch      any       `json:"nonce_epoch"`
	Counter    string    `json:"nonce_counter"`
	AAD        hexBytes  `json:"aad_hex"`
	Plaintext  hexBytes  `json:"plaintext_hex"`
	Ciphertext string    `json:"ciphertext_b64"`
}

func (c artifactCase) artifact(t *testing.T) core.Artifact {
	return core.Artifact{Algorithm: c.Algorithm, KeyID: c.KeyID,
		Ciphertext: must[[]byte](t)(base64.StdEncoding.Strict().DecodeString(c.Ciphertext))}
}

func TestConformanceArtifacts(t *testing.T) {
	var file struct {
		Cases        []artifactCase `json:"cases"`
		Rejects      []artifactCase `json:"rejects"`
		NonceRejects []struct {
			Name    string `json:"name"`
			Epoch   string `json:"epoch"`
			Counter string `json:"counter"`
		} `json:"nonce_rejects"`
	}
	canontest.Load(t, "artifacts.json", &file)
	ctx := context.Background()
	for _, c := range file.Cases {
		nonce := must[[]byte](t)(CounterNonce(string(must[[]byte](t)(json.Marshal(c.Epoch))), c.Counter))
		if !bytes.Equal(nonce, c.Nonce) {
			t.Errorf("%s: nonce %x", c.Name, nonce)
		}
		if aad := artifactAAD(c.ContractID, c.Role); !bytes.Equal(aad, c.AAD) {
			t.Errorf("%s: associated data %x", c.Name, aad)
		}
		sealer := must[*Sealer](t)(NewSealer(NewSecret(c.Key), c.KeyID, bytes.NewReader(nonce)))
		want := c.artifact(t)
		sealed, err := sealer.Seal(ctx, c.ContractID, c.Role, c.Plaintext)
		if err != nil || !bytes.Equal(sealed.Ciphertext, want.Ciphertext) || sealed.Algorithm != want.Algorithm || sealed.KeyID != want.KeyID {
			t.Errorf("%s: sealed as %x (%v)", c.Name, sealed.Ciphertext, err)
		}
		opened, err := sealer.Open(ctx, c.ContractID, c.Role, want)
		if err != nil || !bytes.Equal(opened, c.Plaintext) {
			t.Errorf("%s: opened as %x (%v)", c.Name, opened, err)
		}
	}
	classes := map[string]error{"authentication": ErrArtifactAuthentication, "key": ErrArtifactKey,
		"algorithm": ErrArtifactAlgorithm, "length": ErrArtifactLength}
	for _, c := range file.Rejects {
		sealer, err := NewSealer(NewSecret(c.Key), c.KeyID, newTestRandom(c.Name))
		if err == nil {
			_, err = sealer.Open(ctx, c.ContractID, c.Role, c.artifact(t))
		}
		if class := classes[c.Reason]; class == nil || !errors.Is(err, class) {
			t.Errorf("%s: got %v, want %s", c.Name, err, c.Reason)
		}
	}
	for _, c := range file.NonceRejects {
		if _, err := CounterNonce(c.Epoch, c.Counter); !errors.Is(err, ErrArtifactNonce) {
			t.Errorf("%s: got %v", c.Name, err)
		}
	}
	canontest.Ran(t, "artifacts.json", map[string]int{
		"cases": len(file.Cases), "rejects": len(file.Rejects), "nonce_rejects": len(file.NonceRejects)})
}

type authorityCase struct {
	AuthorityID string   `json:"authority_id"`
	Seed        hexBytes `json:"ed25519_seed_hex"`
	Public      hexBytes `json:"public_key_hex"`
	Active      bool     `json:"active"`
}

// pinCases pins a file's authorities for a kind, and checks their keys.
func pinCases(t *testing.T, kind core.ProofKind, authorities []authorityCase) (*Pinned, map[string]ed25519.PrivateKey) {
	t.Helper()
	var pins []PinnedKey
	signers := map[string]ed25519.PrivateKey{}
	for _, a := range authorities {
		private := ed25519.NewKeyFromSeed(a.Seed)
		if !bytes.Equal(private[ed25519.SeedSize:], a.Public) {
			t.Fatalf("%s: another public key", a.AuthorityID)
		}
		pins = append(pins, PinnedKey{a.AuthorityID, kind, ed25519.PublicKey(a.Public), a.Active})
		signers[a.AuthorityID] = private
	}
	return must[*Pinned](t)(NewPinned(pins...)), signers
}

// signatureCase is what confirmation and reconciliation cases have in common.
type signatureCase[E any] struct {
	Name     string   `json:"name"`
	Reason   string   `json:"reason"`
	Evidence E        `json:"evidence"`
	Payload  hexBytes `json:"signing_payload_hex"`
}

type evidenceCase interface {
	signed() (authorityID, algorithm string, proof []byte)
	payload(t *testing.T) ([]byte, error)
}

// checkSignatures: an accepted case verifies and is what its authority signs;
// a case rejected by the verifier is refused here; one that is rejected for
// another reason has a good signature, and it is core that refuses it.
func checkSignatures[E evidenceCase](t *testing.T, file string, kind core.ProofKind, authorities []authorityCase, cases, rejects, notes []signatureCase[E]) {
	t.Helper()
	byVerifier, verified := 0, 0
	ctx := context.Background()
	pinned, signers := pinCases(t, kind, authorities)
	verify := func(c signatureCase[E]) error {
		payload := must[[]byte](t)(c.Evidence.payload(t))
		if c.Payload != nil && !bytes.Equal(payload, c.Payload) {
			t.Errorf("%s: signing payload %s", c.Name, payload)
		}
		id, algorithm, proof := c.Evidence.signed()
		return pinned.Verify(ctx, kind, id, algorithm, payload, proof)
	}
	for _, c := range append(cases, notes...) {
		if id, _, _ := c.Evidence.signed(); id == "" {
			t.Logf("%s: not run here, the note carries no evidence", c.Name)
			continue
		}
		verified++
		if err := verify(c); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	for _, c := range cases {
		id, _, proof := c.Evidence.signed()
		if !bytes.Equal(ed25519.Sign(signers[id], c.Payload), proof) {
			t.Errorf("%s: another signature", c.Name)
		}
	}
	for _, c := range rejects {
		err := verify(c)
		if c.Reason == "verifier" {
			byVerifier++
			if !errors.Is(err, core.ErrProof) {
				t.Errorf("%s: got %v", c.Name, err)
			}
		} else if err != nil {
			t.Errorf("%s (%s): the signature itself was refused: %v", c.Name, c.Reason, err)
		}
	}
	if byVerifier == 0 {
		t.Error("no case is rejected by the verifier")
	}
	canontest.Ran(t, file, map[string]int{"cases": len(cases), "rejects": len(rejects), "notes": len(notes)})
	t.Logf("%s: %d signatures verified, %d refused, %d good ones of cases that core refuses",
		file, verified, byVerifier, len(rejects)-byVerifier)
}

type confirmationJSON struct {
	AuthorityID          string       `json:"authority_id"`
	Algorithm            string       `json:"algorithm"`
	Nonce                string       `json:"nonce"`
	ContractID           string       `json:"contract_id"`
	OperationID          string       `json:"operation_id"`
	TargetIdentityDigest canon.Digest `json:"target_identity_digest"`
	TargetFingerprint    canon.Digest `json:"target_fingerprint"`
	IntentDigest         canon.Digest `json:"intent_digest"`
	IssuedAt             string       `json:"issued_at"`
	ExpiresAt            string       `json:"expires_at"`
	Proof                hexBytes     `json:"proof_hex"`
}

func (e confirmationJSON) signed() (string, string, []byte) {
	return e.AuthorityID, e.Algorithm, e.Proof
}

func (e confirmationJSON) payload(t *testing.T) ([]byte, error) {
	instant := must[time.Time](t)
	return core.ConfirmationEvidence{
		AuthorityID: e.AuthorityID, Algorithm: e.Algorithm, Nonce: e.Nonce, ContractID: e.ContractID, OperationID: e.OperationID,
		TargetIdentityDigest: e.TargetIdentityDigest, TargetFingerprint: e.TargetFingerprint, IntentDigest: e.IntentDigest,
		IssuedAt: instant(core.ParseInstant(e.IssuedAt)), ExpiresAt: instant(core.ParseInstant(e.ExpiresAt)), Proof: e.Proof,
	}.SigningPayload()
}

func TestConformanceConfirmation(t *testing.T) {
	var file struct {
		Accepted    string                            `json:"accepted_algorithm"`
		Authorities []authorityCase                   `json:"authorities"`
		Cases       []signatureCase[confirmationJSON] `json:"cases"`
		Rejects     []signatureCase[confirmationJSON] `json:"rejects"`
		Notes       []signatureCase[confirmationJSON] `json:"notes"`
	}
	canontest.Load(t, "confirmation.json", &file)
	if file.Accepted != Ed25519Algorithm(core.ProofConfirmation) {
		t.Errorf("the accepted algorithm is %s", file.Accepted)
	}
	checkSignatures(t, "confirmation.json", core.ProofConfirmation, file.Authorities, file.Cases, file.Rejects, file.Notes)
}

type reconciliationJSON struct {
	AuthorityID string        `json:"authority_id"`
	Algorithm   string        `json:"algorithm"`
	ContractID  string        `json:"contract_id"`
	OperationID string        `json:"operation_id"`
	Version     int64         `json:"observed_state_version"`
	Outcome     core.Outcome  `json:"outcome"`
	IssuedAt    string        `json:"issued_at"`
	Fingerprint *canon.Digest `json:"verified_target_fingerprint"`
	Locator     *int64        `json:"verified_lifecycle_locator"`
	Proof       hexBytes      `json:"proof_hex"`
}

func (e reconciliationJSON) signed() (string, string, []byte) {
	return e.AuthorityID, e.Algorithm, e.Proof
}

func (e reconciliationJSON) payload(t *testing.T) ([]byte, error) {
	return core.ReconciliationEvidence{
		AuthorityID: e.AuthorityID, Algorithm: e.Algorithm, ContractID: e.ContractID, OperationID: e.OperationID,
		ObservedStateVersion: e.Version, Outcome: e.Outcome, IssuedAt: must[time.Time](t)(core.ParseInstant(e.IssuedAt)),
		VerifiedTargetFingerprint: e.Fingerprint, VerifiedLifecycleLocator: e.Locator, Proof: e.Proof,
	}.SigningPayload()
}

func TestConformanceReconciliation(t *testing.T) {
	var file struct {
		Accepted    string                              `json:"accepted_algorithm"`
		Authorities []authorityCase                     `json:"authorities"`
		Cases       []signatureCase[reconciliationJSON] `json:"cases"`
		Rejects     []signatureCase[reconciliationJSON] `json:"rejects"`
		Notes       []signatureCase[reconciliationJSON] `json:"notes"`
	}
	canontest.Load(t, "reconciliation.json", &file)
	if file.Accepted != Ed25519Algorithm(core.ProofReconciliation) {
		t.Errorf("the accepted algorithm is %s", file.Accepted)
	}
	checkSignatures(t, "reconciliation.json", core.ProofReconciliation, file.Authorities, file.Cases, file.Rejects, file.Notes)
}
