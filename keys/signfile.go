package keys

import (
	"context"
	"errors"
	"io"
	"time"

	"countersign/core"
)

// ErrNotApproved: the person who was shown a request did not agree to it.
var ErrNotApproved = errors.New("not approved; nothing was signed")

// SignFile is one signing on a machine of its own: a request is shown in full
// to a person, and exactly what was shown is signed.
type SignFile struct {
	Request      string // the request's file
	Evidence     string // where to write; "" beside the request, with .signed
	Authority    string
	Passphrase   []byte // zeroed
	Capabilities core.SpecSet
	Now          time.Time
	// Approve is shown the whole request and says whether the person agreed.
	Approve func(rendered string) (bool, error)
}

// Sign renders, asks, signs and writes the evidence, and returns its path.
// Errors: ErrNotApproved, those of RenderRequest, OpenSigningKey, SignRequest
// and WriteEvidence.
func (s SignFile) Sign(ctx context.Context, ring Keyring) (string, error) {
	defer clear(s.Passphrase)
	raw, err := ReadRequest(s.Request)
	if err != nil {
		return "", err
	}
	text, err := RenderRequest(raw, s.Capabilities)
	if err != nil {
		return "", err
	}
	if agreed, err := s.Approve(text); err != nil || !agreed {
		return "", errors.Join(err, ErrNotApproved)
	}
	key, err := OpenSigningKey(ctx, ring, s.Authority, s.Passphrase)
	if err != nil {
		return "", err
	}
	defer key.Close()
	evidence, err := SignRequest(ctx, key, raw, s.Capabilities, s.Now)
	if err != nil {
		return "", err
	}
	if s.Evidence == "" {
		s.Evidence = s.Request + ".signed"
	}
	return s.Evidence, WriteEvidence(s.Evidence, evidence)
}

// NewAuthority makes an off-host authority's key and writes its public keys
// as they stand in a console's configuration.
func NewAuthority(ctx context.Context, ring Keyring, random io.Reader, authority string, passphrase []byte, out io.Writer) error {
	key, err := CreateSigningKey(ctx, ring, random, DefaultCost(), authority, passphrase)
	if err != nil {
		return err
	}
	defer key.Close()
	pins, err := key.PublicKeys()
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, RenderPublicKeys(pins))
	return err
}
