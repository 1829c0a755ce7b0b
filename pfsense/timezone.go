package pfsense

import (
	"regexp"

	"countersign/core"
)

const timezonePath = "/api/v2/system/timezone"

var zoneName = regexp.MustCompile(`\A[A-Za-z0-9_+\-/]{1,64}\z`)

func badZone(s string) string {
	if zoneName.MatchString(s) {
		return ""
	}
	return "a time zone is a name such as Europe/Berlin, in exactly this spelling"
}

// newTimezone changes the firewall's time zone.
func newTimezone() settings {
	return settings{
		shape: shape{
			spec: core.Spec{
				Capability: "SYSTEM_TIMEZONE_WRITE", EndpointSymbol: "SYSTEM_TIMEZONE", Method: "PATCH",
				SemanticUnit:        "set_system_timezone_v1",
				AdapterVersion:      "system-timezone-v1",
				RollbackPlanVersion: "system-timezone-rollback-v1",
				ContractPrefix:      "systz",
				Title:               "time zone", Noun: "system setting",
				WritePath: timezonePath, ReadPath: timezonePath,
				Loads: core.LoadsAtOnce, Refusals: refusals(nil),
				WayBack: "the old time zone is written back",
			},
			resource: "system_timezone",
			values:   plain("timezone"),
		},
		title: "timezone", summary: "of the whole firewall, its logs and schedules",
		inputs: []input{{name: "timezone", label: "Time zone", kind: core.TextField,
			help: "such as Europe/Berlin or Etc/UTC, in exactly this spelling", valid: badZone}},
		fields:  typed(func(v any) bool { s, ok := v.(string); return ok && badZone(s) == "" }, "timezone"),
		blanks:  func(core.Object) []string { return nil },
		check:   func(_, _ core.Object) error { return nil },
		missing: "this version of the REST API has no time zone; it came with 2.6.0",
	}
}
