package pfsense

import (
	"regexp"
	"strings"

	"countersign/core"
)

const (
	interfacesPath    = "/api/v2/interfaces"
	gatewaysPath      = "/api/v2/routing/gateways"
	gatewayGroupsPath = "/api/v2/routing/gateway/groups"
)

// references are the lists that names in rules are looked up in. A list that
// was not read is nil, and then nothing is said about its names: the appliance
// refuses them itself, before it writes.
type references struct {
	aliases, interfaces, gateways, groups []core.Object
}

func referencesIn(r core.Reading) references {
	return references{objectsIn(r, aliasesPath), objectsIn(r, interfacesPath), objectsIn(r, gatewaysPath), objectsIn(r, gatewayGroupsPath)}
}

// badAddress says why a source or destination is refused, or "".
func (x references) badAddress(s string) string {
	s = strings.TrimPrefix(s, "!")
	switch s {
	case "any", "(self)", "l2tp", "pppoe":
		return ""
	}
	if isHostAddress(s) || isPrefix(s) || x.interfaces == nil || x.aliases == nil {
		return ""
	}
	name := strings.TrimSuffix(s, ":ip")
	for _, row := range x.interfaces {
		if row["id"] == name || row["descr"] == name {
			return ""
		}
	}
	return x.badAlias(s, false)
}

// badPort says why a port is refused, or "".
func (x references) badPort(s string, ranges bool) string {
	switch {
	case isPort(s), ranges && isPorts(s):
		return ""
	case !aliasName.MatchString(s):
		return "it has a port in a form that the API does not accept"
	}
	return x.badAlias(s, true)
}

func (x references) badAlias(name string, ports bool) string {
	if x.aliases == nil || hasAlias(x.aliases, name, ports) {
		return ""
	}
	return "it names an alias that does not exist any more"
}

// dynamicGateway is the form of gateways that pfSense makes by itself; only
// its status page lists them.
var dynamicGateway = regexp.MustCompile(`_(DHCP6?|PPPOE6?|PPTP|L2TP|PPP|SLAAC|6RD|6TO4|VPNV[46]|VTIV[46]|TUNNELV[46])\z`)

// badGateway says why a gateway is refused, or "".
func (x references) badGateway(name string) string {
	if x.gateways == nil || x.groups == nil || named(x.gateways, name) != nil || named(x.groups, name) != nil ||
		dynamicGateway.MatchString(name) {
		return ""
	}
	return "it names a gateway that does not exist any more"
}

// named is the first row of a list that has this name, or nil.
func named(rows []core.Object, name string) core.Object {
	for _, row := range rows {
		if row["name"] == name {
			return row
		}
	}
	return nil
}
