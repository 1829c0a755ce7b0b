package sim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// identity is a certificate with its key.
type identity struct {
	cert        tls.Certificate
	pem         []byte
	fingerprint string
}

// newIdentity makes a self-signed certificate as pfSense does for its GUI, with the addresses that tests use. The key
// is always from the system's random source: an injected one decides what the appliance does, never what it signs with.
func newIdentity(now time.Time) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("sim: making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("sim: making a serial number: %w", err)
	}
	name := fmt.Sprintf("pfSense-%012x", serial)
	tmpl := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"pfSense GUI default Self-Signed Certificate"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(398 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
		DNSNames: []string{name, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sim: signing the certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("sim: reading the certificate back: %w", err)
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return &identity{
		cert:        tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		pem:         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		fingerprint: hex.EncodeToString(sum[:]),
	}, nil
}

// newIdentities makes the appliance's certificate and the one of an impostor.
func newIdentities() (right, wrong *identity, err error) {
	now := time.Now()
	if right, err = newIdentity(now); err != nil {
		return nil, nil, err
	}
	wrong, err = newIdentity(now)
	return right, wrong, err
}

func (id *identity) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{id.cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}
