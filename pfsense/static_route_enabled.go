package pfsense

import (
	"net/netip"

	"countersign/core"
)

const (
	staticRoutePath  = "/api/v2/routing/static_route"
	staticRoutesPath = "/api/v2/routing/static_routes"
)

// newStaticRouteEnabled enables or disables a static route. Its identity is
// its network, which the API does not keep unique; there is no guard field.
func newStaticRouteEnabled() listed {
	return listed{
		shape: shape{
			spec: core.Spec{
				Capability: "FIREWALL_WRITE", EndpointSymbol: "ROUTING_STATIC_ROUTE_ENABLED", Method: "PATCH",
				SemanticUnit:        "set_static_route_enabled_v1",
				AdapterVersion:      "static-route-enabled-v1",
				RollbackPlanVersion: "static-route-enabled-rollback-v1",
				ContractPrefix:      "routeon",
				Title:               "route on or off", Noun: "route",
				WritePath: staticRoutePath, ReadPath: staticRoutesPath,
				OptionalReads: []string{aliasesPath, gatewaysPath, gatewayGroupsPath},
				Loads:         core.Routing,
				Marks:         []string{string(core.Routing)},
				Refusals: refusals(core.Refusals{
					400: {"MODEL_REQUIRES_ID", "LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "SUBNET_VALIDATOR_FAILED",
						"STATIC_ROUTE_CONFLICTS_WITH_IPV4_INTERFACE", "STATIC_ROUTE_CONFLICTS_WITH_IPV6_INTERFACE",
						"STATIC_ROUTE_GATEWAY_DISABLED", "STATIC_ROUTE_NON_IPV4_NETWORK_WITH_IPV4_GATEWAY",
						"STATIC_ROUTE_NON_IPV6_NETWORK_WITH_IPV6_GATEWAY"},
					404: {"MODEL_OBJECT_NOT_FOUND", "FOREIGN_MODEL_FIELD_VALUE_NOT_FOUND"},
				}),
				WayBack: "the route is switched back",
			},
			identity: []string{"network"},
			values:   plain("enabled"),
		},
		key:   func(row core.Object) core.Object { return core.Object{"network": row["network"]} },
		label: func(identity core.Object) string { return textOf(identity, "network") },
		summary: func(row core.Object) string {
			return enabledState(row["disabled"]) + ", via " + textOf(row, "gateway")
		},
		project: func(_ core.Reading, row core.Object) (core.Object, error) {
			if textOf(row, "network") == "" || !isBool(row["disabled"]) {
				return nil, refuse(core.ErrTargetUnsupported, "the firewall gives it in a form that this build does not know")
			}
			return settled(row, "network", "gateway", "descr", "disabled")
		},
		stored: checkStoredRoute,
		form:   enabledForm,
		parse:  parseRouteEnabled,
		intend: func(fields, snapshot core.Object) core.Object {
			return with(snapshot, core.Object{"disabled": fields["enabled"] == false})
		},
		admit: func(core.Reading, core.Observation, core.Object) error { return nil },
		body: func(o core.Observation, state core.Object) []member {
			return []member{{"id", o.Locator}, {"disabled", state["disabled"]}}
		},
		changes: func(fields, snapshot core.Object) []core.Change {
			return []core.Change{{Field: "route", Before: enabledState(snapshot["disabled"]), After: enabledState(fields["enabled"] == false)}}
		},
	}
}

func parseRouteEnabled(fields core.Object) (core.Object, error) {
	network, err := textMember(fields, "network")
	if err != nil {
		return nil, err
	}
	if !isPrefix(network) && !aliasName.MatchString(network) {
		return nil, refuse(core.ErrRequest, "a route's network is one such as 192.0.2.0/24, or the name of an alias")
	}
	enabled, err := boolMember(fields, "enabled")
	return core.Object{"network": network, "enabled": enabled}, err
}

// checkStoredRoute refuses a route that the API refuses, or would rewrite.
func checkStoredRoute(r core.Reading, o core.Observation) error {
	x, network, gateway := referencesIn(r), textOf(o.Projection, "network"), textOf(o.Projection, "gateway")
	why := badTexts(o.Projection, "descr")
	prefix, err := netip.ParsePrefix(network)
	switch {
	case why != "":
	case err != nil:
		why = x.badAlias(network, false)
	case prefix != prefix.Masked():
		why = "its network has host bits, and any change through the API would cut them"
	}
	if why == "" {
		why = x.badGateway(gateway)
	}
	if row := named(x.gateways, gateway); why == "" && row["disabled"] == true {
		why = "its gateway is disabled, so the route can be switched in one direction only"
	}
	if why != "" {
		return refuse(core.ErrTargetUnsupported, why)
	}
	return nil
}
