package sim

import "strings"

func staticRouteHooks() hooks { return hooks{validate: (*object).checkRoute} }

func (o *object) checkRoute() *apiError {
	label := o.labels["network"]
	if label != "alias" {
		if err := o.checkRouteNetwork(label); err != nil {
			return err
		}
		if err := o.checkRouteGateway(label); err != nil {
			return err
		}
	}
	gw := o.s.gateway(o.text("gateway"))
	if len(gw.keys) == 0 { // a gateway group: the package looks for a gateway of that name only
		return fail("MODELSET_FIRST_REQUESTED_WITH_NO_MODEL_OBJECTS", "Cannot locate first Model object in a ModelSet with no Model objects")
	}
	if gw.has("disabled") && o.vals["disabled"] == false {
		return fail("STATIC_ROUTE_GATEWAY_DISABLED", " Static route must also be `disabled` when the parent gateway is `disabled`.")
	}
	return nil
}

// checkRouteNetwork cuts the host bits and refuses the network of an interface.
func (o *object) checkRouteNetwork(label string) *apiError {
	addr, mask, _ := strings.Cut(o.text("network"), "/")
	addr = network(addr, mask)
	cidr := addr + "/" + mask
	for _, id := range o.s.interfaces().keys {
		d := subDict(o.s.interfaces(), id)
		ip, bits, version := d.text("ipaddr"), d.text("subnet"), "4"
		if label == "subnetv6" {
			ip, bits, version = d.text("ipaddrv6"), d.text("subnetv6"), "6"
		}
		if net := network(ip, bits); net != "" && net == addr {
			return fail("STATIC_ROUTE_CONFLICTS_WITH_IPV"+version+"_INTERFACE",
				"Destination network `%s` conflicts with the IP address of interface with ID `%s`", cidr, id)
		}
	}
	o.vals["network"] = cidr
	return nil
}

func (o *object) checkRouteGateway(label string) *apiError {
	switch o.s.gateway(o.text("gateway")).text("ipprotocol") {
	case "inet":
		if label != "subnetv4" {
			return fail("STATIC_ROUTE_NON_IPV4_NETWORK_WITH_IPV4_GATEWAY", "Cannot assign non-IPv4 `network` to IPv4 `gateway`.")
		}
	case "inet6":
		if label != "subnetv6" {
			return fail("STATIC_ROUTE_NON_IPV6_NETWORK_WITH_IPV6_GATEWAY", "Cannot assign non-IPv6 `network` to IPv6 `gateway`.")
		}
	}
	return nil
}

func (s *session) gateway(name string) *dict {
	for _, x := range list(s.cfg, "gateways/gateway_item") {
		if d, ok := x.(*dict); ok && d.text("name") == name {
			return d
		}
	}
	return newDict()
}
