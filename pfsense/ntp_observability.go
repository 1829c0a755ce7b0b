package pfsense

import (
	"slices"

	"countersign/core"
)

const ntpSettingsPath = "/api/v2/services/ntp/settings"

// newNTPObservability changes what the time service logs and counts.
func newNTPObservability() settings {
	inputs := []input{
		yesNo("logpeer", "Log peer messages"), yesNo("logsys", "Log system messages"),
		yesNo("clockstats", "Reference clock statistics"), yesNo("loopstats", "Clock discipline statistics"),
		yesNo("peerstats", "Peer statistics"), yesNo("statsgraph", "Statistics graphs"),
	}
	names := namesOf(inputs)
	return settings{
		shape: shape{
			spec: core.Spec{
				Capability: "NTP_SETTINGS_OBSERVABILITY_WRITE", EndpointSymbol: "NTP_SETTINGS_OBSERVABILITY_TOGGLES", Method: "PATCH",
				SemanticUnit:        "set_ntp_settings_observability_v1",
				AdapterVersion:      "ntp-settings-observability-v1",
				RollbackPlanVersion: "ntp-settings-observability-rollback-v1",
				ContractPrefix:      "ntpobs",
				Title:               "NTP logging and statistics", Noun: "settings object",
				WritePath: ntpSettingsPath, ReadPath: ntpSettingsPath,
				Loads: core.LoadsAtOnce,
				Refusals: refusals(core.Refusals{400: {"NUMERIC_RANGE_VALIDATOR_MINIMUM_CONSTRAINT",
					"NUMERIC_RANGE_VALIDATOR_MAXIMUM_CONSTRAINT", "NTP_SERVER_NTPMINPOLL_GREATER_THAN_NTPMAXPOLL"}}),
				WayBack: "the six old values are written back",
			},
			resource: "ntp_settings",
			values:   plain(names...),
		},
		title: "ntp", summary: "logging and statistics of the time service",
		inputs: inputs,
		fields: slices.Concat(
			typed(isBool, "clockstats", "enable", "logpeer", "logsys", "loopstats", "peerstats", "serverauth", "statsgraph"),
			typed(isText, "dnsresolv", "serverauthalgo"),
			typed(isInt, "ntpmaxpeers", "orphan"),
			typed(orNull(isText), "leapsec", "ntpmaxpoll", "ntpminpoll"),
			typed(orNull(isTextList), "interface")),
		blanks: func(o core.Object) []string {
			if o["enable"] != true {
				return nil // no change is possible there, and nothing is written
			}
			// The first write turns null into "" here, and null into [].
			return []string{"leapsec", "ntpmaxpoll", "ntpminpoll", "interface"}
		},
		check:   checkNTPSettings,
		missing: "the firewall gave no NTP settings",
	}
}

// checkNTPSettings: a box whose NTP page was never saved looks exactly like
// one where NTP is off, and any write then really turns it off. A write
// validates all the other fields too.
func checkNTPSettings(now, _ core.Object) error {
	switch {
	case now["enable"] != true:
		return refuse(core.ErrTargetUnsupported, "the API says NTP is off; if its page was never saved that is not so, and any change would turn it off: save Services > NTP once in the firewall's own page")
	case !between(now["ntpmaxpeers"], 4, 25), !between(now["orphan"], 1, 15):
		return refuse(core.ErrTargetUnsupported, "the API does not accept the stored peer limit or orphan stratum, so it refuses every change")
	case !oneOf(now["dnsresolv"], "auto", "inet", "inet6"), !oneOf(now["serverauthalgo"], "md5", "sha1", "sha256"):
		return refuse(core.ErrTargetUnsupported, "the API does not know the stored name resolution or key algorithm, so it refuses every change")
	}
	return nil
}
