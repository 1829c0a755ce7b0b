package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/core"
)

// ErrSignerClock: this machine's clock is behind the console's, so the console
// would refuse the signature as older than what it is about.
var ErrSignerClock = errors.New("this machine's clock is behind the time of the request; set it first")

// ReadRequest reads a request file's bytes, whoever wrote them: a regular file
// of at most 1 MiB. Show and sign the same bytes. Errors wrap ErrFile.
func ReadRequest(path string) ([]byte, error) { return readBounded(path, maxRequestFile) }

// WriteEvidence writes an evidence file for its owner alone (0600), whole or
// not at all, and never over another file. Errors wrap ErrWrite.
func WriteEvidence(path string, evidence []byte) error { return writeNew(path, evidence) }

// SignRequest signs what RenderRequest shows of the same bytes, and returns
// the evidence file's bytes. now is the time of signing. It refuses whatever
// RenderRequest refuses, a window that is over (core.ErrExpired), and a clock
// that is behind (ErrSignerClock).
func SignRequest(ctx context.Context, key *SigningKey, raw []byte, caps core.SpecSet, now time.Time) ([]byte, error) {
	v, err := openRequest(raw, caps)
	if err != nil {
		return nil, err
	}
	now = core.Instant(now)
	if until := closes(v.SigningRequest); !until.IsZero() && !now.Before(until) {
		return nil, fmt.Errorf("%w: nothing was signed", core.ErrExpired)
	}
	if now.Before(v.ExportedAt) {
		return nil, ErrSignerClock
	}
	e := Evidence{Kind: v.Kind, Authorization: v.Authorization, Confirmation: v.Confirmation, Reconciliation: v.Reconciliation}
	e.setSigner(key.ID(), key.Algorithm(e.Kind), now)
	payload, err := e.payload()
	if err != nil {
		return nil, err
	}
	proof, err := key.Sign(e.Kind, payload)
	if err != nil {
		return nil, err
	}
	if err := key.Verify(ctx, e.Kind, key.ID(), key.Algorithm(e.Kind), payload, proof); err != nil {
		return nil, err
	}
	e.setProof(proof)
	return EncodeEvidence(e)
}

func (e Evidence) setSigner(authority, algorithm string, at time.Time) {
	switch {
	case e.Authorization != nil:
		e.Authorization.AuthorityID, e.Authorization.Algorithm, e.Authorization.IssuedAt = authority, algorithm, at
	case e.Confirmation != nil:
		e.Confirmation.AuthorityID, e.Confirmation.Algorithm, e.Confirmation.IssuedAt = authority, algorithm, at
	case e.Reconciliation != nil:
		e.Reconciliation.AuthorityID, e.Reconciliation.Algorithm, e.Reconciliation.IssuedAt = authority, algorithm, at
	}
}

// OffHostKinds are the kinds of proof that requests can ask for.
func OffHostKinds() []core.ProofKind {
	return []core.ProofKind{core.ProofAuthorization, core.ProofConfirmation, core.ProofReconciliation}
}

// PublicKeys are what the owner of a console pins, one key for each kind.
// Errors: ErrClosed.
func (k *SigningKey) PublicKeys() ([]PinnedKey, error) {
	var pins []PinnedKey
	for _, kind := range OffHostKinds() {
		public, err := k.PublicKey(kind)
		if err != nil {
			return nil, err
		}
		pins = append(pins, PinnedKey{AuthorityID: k.id, Kind: kind, PublicKey: public, Active: true})
	}
	return pins, nil
}

// RenderPublicKeys writes pinned keys as they stand in a console's
// configuration. Leave out the kinds that this authority shall not prove.
func RenderPublicKeys(pins []PinnedKey) string {
	var out strings.Builder
	for _, p := range pins {
		fmt.Fprintf(&out, "[[authority]]\nid = %q\nkind = %q\npublic_key = \"%x\"\nactive = %t\n\n",
			p.AuthorityID, p.Kind, []byte(p.PublicKey), p.Active)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
