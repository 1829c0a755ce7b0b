package sim

// mappingHooks: a static DHCP mapping lies in its interface's subnet and outside the pool. Two mappings may have the
// same address: the package does not look.
func mappingHooks() hooks {
	return hooks{validate: func(o *object) *apiError {
		server := "dhcpd/" + phpString(o.parentID)
		iface := subDict(o.s.interfaces(), phpString(o.parentID))
		subnet, err := parseSubnet(iface.text("ipaddr") + "/" + iface.text("subnet"))
		inside := func(ip string) bool {
			return err == nil && isIPv4(ip) && inRange(ip, network(iface.text("ipaddr"), iface.text("subnet")), lastAddress(subnet))
		}
		if ip := o.text("ipaddr"); ip != "" {
			from, _ := getPath(o.s.cfg, server+"/range/from")
			to, _ := getPath(o.s.cfg, server+"/range/to")
			if inRange(ip, phpString(from), phpString(to)) {
				return fail("DHCP_SERVER_STATIC_MAPPING_IPADDR_OVERLAPS_EXISTING_OBJECT",
					"Field `ipaddr` overlaps existing DHCP Server Static Mapping with ID `%s`.", phpString(o.id))
			}
			if !inside(ip) {
				return fail("DHCP_SERVER_STATIC_MAPPING_IPADDR_NOT_WITHIN_SUBNET", "Field `ipaddr` must be within the interface's subnet.")
			}
		}
		if most, ok := o.vals["maxleasetime"].(int64); ok && most < integer(o.vals["defaultleasetime"]) {
			return fail("DHCP_SERVER_STATIC_MAPPING_MAX_LEASE_TIME_LESS_THAN_DEFAULT", "DHCP server `maxleasetime` cannot be less than the `defaultleasetime`")
		}
		if gw := o.text("gateway"); gw != "" && !inside(gw) {
			return fail("DHCP_SERVER_STATIC_MAPPING_GATEWAY_NOT_WITHIN_SUBNET", "DHCP server `gateway` must be within interface's subnet.")
		}
		return nil
	}}
}
