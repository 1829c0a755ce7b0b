package sim

import "net/http"

// Practice is the appliance as the demo uses it: a few believable aliases more
// than the built-in configuration, the troubles of its story, and a page of
// troubles that a person can arm (drill.go).
type Practice struct {
	*Server
	drill *drill
}

// NewPractice starts an appliance to practise on.
func NewPractice(opts Options) (Practice, error) {
	srv, err := New(opts)
	if err != nil {
		return Practice{}, err
	}
	admin := srv.Admin()
	for i, a := range []struct {
		name, descr        string
		addresses, details []string
	}{
		{"web_servers", "Public web, old DC", []string{"192.0.2.10", "192.0.2.11", "192.0.2.12"}, []string{"web1", "web2", "standby"}},
		{"office_hosts", "Office hosts", []string{"198.51.100.40", "198.51.100.41"}, []string{"reception", "print server"}},
		{"blocklist", "Blocked by on-call", []string{"203.0.113.7", "203.0.113.9"}, []string{"scanner", "scanner"}},
	} {
		admin.InsertAlias(3+i, a.name)
		admin.SetAliasAddresses(a.name, a.addresses, a.details)
		admin.SetAliasDescription(a.name, a.descr)
	}
	admin.SetAliasAddresses("dns_ports", []string{"53", "853"}, []string{"DNS", "DNS over TLS"})
	// A box that has been in use: its overrides are sorted, and its NTP page
	// was saved once.
	admin.Edit("practice", func(c *Config) {
		c.Move("unbound/hosts", 2, 0)
		c.Set("ntpd/enable", "enabled")
	})
	admin.Reload()
	return Practice{srv, &drill{}}, nil
}

const (
	aliasWrites = "/firewall/alias"
	aliasReads  = "/firewall/aliases"
)

// Sends is how many requests other than readings have arrived.
func (p Practice) Sends() int { return p.Wire().Mutations }

// AliasDescription is the stored description of an alias.
func (p Practice) AliasDescription(name string) string {
	entry, _ := p.Alias(name)
	return entry.Descr
}

// EditAlias is another administrator at work.
func (p Practice) EditAlias(name, text string) { p.Admin().SetAliasDescription(name, text) }

// EditAliasAfterReadings edits when that many readings of the aliases have
// been answered and the next one arrives.
func (p Practice) EditAliasAfterReadings(readings int, name, text string) {
	p.Inject(Fault{Kind: Call, Method: http.MethodGet, Path: aliasReads, Skip: readings, At: BeforeProcessing,
		Func: func(a *Admin) { a.SetAliasDescription(name, text) }})
}

// LoseNextAnswer makes the appliance do the next change of an alias and drop
// the connection without an answer.
func (p Practice) LoseNextAnswer() {
	p.Inject(Fault{Kind: CommitThenDrop, Method: http.MethodPatch, Path: aliasWrites})
}
