package pfsense_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
	"countersign/core"
	"countersign/pfsense"
)

func TestNormalizeBaseURL(t *testing.T) {
	accepted := map[string]string{
		"https://fw.example.net":        "https://fw.example.net",
		"https://FW.Example.NET":        "https://fw.example.net",
		"https://fw.example.net:443":    "https://fw.example.net:443",
		"https://192.0.2.1:8443":        "https://192.0.2.1:8443",
		"https://[2001:DB8:0::1]":       "https://[2001:db8::1]",
		"https://[2001:db8::1]:8443":    "https://[2001:db8::1]:8443",
		"https://localhost:1":           "https://localhost:1",
		"https://pfsense_lab.home.arpa": "https://pfsense_lab.home.arpa",
	}
	for raw, want := range accepted {
		if got, err := pfsense.NormalizeBaseURL(raw); err != nil || got != want {
			t.Errorf("%q: got %q, %v", raw, got, err)
		}
	}
	refused := []string{
		"", "fw.example.net", "http://fw.example.net", "HTTPS://fw.example.net", "https:fw", "https://",
		"https://fw.example.net/", "https://fw.example.net/x", "https://fw.example.net?x", "https://fw.example.net#x",
		"https://u@fw.example.net", "https://u:p@fw.example.net", "https://fw.example.net:", "https://fw.example.net:0",
		"https://fw.example.net:65536", "https://fw.example.net:x", "https://fw.example.net:0443", "https://fw.example.net:+443",
		"https://fw.example.net.", "https://.example.net", "https://fw..example.net", "https://-fw.example.net", "https://fw example.net",
		" https://fw.example.net", "https://fw.example.net\n", "https://fw\x00", "https://fw%2eexample.net", "https://f\u00fc.example.net",
		"https://2001:db8::1", "https://[2001:db8::1", "https://[2001:db8::1]x", "https://[fe80::1%25eth0]", "https://[192.0.2.1]", "https://[]",
		"https://192.0.2", "https://192.0.2.256", "https://" + strings.Repeat("a.", 130) + "net",
	}
	for _, raw := range refused {
		if got, err := pfsense.NormalizeBaseURL(raw); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: got %q, %v", raw, got, err)
		}
	}
}

type applianceCases struct {
	Digest struct {
		Cases []struct {
			BaseURL string        `json:"base_url"`
			TLSMode string        `json:"tls_mode"`
			CA      *canon.Digest `json:"ca_certificate_digest"`
			Kind    string        `json:"identity_kind"`
			ID      string        `json:"identity"`
			Digest  string        `json:"digest"`
		} `json:"cases"`
		Targets []struct {
			Name    string  `json:"name"`
			BaseURL *string `json:"base_url"`
			TLSMode string  `json:"tls_mode"`
			CA      *string `json:"ca_certificate_digest"`
			Result  string  `json:"result"`
		} `json:"targets"`
	} `json:"appliance_digest"`
}

func TestConformanceApplianceDigest(t *testing.T) {
	var all applianceCases
	canontest.Load(t, "capabilities.json", &all)
	for _, c := range all.Digest.Cases {
		id := core.ApplianceIdentity{BaseURL: c.BaseURL, TLSMode: c.TLSMode, CACertificate: c.CA, Installation: c.ID, InstallationKind: c.Kind}
		if digest, err := id.Digest(); err != nil || digest.String() != c.Digest {
			t.Errorf("%+v: got %s, %v", c, digest, err)
		}
		// Lesson 22: at configuration there is one spelling.
		normal, err := pfsense.NormalizeBaseURL(c.BaseURL)
		if err != nil || normal != strings.ToLower(c.BaseURL) {
			t.Errorf("%s: normalised to %q, %v", c.BaseURL, normal, err)
		}
	}
	for _, c := range all.Digest.Targets {
		if c.BaseURL == nil {
			continue // "no installation identity at all": see TestIdentify
		}
		// Our one strictness beyond the reference is lesson 22's empty port.
		want := c.Result == "accepted" && c.Name != "empty port"
		if err := configure(t, *c.BaseURL, c.TLSMode, c.CA); (err == nil) != want {
			t.Errorf("%s: %v, want accepted: %v", c.Name, err, want)
		}
	}
	t.Logf("appliance_digest: %d cases, %d targets", len(all.Digest.Cases), len(all.Digest.Targets))
}

// configure makes a client as a configuration file would: there is a
// constructor for each mode of trust, and none for the others.
func configure(t *testing.T, baseURL, mode string, ca *string) error {
	t.Helper()
	trust, err := pfsense.SystemRoots(), error(nil)
	switch {
	case mode == "auto" && ca != nil:
		trust, err = pfsense.PinnedKey(*ca)
	case mode == "auto":
		trust, err = pfsense.PinnedKey("")
	case mode != "strict" || ca != nil:
		err = core.ErrInvalid
	}
	if err != nil {
		return err
	}
	key, err := pfsense.NewAPIKey("invented-key-000000000000")
	must(t, err)
	_, err = pfsense.NewReader(pfsense.Config{BaseURL: baseURL, TLS: trust, Key: key})
	return err
}

