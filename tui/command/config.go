package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/adrg/xdg"

	"countersign/core"
)

// Config is the operator's configuration file. It holds no secret.
type Config struct {
	Operator string `toml:"operator"`
	Keyring  string `toml:"keyring"` // "os" or "file:DIR"
	// KeyringCredential is the systemd credential with the passphrase of a
	// wrapped file keyring; "" without one.
	KeyringCredential string          `toml:"keyring_credential,omitempty"`
	Inbox             string          `toml:"inbox"`
	Appliance         ApplianceConfig `toml:"appliance"`
	Store             StoreConfig     `toml:"store"`
	Policy            PolicyConfig    `toml:"policy,omitzero"`
	Authority         []PinnedKey     `toml:"authority,omitempty"`

	// keyringPassphrase opens a wrapped file keyring. It is never written.
	keyringPassphrase []byte
}

// KeyringPassphrase returns a copy of the passphrase of a wrapped file
// keyring, for whoever uses it erases it; nil without one.
func (c Config) KeyringPassphrase() []byte { return bytes.Clone(c.keyringPassphrase) }

// KeyringLock is the file by which processes take turns at the operating
// system's keyring.
func (c Config) KeyringLock() string { return c.Store.Path + ".keyring-lock" }

// RequestsFolder is where requests go that are signed elsewhere: beside the
// inbox, in a folder of their own. They hold values in plain text.
func (c Config) RequestsFolder() string { return filepath.Join(filepath.Dir(c.Inbox), "requests") }

// RequestPath names files for requests; nil where no authority is pinned, so
// that none are offered.
func (c Config) RequestPath() func(core.ProofKind, string) string {
	if len(c.Authority) == 0 {
		return nil
	}
	return func(kind core.ProofKind, name string) string {
		return filepath.Join(c.RequestsFolder(), string(kind)+"-"+name+".request")
	}
}

// ApplianceConfig says which firewall, and how its TLS is trusted.
type ApplianceConfig struct {
	URL    string `toml:"url"`
	Pin    string `toml:"pin,omitempty"`     // SHA-256 of the server's public key, hex
	CAFile string `toml:"ca_file,omitempty"` // PEM; neither pin nor file: system roots
	Proxy  string `toml:"proxy,omitempty"`
}

// Host is host[:port], in lower case: one name a firewall, however its
// address is spelled.
func (a ApplianceConfig) Host() string {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" {
		return a.URL
	}
	return strings.ToLower(u.Host)
}

// StoreConfig says which store.
type StoreConfig struct {
	Path string `toml:"path"`
	ID   string `toml:"id"`
}

// PolicyConfig are limits and windows; zero values take the defaults.
type PolicyConfig struct {
	OnTheSpot               *bool `toml:"authorize_on_the_spot,omitempty"`
	ContractMinutes         int   `toml:"contract_minutes,omitzero"`
	SettleSeconds           int   `toml:"settle_seconds,omitzero"`
	MaxInFlight             int   `toml:"max_in_flight,omitzero"`
	MaxPreparedPerTarget    int   `toml:"max_prepared_per_target,omitzero"`
	TargetCooldownSeconds   *int  `toml:"target_cooldown_seconds,omitempty"`
	ReconciliationThreshold int   `toml:"reconciliation_threshold,omitzero"`
}

// PinnedKey is the public key of an off-host authority.
type PinnedKey struct {
	ID     string `toml:"id"`
	Kind   string `toml:"kind"`       // authorization, confirmation or reconciliation
	Key    string `toml:"public_key"` // hex
	Active bool   `toml:"active"`
}

// ErrConfig is the class of every configuration error.
var ErrConfig = errors.New("configuration")

// DefaultConfigPath is config.toml in the XDG configuration folder.
func DefaultConfigPath() string { return filepath.Join(xdg.ConfigHome, "countersign", "config.toml") }

// DefaultConfig is what `init` starts from: XDG folders and the OS keyring.
func DefaultConfig() Config {
	return Config{
		Keyring: "os",
		Inbox:   filepath.Join(xdg.DataHome, "countersign", "inbox"),
		Store:   StoreConfig{Path: filepath.Join(xdg.DataHome, "countersign", "store", "contracts.sqlite3"), ID: "countersign"},
	}
}

