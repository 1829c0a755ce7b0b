package pfsense

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/canon"
	"countersign/core"
)

const (
	pathVersion    = "/api/v2/system/version"
	pathAPIVersion = "/api/v2/system/restapi/version"
	pathSettings   = "/api/v2/system/restapi/settings"
)

// applyPath says where a subsystem's pending changes are read and loaded.
func applyPath(s core.Subsystem) (string, bool) {
	switch s {
	case core.Firewall:
		return "/api/v2/firewall/apply", true
	case core.DNSResolver:
		return "/api/v2/services/dns_resolver/apply", true
	case core.Routing:
		return "/api/v2/routing/apply", true
	}
	return "", false
}

// Status probes the firewall by reading only. What the console's user may not
// read, or the package does not have, becomes a warning that names the
// privilege; anything that keeps the firewall from being read is an error.
// ReadTook is the slowest of the readings.
func (r *Reader) Status(ctx context.Context) (core.ApplianceStatus, error) {
	p := prober{reader: r, ctx: ctx}
	s := core.ApplianceStatus{Pending: map[core.Subsystem][]string{}}

	s.Version = textIn(p.read(pathVersion), "version")
	s.APIVersion = strings.TrimPrefix(textIn(p.read(pathAPIVersion), "current_version"), "v")
	p.settings(&s)
	for _, subsystem := range []core.Subsystem{core.Firewall, core.DNSResolver, core.Routing} {
		if names, known := p.pending(subsystem); known { // otherwise it has no entry
			s.Pending[subsystem] = names
		}
	}
	p.age(s.APIVersion)
	p.highAvailability(s.APIVersion)
	if p.err != nil {
		return core.ApplianceStatus{}, p.err
	}
	if !p.pin.IsZero() {
		s.Pin = p.pin.String()
	}
	s.ReadTook, s.Warnings = p.slowest, p.warnings
	return s, nil
}

// prober makes the readings of one probe; the first real failure ends it.
type prober struct {
	reader   *Reader
	ctx      context.Context
	warnings []string
	pin      canon.Digest
	slowest  time.Duration
	err      error
}

// read returns the data of one reading, or nil with a warning. Every package
// has the version endpoint: where it is missing, there is no package.
func (p *prober) read(path string) map[string]any {
	if p.err != nil {
		return nil
	}
	f, err := p.reader.get(p.ctx, path, tolerant)
	switch {
	case err == nil:
		p.pin, p.slowest = f.pin, max(p.slowest, f.took)
		members, _ := f.data.(map[string]any)
		return members
	case answered(err) && !(path == pathVersion && classOf(err) == NoEndpoint):
		p.warn("%s", err)
	default:
		p.err = err
	}
	return nil
}

func (p *prober) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// settings looks at what the REST API's own settings say about this console.
func (p *prober) settings(s *core.ApplianceStatus) {
	set := p.read(pathSettings)
	readOnly, known := set["read_only"].(bool)
	s.ReadOnly, s.ReadOnlyKnown = readOnly, known
	switch {
	case p.err == nil && !known:
		p.warn("whether the REST API is in read-only mode is not known; a change may be refused")
	case readOnly:
		p.warn("the REST API is in read-only mode: nothing can be changed until it is switched off in the web GUI (System > REST API)")
	}
	if methods, ok := set["auth_methods"].([]any); ok && !slices.Contains(methods, any("KeyAuth")) {
		p.warn("KeyAuth is not among the REST API's authentication methods any more: the next login with this key may fail")
	}
	if as, ok := set["represent_interfaces_as"].(string); ok && as != "id" {
		p.warn("the REST API shows interfaces by description, not by id: a renamed interface looks like a changed rule")
	}
}

// pending names what a subsystem has stored and not loaded. The firewall names
// its parts; the others only say that there is something. It is not known
// where there was no answer of the right shape.
func (p *prober) pending(s core.Subsystem) (names []string, known bool) {
	path, _ := applyPath(s)
	data := p.read(path)
	applied, known := data["applied"].(bool)
	if !known {
		return nil, false
	}
	if parts, ok := data["pending_subsystems"].([]any); ok {
		for _, part := range parts {
			if name, ok := part.(string); ok {
				names = append(names, name)
			}
		}
	}
	if !applied && len(names) == 0 {
		names = []string{string(s)}
	}
	return names, true
}

// age warns of package versions whose defects a console cannot make up for.
func (p *prober) age(version string) {
	if known, before := olderThan(version, 2, 2, 0); known && before {
		p.warn("the REST API package is older than 2.2.0: a change that meets another one is lost without a word; update it")
	}
}

// highAvailability warns that a change travels. Only packages from 2.9.0 on
// can say so.
func (p *prober) highAvailability(version string) {
	if known, before := olderThan(version, 2, 9, 0); !known || before {
		return
	}
	if peer := textIn(p.read(pathHASync), "synchronizetoip"); peer != "" {
		p.warn("HA synchronisation is set up: the peer is given each change and loads it at once; change the primary only")
	}
}

// olderThan compares a version like 2.10.0; known is false if it is not one.
func olderThan(version string, want ...int) (known, older bool) {
	parts := strings.SplitN(version, ".", len(want))
	if len(parts) < len(want) {
		return false, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(leadingDigits(part))
		if err != nil {
			return false, false
		}
		if n != want[i] {
			return true, n < want[i]
		}
	}
	return true, false
}

func leadingDigits(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		return s[:i]
	}
	return s
}
