package pfsense

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"countersign/core"
)

// fqdn is a host name with at least one dot, as the API accepts it in aliases.
var fqdn = regexp.MustCompile(`(?i)\A(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.?\z`)

// badAddress says why the API refuses an entry in alias a, or "". What is
// neither an address nor a host name must be the name of an alias that exists.
func badAddress(rows []core.Object, a core.Object, address string) string {
	kind := textOf(a, "type")
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
	for _, row := range rows {
		if row["name"] == address && strings.Contains(textOf(row, "type"), "port") == (kind == "port") {
			return ""
		}
	}
	return "it names an alias that does not exist, or one of another kind"
}

func wanted(kind string) string {
	switch kind {
	case "host":
		return "a host alias takes an IP address, a host name with a dot, or another alias; no range and no network"
	case "network":
		return "a network alias takes a network such as 192.0.2.0/24, a host name with a dot, or another alias; no single address and no range"
	}
	return "a port alias takes a port, a range such as 80:90, or another port alias"
}

func isHost(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || fqdn.MatchString(s)
}

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil || (!isHostAddress(s) && fqdn.MatchString(s))
}

func isHostAddress(s string) bool {
	_, err := netip.ParseAddr(s)
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
