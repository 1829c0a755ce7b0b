package pfsense

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"

	"countersign/canon"
	"countersign/core"
)

// Trust is how a firewall's certificate is verified. The zero value is
// SystemRoots.
type Trust struct {
	roots *x509.CertPool
	ca    *canon.Digest
	pin   *canon.Digest
}

// SystemRoots trusts what this machine trusts.
func SystemRoots() Trust { return Trust{} }

const maxCAFile = 1 << 20

// CAFile trusts the CA certificates in a PEM file, and no others. The digest
// of the file's bytes is part of the firewall's identity. Errors wrap
// core.ErrInvalid.
func CAFile(path string) (Trust, error) {
	data, err := readRegular(path, maxCAFile)
	if err != nil {
		return Trust{}, fmt.Errorf("%w: the CA file cannot be read: %w", core.ErrInvalid, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return Trust{}, fmt.Errorf("%w: the CA file has no PEM certificate", core.ErrInvalid)
	}
	digest := canon.Digest(sha256.Sum256(data))
	return Trust{roots: roots, ca: &digest}, nil
}

func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("not a regular file of at most %d bytes", limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// PinnedKey trusts the one server whose public key has this fingerprint: the
// SHA-256 of its SubjectPublicKeyInfo, 64 lower-case hexadecimal digits, as
// FetchFingerprint gave it at enrolment. The certificate's name and dates are
// not looked at, because pfSense's own certificate carries neither a useful
// name nor the address; the key is. Errors wrap core.ErrInvalid.
func PinnedKey(fingerprint string) (Trust, error) {
	pin, err := canon.ParseDigest(fingerprint)
	if err != nil {
		return Trust{}, fmt.Errorf("%w: a key fingerprint is 64 lower-case hexadecimal digits", core.ErrInvalid)
	}
	return Trust{pin: &pin}, nil
}

// identity gives what the choice adds to core.ApplianceIdentity.
func (t Trust) identity() (mode string, digest *canon.Digest) {
	switch {
	case t.pin != nil:
		return "auto", t.pin
	case t.ca != nil:
		return "auto", t.ca
	}
	return "strict", nil
}

// config builds the TLS settings of one connection. There is no session cache,
// so every connection is a full handshake with the checks made anew.
func (t Trust) config(serverName string) *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		ServerName: serverName,
		RootCAs:    t.roots,
	}
	if t.pin != nil {
		// Name and chain cannot be checked; the pinned key is, in their place
		// and on every connection.
		c.InsecureSkipVerify = true
		c.VerifyConnection = t.checkPin
	}
	return c
}

func (t Trust) checkPin(s tls.ConnectionState) error {
	presented, err := peerPin(s)
	if err == nil && presented != *t.pin {
		err = &PinError{Expected: *t.pin, Presented: presented}
	}
	return err
}
