package pfsense

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"countersign/core"
)

var hostName = regexp.MustCompile(`\A[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\z`)

// NormalizeBaseURL gives the one spelling of a firewall's address, which is
// part of its identity (lesson 22): https, lower-case host, no path, query,
// fragment or user. A port is kept as it is given, also 443: records of the
// reference implementation tell the two apart. Errors wrap core.ErrInvalid.
func NormalizeBaseURL(raw string) (string, error) {
	rest, ok := strings.CutPrefix(raw, "https://")
	if !ok {
		return "", badURL("it must begin with https://")
	}
	if i := strings.IndexAny(rest, "/?#@\\"); i >= 0 {
		return "", badURL("it must be https://host or https://host:port, without path, query, fragment or user")
	}
	host, port, hasPort, err := splitHost(rest)
	if err != nil {
		return "", err
	}
	if !hasPort {
		return "https://" + host, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return "", badURL("the port must be a number from 1 to 65535; leave out the colon for port 443")
	}
	return "https://" + host + ":" + port, nil
}

func badURL(what string) error {
	return fmt.Errorf("%w: the firewall's address cannot be used: %s", core.ErrInvalid, what)
}

// splitHost checks and normalises the host and cuts off the port.
func splitHost(s string) (host, port string, hasPort bool, err error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		text, after, closed := strings.Cut(inner, "]")
		addr, err := netip.ParseAddr(text)
		if err != nil || !closed || !addr.Is6() || addr.Zone() != "" {
			return "", "", false, badURL("the IPv6 address in brackets is not valid (zones are not supported)")
		}
		port, hasPort = strings.CutPrefix(after, ":")
		if after != "" && !hasPort {
			return "", "", false, badURL("only a port may follow the brackets")
		}
		return "[" + addr.String() + "]", port, hasPort, nil
	}
	host, port, hasPort = strings.Cut(s, ":")
	host = strings.ToLower(host)
	switch {
	case strings.Contains(port, ":"):
		return "", "", false, badURL("an IPv6 address must be written in brackets")
	case host == "":
		return "", "", false, badURL("the host is missing")
	case len(host) > 253 || !hostName.MatchString(host):
		return "", "", false, badURL("the host name may have letters, digits, hyphens and dots only")
	}
	if strings.Trim(host, "0123456789.") == "" {
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			return "", "", false, badURL("the IPv4 address is not valid")
		}
	}
	return host, port, hasPort, nil
}
