package sim

// aliasHooks: what an alias may contain depends on its type. Names are checked against the list of aliases as it was
// read, so an alias may name itself.
func aliasHooks() hooks {
	return hooks{validate: func(o *object) *apiError {
		if err := o.each("name", o.checkAliasName); err != nil {
			return err
		}
		if err := o.each("address", o.checkAliasEntry); err != nil {
			return err
		}
		return o.each("detail", func(string) *apiError {
			if o.count("detail") > o.count("address") {
				return fail("TOO_MANY_ALIAS_DETAILS", "Aliases cannot contain more `detail` items than `address` items.")
			}
			return nil
		})
	}}
}

func (o *object) checkAliasName(name string) *apiError {
	if len(name) > 31 || !nameForm.MatchString(name) {
		return fail("INVALID_FIREWALL_ALIAS_NAME", "Invalid firewall alias name `%s`.", name)
	}
	return nil
}

func (o *object) checkAliasEntry(entry string) *apiError {
	switch o.text("type") {
	case "port":
		if !isPortOrRange(entry) && !o.s.isAlias(entry, true) {
			return fail("INVALID_PORT_ALIAS_ADDRESS", "Port alias `address` value `%s` is not a valid port, range, or alias.", entry)
		}
	case "host":
		if !isIPv4(entry) && !isIPv6(entry) && !isFQDN(entry) && !o.s.isAlias(entry, false) {
			return fail("INVALID_HOST_ALIAS_ADDRESS", "Host alias `address` value `%s` is not a valid IP, FQDN, or alias.", entry)
		}
	case "network":
		if !isSubnet(entry, true, true) && !isFQDN(entry) && !o.s.isAlias(entry, false) {
			return fail("INVALID_NETWORK_ALIAS_ADDRESS", "Network alias `address` value `%s` is not a valid CIDR, FQDN, or alias.", entry)
		}
	}
	return nil
}
