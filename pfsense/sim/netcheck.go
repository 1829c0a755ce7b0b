package sim

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

var (
	hostnameForm = regexp.MustCompile(`(?i)^(?:(?:[a-z0-9_]|[a-z0-9_][a-z0-9_\-]*[a-z0-9_])\.)*(?:[a-z0-9_]|[a-z0-9_][a-z0-9_\-]*[a-z0-9_])$`)
	macForm      = regexp.MustCompile(`(?i)^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$`)
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	digitsForm   = regexp.MustCompile(`^[0-9]+$`)
)

func lower(s string) string { return strings.ToLower(s) }

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

func isSubnet(s string, v4, v6 bool) bool {
	p, err := parseSubnet(s)
	return err == nil && (v4 && p.Addr().Is4() || v6 && p.Addr().Is6())
}

// parseSubnet reads a CIDR; unlike netip it allows a leading zero in the mask, as pfSense does not check it.
func parseSubnet(s string) (netip.Prefix, error) { return netip.ParsePrefix(s) }

func isHostname(s string) bool { return hostnameForm.MatchString(s) }

// isFQDN wants a dot and a last label that is not a number.
func isFQDN(s string) bool {
	i := strings.LastIndexByte(s, '.')
	return i > 0 && isHostname(s) && !digitsForm.MatchString(s[i+1:])
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && digitsForm.MatchString(s) && n >= 1 && n <= 65535
}

func isPortRange(s string) bool {
	from, to, ok := strings.Cut(s, ":")
	return ok && isPort(from) && isPort(to)
}

func isPortOrRange(s string) bool { return isPort(s) || isPortRange(s) }

// network gives the network address of an address and a mask, "" if they are none.
func network(addr, mask string) string {
	p, err := netip.ParsePrefix(addr + "/" + mask)
	if err != nil {
		return ""
	}
	return p.Masked().Addr().String()
}

func inRange(ip, from, to string) bool {
	a, err1 := netip.ParseAddr(ip)
	lo, err2 := netip.ParseAddr(from)
	hi, err3 := netip.ParseAddr(to)
	return err1 == nil && err2 == nil && err3 == nil && a.Compare(lo) >= 0 && a.Compare(hi) <= 0
}

// reservedNames are words of the packet filter's language that no alias may have.
var reservedNames = tagSet(`all allow altq anchor antispoof any bandwidth binat bitmask block bogons bogonsv6 buckets cbq
code codelq crop debug dnpipe dnqueue drop fairq fastroute file fingerprints flags floating flush for fragment
from global group hfsc hogs hostid in include inet inet6 interval keep label limit linkshare load log loginterface match
max modulate nat no on optimization os out overload pass port prio priority priq probability proto protocol qlimit queue
quick random rdr realtime reassemble red reply require return rio route rtable rule scrub self set skip sloppy source
state states statistics sticky synproxy table tag tagged target tbrsize timeout to tos ttl upperlimit urpf user`)

// lastAddress is the highest address of a subnet.
func lastAddress(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}