// LoadConfig reads and checks a configuration file. Unknown keys are errors:
// a misspelt limit must not be a missing limit.
func LoadConfig(path string) (Config, error) {
	c := DefaultConfig()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, fmt.Errorf("%w: %s does not exist; run `countersign init` first, or `countersign demo` to look around", ErrConfig, path)
	case err != nil:
		return c, fmt.Errorf("%w: %v", ErrConfig, err)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		// It says whom to trust: the firewall's key and the authorities.
		return c, fmt.Errorf("%w: others can write %s; chmod go-w it, and look at what it says", ErrConfig, path)
	}
	meta, err := toml.DecodeFile(path, &c)
	if err != nil {
		return c, fmt.Errorf("%w: %s: %v", ErrConfig, path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return c, fmt.Errorf("%w: %s: unknown key %q", ErrConfig, path, unknown[0])
	}
	c.Appliance.Pin = strings.ToLower(c.Appliance.Pin) // as it is shown and compared
	return c, c.Validate()
}

// Validate checks what can be checked without touching anything.
func (c Config) Validate() error {
	switch {
	case c.Appliance.URL == "":
		return fmt.Errorf("%w: appliance.url is missing", ErrConfig)
	case c.Appliance.Pin != "" && c.Appliance.CAFile != "":
		return fmt.Errorf("%w: appliance.pin and appliance.ca_file exclude each other", ErrConfig)
	case !filepath.IsAbs(c.Store.Path):
		return fmt.Errorf("%w: store.path must be absolute", ErrConfig)
	case !core.ValidIdentifier(c.Store.ID):
		return fmt.Errorf("%w: store.id must be 1 to 128 of A-Z a-z 0-9 . _ : -", ErrConfig)
	case c.Operator != "" && !core.ValidIdentifier(c.Operator):
		return fmt.Errorf("%w: operator must be 1 to 128 of A-Z a-z 0-9 . _ : -", ErrConfig)
	case c.Policy.SettleSeconds != 0 && c.Policy.SettleSeconds < int(core.MinimumSettle/time.Second):
		return fmt.Errorf("%w: policy.settle_seconds must be %d at least: a request may outlive its client that long", ErrConfig, int(core.MinimumSettle/time.Second))
	}
	limits := []int{c.Policy.ContractMinutes, c.Policy.MaxInFlight, c.Policy.MaxPreparedPerTarget, c.Policy.ReconciliationThreshold}
	if cooldown := c.Policy.TargetCooldownSeconds; cooldown != nil {
		limits = append(limits, *cooldown)
	}
	for _, n := range limits {
		if n < 0 {
			return fmt.Errorf("%w: policy limits cannot be negative", ErrConfig)
		}
	}
	return c.validateKeyring()
}

func (c Config) validateKeyring() error {
	switch {
	case c.Keyring != "os" && !strings.HasPrefix(c.Keyring, "file:/"):
		return fmt.Errorf(`%w: keyring must be "os" or "file:" and an absolute folder`, ErrConfig)
	case c.KeyringCredential != "" && c.Keyring == "os":
		return fmt.Errorf("%w: keyring_credential opens a file keyring, and keyring is \"os\"", ErrConfig)
	case c.KeyringCredential != "" && !core.ValidIdentifier(c.KeyringCredential):
		return fmt.Errorf("%w: keyring_credential must be 1 to 128 of A-Z a-z 0-9 . _ : -", ErrConfig)
	}
	return nil
}

// Windows are the configured spans of time.
func (p PolicyConfig) Windows() core.Windows {
	w := core.DefaultWindows()
	if p.ContractMinutes > 0 {
		w.Contract = time.Duration(p.ContractMinutes) * time.Minute
	}
	if p.SettleSeconds > 0 {
		w.Settle = time.Duration(p.SettleSeconds) * time.Second
	}
	return w
}

// Limits are the configured containment limits.
func (p PolicyConfig) Limits() core.Limits {
	l := core.DefaultLimits()
	set := func(into *int, n int) {
		if n > 0 {
			*into = n
		}
	}
	set(&l.MaxInFlight, p.MaxInFlight)
	set(&l.MaxPreparedPerTarget, p.MaxPreparedPerTarget)
	set(&l.ReconciliationThreshold, p.ReconciliationThreshold)
	if p.TargetCooldownSeconds != nil {
		l.TargetCooldown = time.Duration(*p.TargetCooldownSeconds) * time.Second
	}
	return l
}

// AllowsOnTheSpot says whether an operator may authorize with a passphrase.
func (p PolicyConfig) AllowsOnTheSpot() bool { return p.OnTheSpot == nil || *p.OnTheSpot }
