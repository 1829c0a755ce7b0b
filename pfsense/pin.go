package pfsense

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"countersign/canon"
)

// Fingerprint is the SHA-256 of a certificate's public key
// (SubjectPublicKeyInfo): it survives a renewed certificate with the same key.
func Fingerprint(cert *x509.Certificate) canon.Digest {
	return sha256.Sum256(cert.RawSubjectPublicKeyInfo)
}

func peerPin(s tls.ConnectionState) (canon.Digest, error) {
	if len(s.PeerCertificates) == 0 {
		return canon.Digest{}, errors.New("the server showed no certificate")
	}
	return Fingerprint(s.PeerCertificates[0]), nil
}

// PinError says that the server has another key than the pinned one.
type PinError struct{ Expected, Presented canon.Digest }

// Error shows both fingerprints; neither is secret.
func (e *PinError) Error() string {
	return "the firewall's key has changed: pinned " + e.Expected.String() +
		", presented " + e.Presented.String()
}

// Presented is what a server shows of itself before it is trusted. Its texts
// come from the network and must be sanitised before they are shown.
type Presented struct {
	Pin                 canon.Digest // what PinnedKey takes, as text
	Subject             string
	Names               []string // DNS names and addresses in the certificate
	NotBefore, NotAfter time.Time
}

// FetchFingerprint connects for enrolment, finishes a TLS handshake without
// trusting anything, sends no request and no key, and returns what the server
// showed. A person must compare the fingerprint with the firewall's own
// (System > Certificates, or its console) before it is pinned. Errors wrap
// core.ErrInvalid for the URL, core.ErrAppliance otherwise.
func FetchFingerprint(ctx context.Context, baseURL string) (Presented, error) {
	base, err := NormalizeBaseURL(baseURL)
	if err != nil {
		return Presented{}, err
	}
	d, err := newDialer(base, SystemRoots(), "", DefaultDeadlines())
	if err != nil {
		return Presented{}, err
	}
	var shown Presented
	look := func(s tls.ConnectionState) error {
		pin, err := peerPin(s)
		if err != nil {
			return err
		}
		shown = describe(s.PeerCertificates[0], pin)
		return nil
	}
	d.config = func() *tls.Config {
		c := SystemRoots().config(d.name)
		c.InsecureSkipVerify = true // nothing is sent: this only looks at the key
		c.VerifyConnection = look
		return c
	}
	conn, err := d.open(ctx)
	if err != nil {
		return Presented{}, err
	}
	return shown, conn.Close()
}

func describe(cert *x509.Certificate, pin canon.Digest) Presented {
	p := Presented{
		Pin:       pin,
		Subject:   cert.Subject.String(),
		Names:     append([]string(nil), cert.DNSNames...),
		NotBefore: cert.NotBefore,
		NotAfter:  cert.NotAfter,
	}
	for _, ip := range cert.IPAddresses {
		p.Names = append(p.Names, ip.String())
	}
	return p
}
