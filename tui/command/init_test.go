package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/core"
)

// hurriedWiring installs, and meanwhile somebody else writes the configuration.
type hurriedWiring struct {
	Wiring
	config string
}

func (hurriedWiring) Address(url string) (string, error) { return url, nil }

func (hurriedWiring) TryAPIKey(context.Context, Config, []byte) (core.ApplianceStatus, error) {
	return core.ApplianceStatus{}, nil
}

func (hurriedWiring) CheckPassphrase([]byte) error { return nil }

func (w hurriedWiring) Install(context.Context, Config, []byte, []byte) error {
	return os.WriteFile(w.config, []byte("theirs"), 0o600)
}

// A configuration that appears while everything else is made is not written
// over. What was made is said, and its configuration is kept.
func TestConfigurationAppearsDuringInit(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	config := filepath.Join(dir, "config", "config.toml")
	c := DefaultConfig()
	c.Operator = "jo"
	c.Appliance = ApplianceConfig{URL: "https://fw1.example.net", CAFile: filepath.Join(dir, "ca.pem")}
	if err := os.WriteFile(key, []byte("a-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &builder{w: hurriedWiring{config: config}, configPath: config}
	err := b.install(context.Background(), initOptions{config: c, apiKeyFile: key, passphraseFile: key})
	var classed *Classified
	if !errors.As(err, &classed) || classed.Code != ExitUsage || !strings.Contains(err.Error(), "are made") || strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("got %v", err)
	}
	if text, err := os.ReadFile(config); err != nil || string(text) != "theirs" {
		t.Fatalf("the other configuration is now %q (%v)", text, err)
	}
	_, kept, _ := strings.Cut(classed.Hint, "it is in ")
	kept, _, _ = strings.Cut(kept, ":")
	if got, err := LoadConfig(kept); err != nil || got.Operator != "jo" || got.Appliance != c.Appliance {
		t.Fatalf("kept in %q: %+v (%v)", kept, got, err)
	}
}
