package pfsense

import (
	"fmt"
	"regexp"
	"strings"

	"countersign/canon"
	"countersign/core"
)

const (
	aliasPath   = "/api/v2/firewall/alias"
	aliasesPath = "/api/v2/firewall/aliases"
	// mostAliases: a list of as many rows is refused (conformance, read_rule).
	mostAliases = 500
	// mostEntries keeps an execution intent, which holds the alias twice,
	// within the bounds of canonical values.
	mostEntries = 2000
)

// aliasName is the reference's pattern; an API name has 31 bytes at most.
var aliasName = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9_]{0,31}\z`)

// aliasRefusals are the alias model's own checks, all made before it writes.
func aliasRefusals() core.Refusals {
	return refusals(core.Refusals{
		400: {"MODEL_REQUIRES_ID", "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE",
			"LENGTH_VALIDATOR_MAXIMUM_CONSTRAINT", "LENGTH_VALIDATOR_MINIMUM_CONSTRAINT",
			"INVALID_FIREWALL_ALIAS_NAME", "FILTER_NAME_VALIDATOR_INVALID_CHARACTERS",
			"TOO_MANY_ALIAS_DETAILS", "INVALID_HOST_ALIAS_ADDRESS",
			"INVALID_NETWORK_ALIAS_ADDRESS", "INVALID_PORT_ALIAS_ADDRESS"},
		404: {"MODEL_OBJECT_NOT_FOUND"},
	})
}

// requestAliasName reads the member that names an alias.
func requestAliasName(fields core.Object) (string, error) {
	name, err := textMember(fields, "alias_name")
	if err == nil && !aliasName.MatchString(name) {
		err = refuse(core.ErrRequest, "an alias name has letters, digits and underscores, 32 at most, and does not begin with an underscore")
	}
	return name, err
}

// aliasProjection is the fingerprint of one alias, or why it has none.
func aliasProjection(row core.Object) (core.Object, error) {
	name, kind, descr := textOf(row, "name"), textOf(row, "type"), row["descr"]
	switch kind {
	case "host", "network", "port":
	case "url", "url_ports", "urltable", "urltable_ports":
		return nil, refuse(core.ErrTargetUnsupported, "the API cannot change an alias of type "+kind+"; use the firewall's own page")
	default:
		return nil, refuse(core.ErrTargetUnsupported, "the API cannot change an alias of this type")
	}
	if !aliasName.MatchString(name) {
		return nil, refuse(core.ErrTargetUnsupported, "its name is not one that the API accepts")
	}
	if s, ok := descr.(string); !ok || !canon.IsNFC(s) {
		return nil, refuse(core.ErrTargetUnsupported, "its description is not text in Unicode normal form, so it could not be written back")
	}
	addresses, ok := strs(row["address"])
	details, ok2 := strs(row["detail"])
	switch {
	case !ok || !ok2:
		return nil, refuse(core.ErrTargetUnsupported, "its addresses or details are not lists of text")
	case len(addresses) != len(details):
		return nil, refuse(core.ErrTargetUnsupported, fmt.Sprintf("it has %s but %s; save it once in the firewall's own page",
			count(len(addresses), "address", "addresses"), count(len(details), "detail", "details")))
	case len(addresses) > mostEntries:
		return nil, refuse(core.ErrTargetUnsupported, fmt.Sprintf("it has more than %d entries", mostEntries))
	}
	for i := range addresses {
		if !canon.IsNFC(addresses[i]) || !canon.IsNFC(details[i]) {
			return nil, refuse(core.ErrTargetUnsupported, fmt.Sprintf("entry %d is not in Unicode normal form, so it could not be written back", i+1))
		}
	}
	return pick(row, "name", "type", "descr", "address", "detail"), nil
}

// aliasChange is what all changes of aliases share.
func aliasChange(spec core.Spec) listed {
	spec.Capability, spec.Method, spec.Noun = "ALIAS_WRITE", "PATCH", "alias"
	spec.WritePath, spec.ReadPath = aliasPath, aliasesPath
	spec.Refusals = aliasRefusals()
	return listed{
		shape: shape{spec: spec, identity: []string{"alias_name"}},
		most:  mostAliases,
		key:   func(row core.Object) core.Object { return core.Object{"alias_name": row["name"]} },
		label: func(identity core.Object) string { return textOf(identity, "alias_name") }, summary: aliasSummary,
		guard:  func(_ core.Reading, row core.Object) any { return row["name"] },
		stored: checkStoredAlias,
	}
}

func aliasSummary(row core.Object) string {
	addresses, _ := row["address"].([]any)
	noun := [2]string{"address", "addresses"}
	switch {
	case strings.Contains(textOf(row, "type"), "port"):
		noun = [2]string{"port", "ports"}
	case textOf(row, "type") == "network":
		noun = [2]string{"network", "networks"}
	}
	return textOf(row, "type") + ", " + count(len(addresses), noun[0], noun[1])
}

// checkStoredAlias refuses an alias that the API would not take back as it is.
func checkStoredAlias(r core.Reading, o core.Observation) error {
	return checkAliasState(aliasesIn(r), o.Projection)
}

// checkAliasState refuses an alias that could not be written in this state.
func checkAliasState(aliases []core.Object, a core.Object) error {
	if why := unwritable(textOf(a, "descr")); why != "" {
		return refuse(core.ErrTargetUnsupported, "the description could not be written back: "+why)
	}
	addresses, _ := strs(a["address"])
	details, _ := strs(a["detail"])
	for i := range addresses {
		if why := badAddress(aliases, textOf(a, "type"), addresses[i]); why != "" {
			return refuse(core.ErrTargetUnsupported, fmt.Sprintf("entry %d blocks every change: %s", i+1, why))
		}
		if why := badDetail(details[i]); why != "" {
			return refuse(core.ErrTargetUnsupported, fmt.Sprintf("the detail of entry %d could not be written back: %s", i+1, why))
		}
	}
	return nil
}

// badDetail says why a detail would not survive: pfSense joins all details
// with "||" and splits them again.
func badDetail(detail string) string {
	if strings.Contains(detail, "||") || strings.HasSuffix(detail, "|") {
		return "\"||\" separates details in the firewall's configuration"
	}
	return unwritable(detail)
}
