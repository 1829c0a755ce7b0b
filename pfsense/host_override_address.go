package pfsense

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"countersign/core"
)

const (
	hostOverridePath  = "/api/v2/services/dns_resolver/host_override"
	hostOverridesPath = "/api/v2/services/dns_resolver/host_overrides"
	// mostOverrideAddresses is the oldest supported version's bound.
	mostOverrideAddresses = 128
)

// newHostOverrideAddress changes the addresses that the DNS resolver answers
// for a name. The API sorts the whole list by host whenever it writes, and
// there is no guard field.
func newHostOverrideAddress() listed {
	return listed{
		shape: shape{
			spec: core.Spec{
				Capability: "SERVICE_WRITE", EndpointSymbol: "DNS_RESOLVER_HOST_OVERRIDE_ADDRESS", Method: "PATCH",
				SemanticUnit:        "set_host_override_address_v1",
				AdapterVersion:      "host-override-address-v1",
				RollbackPlanVersion: "host-override-address-rollback-v1",
				ContractPrefix:      "hostaddr",
				Title:               "host override address", Noun: "host",
				WritePath: hostOverridePath, ReadPath: hostOverridesPath,
				Loads: core.DNSResolver, Marks: []string{string(core.DNSResolver)},
				Refusals: refusals(core.Refusals{
					400: {"MODEL_REQUIRES_ID", "LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "IP_ADDRESS_VALIDATOR_FAILED",
						"IP_ADDRESS_VALIDATOR_IPV6_LINK_LOCAL_NOT_ALLOWED", "HOSTNAME_VALIDATOR_FAILED",
						"MODEL_FIELDS_NOT_UNIQUE_TOGETHER"},
					404: {"MODEL_OBJECT_NOT_FOUND"},
				}),
				WayBack: "the old addresses are written back; clients may have cached the new ones",
			},
			identity: []string{"host", "domain"},
			values:   plain("addresses"),
		},
		key: func(row core.Object) core.Object {
			return core.Object{"host": textOf(row, "host"), "domain": row["domain"]}
		},
		label: func(identity core.Object) string {
			return strings.TrimPrefix(textOf(identity, "host")+"."+textOf(identity, "domain"), ".")
		},
		summary: func(row core.Object) string { return words(row["ip"]) },
		project: hostOverrideProjection, stored: checkStoredOverride,
		form: func(p core.Object) []core.Field {
			return []core.Field{{Name: "addresses", Label: "Addresses", Kind: core.ListField,
				Help: "IPv4 or IPv6, one a line", Current: p["ip"]}}
		},
		parse: parseHostOverride,
		intend: func(fields, snapshot core.Object) core.Object {
			return with(snapshot, core.Object{"ip": fields["addresses"]})
		},
		admit: func(core.Reading, core.Observation, core.Object) error { return nil },
		body: func(o core.Observation, state core.Object) []member {
			return []member{{"id", o.Locator}, {"ip", state["ip"]}}
		},
		changes: func(fields, snapshot core.Object) []core.Change {
			return []core.Change{{Field: "addresses", Before: words(snapshot["ip"]), After: words(fields["addresses"])}}
		},
	}
}

func parseHostOverride(fields core.Object) (core.Object, error) {
	host, err := textMember(fields, "host")
	if err != nil {
		return nil, err
	}
	domain, err := textMember(fields, "domain")
	if err != nil {
		return nil, err
	}
	if domain == "" || len(host) > 255 || len(domain) > 255 || unstorable(host+domain) != "" {
		return nil, refuse(core.ErrRequest, "a host override is named by a host, which may be empty, and a domain")
	}
	addresses, ok := strs(fields["addresses"])
	if !ok || len(addresses) == 0 || len(addresses) > mostOverrideAddresses {
		return nil, refuse(core.ErrRequest, fmt.Sprintf("give 1 to %d addresses, one a line", mostOverrideAddresses))
	}
	seen := map[netip.Addr]bool{}
	for i, s := range addresses {
		address, err := netip.ParseAddr(s)
		switch {
		case err != nil || address.Zone() != "":
			return nil, refuse(core.ErrRequest, fmt.Sprintf("line %d is not an IPv4 or IPv6 address", i+1))
		case seen[address]:
			return nil, refuse(core.ErrRequest, fmt.Sprintf("line %d repeats an address", i+1))
		}
		seen[address] = true
	}
	return core.Object{"host": host, "domain": domain, "addresses": list(addresses)}, nil
}

// hostOverrideProjection leaves positions out of the nested further names.
func hostOverrideProjection(_ core.Reading, row core.Object) (core.Object, error) {
	addresses, ok := strs(row["ip"])
	if !ok || textOf(row, "domain") == "" {
		return nil, refuse(core.ErrTargetUnsupported, "the firewall gives it in a form that this build does not know")
	}
	nested, _ := row["aliases"].([]any)
	if !blank(row["aliases"]) && nested == nil {
		return nil, refuse(core.ErrTargetUnsupported, "its further names are not a list")
	}
	aliases := make([]any, len(nested))
	for i, item := range nested {
		further, _ := item.(core.Object)
		kept, err := settled(further, "host", "domain", "descr")
		if err != nil {
			return nil, err
		}
		aliases[i] = kept
	}
	out, err := settled(row, "host", "domain", "descr")
	if err != nil {
		return nil, err
	}
	return with(out, core.Object{"ip": list(addresses), "aliases": aliases}), nil
}

// checkStoredOverride refuses an override that the write would move, because
// its position must stay the same, and one that could not be written back.
func checkStoredOverride(r core.Reading, o core.Observation) error {
	addresses, _ := strs(o.Projection["ip"])
	if len(addresses) == 0 {
		return refuse(core.ErrTargetUnsupported, "it has no address now, and that state cannot be asked for again")
	}
	for _, s := range addresses {
		if !isHostAddress(s) {
			return refuse(core.ErrTargetUnsupported, "one of its addresses could not be written back")
		}
	}
	if why := badTexts(o.Projection, "descr"); why != "" {
		return refuse(core.ErrTargetUnsupported, why)
	}
	if !staysWhenSorted(objectsIn(r, hostOverridesPath), o.Locator) {
		return refuse(core.ErrTargetUnsupported, "the list is not sorted by host, so a change would move it; save any host override once in the firewall's own page, which sorts them")
	}
	return nil
}

// staysWhenSorted reports whether the row at a position is still there after
// PHP's stable sort by host. Two hosts that look like numbers are compared as
// numbers there, which is not foretold here.
func staysWhenSorted(rows []core.Object, at int64) bool {
	hosts := make([]string, len(rows))
	numbers := 0
	for i, row := range rows {
		hosts[i] = textOf(row, "host")
		if _, err := strconv.ParseFloat(hosts[i], 64); err == nil {
			numbers++
		}
	}
	if numbers > 1 || at >= int64(len(hosts)) {
		return false
	}
	before := 0
	for i, host := range hosts {
		if host < hosts[at] || host == hosts[at] && int64(i) < at {
			before++
		}
	}
	return int64(before) == at
}
