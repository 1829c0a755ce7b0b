package sim

import (
	"strconv"
	"strings"
)

// runCheck runs one named validator, for example "ip:ipv4,fqdn".
func (o *object) runCheck(f *field, check string, v any) *apiError {
	name, optionList, _ := strings.Cut(check, ":")
	text, ok := v.(string)
	if !ok {
		return nil
	}
	options := tagSet(strings.ReplaceAll(optionList, ",", " "))
	switch name {
	case "filter_name":
		return o.checkFilterName(f, text)
	case "ip":
		return o.checkIP(f, text, options)
	case "subnet":
		return o.checkSubnet(f, text, options)
	case "hostname":
		if !isHostname(text) {
			return fail("HOSTNAME_VALIDATOR_FAILED", "Field `%s` must be a valid hostname, received `%s`.", f.name, text)
		}
	case "mac":
		if !macForm.MatchString(text) {
			return fail("MAC_ADDRESS_VALIDATOR_FAILED", "Field `%s` must be a valid MAC address, received `%s`.", f.name, text)
		}
	case "length":
		from, to, _ := strings.Cut(optionList, ",")
		return checkLength(f, text, from, to)
	}
	return nil
}

func checkLength(f *field, text, from, to string) *apiError {
	lo, _ := strconv.Atoi(from)
	hi, _ := strconv.Atoi(to)
	if len(text) < lo {
		return fail("LENGTH_VALIDATOR_MINIMUM_CONSTRAINT", "Field `%s` must contain a minimum of %d characters.", f.name, hi)
	}
	if len(text) > hi {
		return fail("LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "Field `%s` exceeds the maximum character length of %d.", f.name, hi)
	}
	return nil
}

func (o *object) checkFilterName(f *field, text string) *apiError {
	switch {
	case o.s.profile.nameCharacters && !nameForm.MatchString(text):
		return fail("FILTER_NAME_VALIDATOR_INVALID_CHARACTERS", "Field `%s` cannot be `%s` because it contains invalid characters. Only A-Z, a-z, 0-9, and _ are allowed.", f.name, text)
	case reservedNames[text]:
		return fail("FILTER_NAME_VALIDATOR_RESERVED_NAME_USED", "Field `%s` cannot be `%s` because it is a name reserved by the system.", f.name, text)
	case strings.HasPrefix(text, "pkg_"):
		return fail("FILTER_NAME_VALIDATOR_CANNOT_START_WITH_PKG", "Field `%s` cannot be `%s` because it starts with `pkg_`.", f.name, text)
	case isNumeric(text):
		return fail("FILTER_NAME_VALIDATOR_CANNOT_BE_NUMERICAL", "Field `%s` cannot be `%s` because it is entirely numerical.", f.name, text)
	case o.s.interfaces().has(text):
		return fail("FILTER_NAME_VALIDATOR_NAME_IN_USE_BY_INTERFACE", "Field `%s` cannot be `%s` because it is in use by an existing interface.", f.name, text)
	}
	return nil
}

func (o *object) checkIP(f *field, text string, allow map[string]bool) *apiError {
	matches := func(s string) bool {
		return allow["ipv4"] && isIPv4(s) || allow["ipv6"] && isIPv6(s) || allow["fqdn"] && isFQDN(s)
	}
	if matches(text) || allow["alias"] && o.s.isAlias(text, false) {
		return nil
	}
	if i := strings.LastIndexByte(text, ':'); allow["port"] && i >= 0 {
		if !isPort(text[i+1:]) {
			return fail("IP_ADDRESS_VALIDATOR_INVALID_PORT_SUFFIX", "Field `%s` has an invalid port suffix, received `%s`.", f.name, text)
		}
		if matches(text[:i]) {
			return nil
		}
	}
	kind := "IPv4 address"
	if !allow["ipv4"] {
		kind = "IPv6 address"
	}
	if !allow["ipv4"] && !allow["ipv6"] {
		kind = "FQDN"
	}
	return fail("IP_ADDRESS_VALIDATOR_FAILED", "Field `%s` must be a valid %s, received `%s`.", f.name, kind, text)
}

func (o *object) checkSubnet(f *field, text string, allow map[string]bool) *apiError {
	switch {
	case isSubnet(text, allow["ipv4"], false):
		o.labels[f.name] = "subnetv4"
	case isSubnet(text, false, allow["ipv6"]):
		o.labels[f.name] = "subnetv6"
	case allow["alias"] && o.s.isAlias(text, false):
		o.labels[f.name] = "alias"
	default:
		return fail("SUBNET_VALIDATOR_FAILED", "Field `%s` must be a valid subnet CIDR, received `%s`.", f.name, text)
	}
	return nil
}

// checkKind applies the rules of special kinds of fields.
func (o *object) checkKind(f *field, v any) *apiError {
	text, _ := v.(string)
	switch f.kind {
	case "address":
		return o.checkAddress(f, text)
	case "network":
		return o.checkNetwork(f, text)
	case "port":
		return o.checkPort(f, text)
	case "foreign":
		return o.checkForeign(f, v)
	}
	return nil
}

func (o *object) checkAddress(f *field, text string) *apiError {
	if rest, inverted := strings.CutPrefix(text, "!"); inverted {
		if text = rest; text == "any" {
			return fail("FILTER_RULE_ADDRESS_FIELD_WITH_INVERT_ANY", "Field `%s` cannot use invert prefix (!) with value `any`.", f.name)
		}
	}
	if label := o.addressLabel(text, true); label != "" {
		o.labels[f.name] = label
		return nil
	}
	switch text {
	case "any", "(self)", "l2tp", "pppoe":
		return nil
	}
	text = strings.TrimSuffix(text, ":ip")
	if contains(o.s.interfaceNames(&field{allow: []string{"groups"}}), text) {
		return nil
	}
	return fail("FILTER_ADDRESS_FIELD_INVALID", "Field `%s` value `%s` is invalid. Valid options are: an existing interface, an IP address, "+
		"a subnet CIDR, an existing alias, `any`, `(self)`, `l2tp`, `pppoe`", f.name, text)
}

func (o *object) addressLabel(text string, subnets bool) string {
	switch {
	case isIPv4(text) || isIPv6(text):
		return "ip"
	case subnets && isSubnet(text, true, true):
		return "subnet"
	case o.s.isAlias(text, false):
		return "alias"
	}
	return ""
}

func (o *object) checkNetwork(f *field, text string) *apiError {
	if o.addressLabel(text, false) != "" {
		return nil
	}
	name, isIP := strings.CutSuffix(text, ":ip")
	if isIP && contains(o.s.interfaceNames(&field{}), name) {
		return nil
	}
	return fail("SPECIAL_NETWORK_FIELD_INVALID", "Field `%s` value `%s` is invalid. Valid options are: an IP address, an existing alias", f.name, name)
}

func (o *object) checkPort(f *field, text string) *apiError {
	if isPort(text) || f.allows("range") && isPortRange(text) || f.allows("alias") && o.s.isAlias(text, true) {
		return nil
	}
	options := "a TCP/UDP port number, "
	if f.allows("range") {
		options += "a TCP/UDP port range separated by `:`, "
	}
	return fail("PORT_FIELD_INVALID", "Field `%s` contains invalid port value `%s`. Valid options are: %san existing port type firewall alias", f.name, text, options)
}

func (o *object) checkForeign(f *field, v any) *apiError {
	if text, ok := v.(string); ok && f.allows(text) {
		return nil
	}
	names := make([]string, len(f.foreign))
	for i, class := range f.foreign {
		names[i] = spacedName(class)
		if contains(o.s.foreignValues(class), v) {
			return nil
		}
	}
	return fail("FOREIGN_MODEL_FIELD_VALUE_NOT_FOUND", "Field `%s` could not locate `%s` object with `%s` set to `%s`",
		f.name, strings.Join(names, " or "), f.foreignField, phpString(v))
}

// spacedName turns a class name into words: RoutingGateway, Routing Gateway.
func spacedName(class string) string {
	var b strings.Builder
	for i, r := range class {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// foreignValues lists the names that a reference may point at.
func (s *session) foreignValues(class string) []any {
	path, key := "", "name"
	switch class {
	case "RoutingGateway", "RoutingGatewayStatus":
		path = "gateways/gateway_item"
	case "RoutingGatewayGroup":
		path = "gateways/gateway_group"
	case "FirewallSchedule":
		path = "schedules/schedule"
	case "TrafficShaperQueue":
		path = "shaper/queue"
	case "FirewallRule":
		path, key = "filter/rule", "associated-rule-id"
	case "User":
		path = "system/user"
	}
	var out []any
	for _, x := range list(s.cfg, path) {
		if d, ok := x.(*dict); ok && d.has(key) {
			out = append(out, d.text(key))
		}
	}
	return out
}

// isAlias reports whether an alias of that name exists: one of ports, or one of anything else.
func (s *session) isAlias(name string, port bool) bool {
	for _, x := range list(s.cfg, "aliases/alias") {
		if d, ok := x.(*dict); ok && d.text("name") == name && (d.text("type") == "port") == port {
			return true
		}
	}
	return false
}

func (o *object) checkUnique(f *field, among []*object) *apiError {
	for _, other := range among {
		if other.id != nil && o.id != nil && same(other.id, o.indexID()) {
			continue
		}
		if same(other.vals[f.name], o.vals[f.name]) {
			return fail("FIELD_MUST_BE_UNIQUE", "Field `%s` must be unique. Value is in use by object with ID `%s`.", f.name, phpString(other.id))
		}
	}
	return nil
}