func TestConfigRefused(t *testing.T) {
	key, err := pfsense.NewAPIKey("invented-key-000000000000")
	must(t, err)
	good := pfsense.Config{BaseURL: "https://fw.example.net", Key: key}
	for name, change := range map[string]func(*pfsense.Config){
		"no key":              func(c *pfsense.Config) { c.Key = nil },
		"bad url":             func(c *pfsense.Config) { c.BaseURL = "http://fw.example.net" },
		"proxy without port":  func(c *pfsense.Config) { c.Proxy = "http://proxy.example.net" },
		"proxy with password": func(c *pfsense.Config) { c.Proxy = "http://u:p@proxy.example.net:3128" },
		"proxy over https":    func(c *pfsense.Config) { c.Proxy = "https://proxy.example.net:3128" },
		"proxy with path":     func(c *pfsense.Config) { c.Proxy = "http://proxy.example.net:3128/x" },
	} {
		cfg := good
		change(&cfg)
		_, e1 := pfsense.NewReader(cfg)
		_, e2 := pfsense.NewSender(cfg)
		_, e3 := pfsense.NewLoader(cfg)
		for _, err := range []error{e1, e2, e3} {
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	_, err = pfsense.NewReader(good)
	must(t, err)
}

func TestAPIKeyIsNeverShown(t *testing.T) {
	const secret = "invented-key-canary-7731"
	key, err := pfsense.NewAPIKey(secret)
	must(t, err)
	cfg := pfsense.Config{Key: key}
	text, err := key.MarshalText()
	must(t, err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "config", cfg)
	shown := fmt.Sprintf("%v %+v %#v %s %q %x %d %v %+v %#v", key, key, key, key, key, key, key, cfg, cfg, cfg) + string(text) + log.String()
	if strings.Contains(shown, "canary") || strings.Contains(shown, fmt.Sprintf("%x", secret)) {
		t.Errorf("the key shows itself: %s", shown)
	}
	for _, bad := range []string{"", "with space", "line end\n", "\r", "\u00fc", strings.Repeat("a", 1025)} {
		if _, err := pfsense.NewAPIKey(bad); !errors.Is(err, core.ErrInvalid) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Enrolment shows the key of a server that nothing trusts yet, sends it
// nothing, and what it shows is what a pin takes.
func TestFetchFingerprint(t *testing.T) {
	w := newWire(t, func(_ *wire, conn *tls.Conn) {
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			t.Error("enrolment sent something")
		}
	})
	shown, err := pfsense.FetchFingerprint(context.Background(), w.url())
	must(t, err)
	if shown.Pin != pfsense.Fingerprint(w.identity.leaf) || shown.Subject != "CN=pfSense-0123456789abc" ||
		len(shown.Names) != 1 || !shown.NotAfter.Equal(w.identity.leaf.NotAfter) {
		t.Errorf("got %+v", shown)
	}
	if _, err := pfsense.PinnedKey(shown.Pin.String()); err != nil {
		t.Error(err)
	}
	if _, err := pfsense.FetchFingerprint(context.Background(), "http://fw.example.net"); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
}

// A changed key is refused with both fingerprints, before any request byte.
func TestChangedKey(t *testing.T) {
	old, now := newIdentity(t), newWire(t, func(_ *wire, conn *tls.Conn) {
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			t.Error("a byte was sent to a server with another key")
		}
	})
	cfg := now.config(t)
	var err error
	cfg.TLS, err = pfsense.PinnedKey(pfsense.Fingerprint(old.leaf).String())
	must(t, err)
	_, err = reader(t, cfg).Read(context.Background(), aliases)
	checkReadError(t, err, pfsense.WrongPin, pfsense.Fingerprint(old.leaf).String())
	checkReadError(t, err, pfsense.WrongPin, pfsense.Fingerprint(now.identity.leaf).String())
	var pin *pfsense.PinError
	if !errors.As(err, &pin) || pin.Presented != pfsense.Fingerprint(now.identity.leaf) {
		t.Errorf("got %v", err)
	}
}

func TestCAFile(t *testing.T) {
	caFile, server := newAuthority(t)
	w := startWire(t, &wire{identity: server, serve: api(map[string]string{
		"GET " + aliases:            frame(200, "SUCCESS", "[]"),
		"GET /api/v2/status/system": frame(200, "SUCCESS", `{"netgate_id":"x"}`),
	})})
	cfg := w.config(t)
	var err error
	cfg.TLS, err = pfsense.CAFile(caFile)
	must(t, err)
	r := reader(t, cfg)
	_, err = r.Read(context.Background(), aliases)
	must(t, err)
	id, err := r.Identify(context.Background())
	must(t, err)
	if data, _ := os.ReadFile(caFile); id.TLSMode != "auto" || *id.CACertificate != sum(data) {
		t.Errorf("got %+v", id)
	}

	// The chain and the name are checked: another authority, another name.
	other, _ := newAuthority(t)
	cfg.TLS, err = pfsense.CAFile(other)
	must(t, err)
	_, err = reader(t, cfg).Read(context.Background(), aliases)
	checkReadError(t, err, pfsense.TLSRefused, "unknown authority")
	cfg.TLS, _ = pfsense.CAFile(caFile)
	cfg.BaseURL = strings.Replace(cfg.BaseURL, "127.0.0.1", "localhost", 1)
	_, err = reader(t, cfg).Read(context.Background(), aliases)
	checkReadError(t, err, pfsense.TLSRefused, "another name")

	empty := filepath.Join(t.TempDir(), "empty.pem")
	must(t, os.WriteFile(empty, []byte("no certificate"), 0o600))
	for _, bad := range []string{empty, filepath.Dir(empty), empty + ".missing"} {
		if _, err := pfsense.CAFile(bad); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", filepath.Base(bad), err)
		}
	}
}
