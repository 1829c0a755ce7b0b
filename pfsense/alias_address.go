package pfsense

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"countersign/core"
)

// fqdn is a host name with a dot, as the API accepts it in aliases.
var fqdn = regexp.MustCompile(`(?i)\A(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\z`)

// isFQDN reports whether s is such a name; its last label is no number, so
// that a range of addresses is none.
func isFQDN(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	return fqdn.MatchString(s) && strings.Trim(last, "0123456789") != ""
}

// badAddress says why the API refuses an entry in an alias of this type, or
// "". What is neither an address nor a host name must be the name of an alias
// that exists.
func badAddress(aliases []core.Object, kind, address string) string {
	switch kind {
	case "host":
		if isHost(address) {
			return ""
		}
	case "network":
		if isNetwork(address) {
			return ""
		}
	case "port":
		if isPorts(address) {
			return ""
		}
	}
	if !aliasName.MatchString(address) {
		return wanted(kind)
	}
	if !hasAlias(aliases, address, kind == "port") {
		return "it names an alias that does not exist, or one of another kind"
	}
	return ""
}

// hasAlias reports whether there is an alias of ports, or of addresses, with
// this name; types that the API cannot write count too.
func hasAlias(aliases []core.Object, name string, ports bool) bool {
	for _, row := range aliases {
		if row["name"] == name && strings.Contains(textOf(row, "type"), "port") == ports {
			return true
		}
	}
	return false
}

// aliasesIn are the aliases of a reading, or nil if they were not read.
func aliasesIn(r core.Reading) []core.Object { return objectsIn(r, aliasesPath) }

func wanted(kind string) string {
	switch kind {
	case "host":
		return "a host alias takes an IP address, a host name with a dot, or another alias; no range and no network"
	case "network":
		return "a network alias takes a network such as 192.0.2.0/24 (a single address is 192.0.2.66/32), a host name with a dot, or another alias; no range"
	}
	return "a port alias takes a port, a range such as 80:90, or another port alias"
}

func isHost(s string) bool { return isHostAddress(s) || isFQDN(s) }

func isNetwork(s string) bool { return isPrefix(s) || isFQDN(s) }

func isHostAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func isPrefix(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

func isPorts(s string) bool {
	from, to, ranged := strings.Cut(s, ":")
	return isPort(from) && (!ranged || isPort(to))
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}
