package sim

func ruleHooks() hooks { return hooks{validate: (*object).checkRule} }

func (o *object) checkRule() *apiError {
	if o.count("interface") > 1 && o.vals["floating"] != true {
		return fail("FIREWALL_RULE_MULTIPLE_INTERFACE_WITHOUT_FLOATING",
			"Field `interface` cannot contain more than one value unless `floating` is enabled.")
	}
	if err := o.checkStateType(); err != nil {
		return err
	}
	outOf, _ := o.vals["tcp_flags_out_of"].([]any)
	err := o.each("tcp_flags_set", func(flag string) *apiError {
		if o.vals["tcp_flags_out_of"] == nil {
			return unexpected("in_array(): Argument #2 ($haystack) must be of type array, null given")
		}
		if !contains(outOf, flag) {
			return fail("FIREWALL_RULE_TCP_FLAGS_SET_NOT_IN_TCP_FLAGS_OUT_OF",
				"Field `tcp_flags_set` value `%s` is not present in `tcp_flags_out_of`.", flag)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.checkQueues(); err != nil {
		return err
	}
	if o.vals["updated_by"] != nil {
		o.vals["updated_by"] = o.updater + "@" + o.s.client.ip + " (API)"
	}
	return nil
}

func (o *object) checkStateType() *apiError {
	if o.text("statetype") != "synproxy state" {
		return nil
	}
	if o.vals["protocol"] != "tcp" {
		return fail("FIREWALL_RULE_SYNPROXY_STATE_TYPE_WITH_NON_TCP_PROTOCOL",
			"Field `statetype` cannot be set to `synproxy state` unless `protocol` is set to `tcp`.")
	}
	if truthy(o.vals["gateway"]) {
		return fail("FIREWALL_RULE_SYNPROXY_STATE_TYPE_WITH_GATEWAY",
			"Field `statetype` cannot be set to `synproxy state` when a `gateway` value is set.")
	}
	return nil
}

// checkQueues: the appliance has no limiters, so any name of one is unknown.
func (o *object) checkQueues() *apiError {
	if name := o.text("dnpipe"); name != "" {
		return fail("FIREWALL_RULE_DNPIPE_NOT_FOUND", "Field `dnpipe` must be an existing Traffic Shaper Limiter or Limiter Queue. "+
			"Could not locate object with `name` value `%s`", name)
	}
	if o.text("pdnpipe") != "" {
		return fail("FIREWALL_RULE_PDNPIPE_SET_WITHOUT_DNPIPE", "Field `pdnpipe` cannot be set unless `dnpipe` is also set.")
	}
	if o.text("ackqueue") != "" && !truthy(o.vals["defaultqueue"]) {
		return fail("FIREWALL_RULE_ACKQUEUE_WITHOUT_DEFAULTQUEUE", "Field `ackqueue` cannot be defined without `defaultqueue`.")
	}
	return nil
}
