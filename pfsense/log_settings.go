package pfsense

import (
	"slices"

	"countersign/core"
)

const logSettingsPath = "/api/v2/status/logs/settings"

// logSettings is a change of some fields of the log settings. spec, summary
// and inputs are the change's own.
func logSettings(spec core.Spec, summary string, inputs []input) settings {
	spec.Method = "PATCH"
	spec.WritePath, spec.ReadPath = logSettingsPath, logSettingsPath
	spec.Noun, spec.Loads = "settings object", core.LoadsAtOnce
	spec.Refusals = refusals(core.Refusals{400: {"NUMERIC_RANGE_VALIDATOR_MINIMUM_CONSTRAINT",
		"NUMERIC_RANGE_VALIDATOR_MAXIMUM_CONSTRAINT", "IP_ADDRESS_VALIDATOR_FAILED", "IP_ADDRESS_VALIDATOR_INVALID_PORT_SUFFIX"}})
	return settings{
		shape: shape{spec: spec, resource: "status_logs_settings", values: plain(namesOf(inputs)...)},
		title: "logs", summary: summary, inputs: inputs,
		fields: slices.Concat(
			typed(isText, "format", "logcompressiontype"),
			typed(isInt, "nentries", "filterdescriptions", "logfilesize", "rotatecount"),
			typed(isBool, "reverseorder", "nologdefaultblock", "nologdefaultpass", "nologbogons", "nologprivatenets",
				"nolognginx", "rawfilter", "disablelocallogging", "logconfigchanges", "enableremotelogging"),
			typed(orNull(isText), "ipprotocol", "sourceip", "remoteserver", "remoteserver2", "remoteserver3"),
			typed(orNull(isBool), slices.Concat([]string{"logall"}, remoteLogs())...)),
		blanks: func(o core.Object) []string {
			if o["enableremotelogging"] == true {
				return nil // there "" is refused where null is not
			}
			return remoteTexts()
		},
		check:   checkLogSettings,
		missing: "the firewall gave no log settings",
	}
}

func remoteTexts() []string {
	return []string{"ipprotocol", "sourceip", "remoteserver", "remoteserver2", "remoteserver3"}
}

func remoteLogs() []string {
	return []string{"filter", "dhcp", "auth", "portalauth", "vpn", "dpinger", "hostapd", "system", "resolver", "ppp", "routing", "ntpd"}
}

// checkLogSettings holds both states against the API's own bounds: the one to
// be written, and the one to be written back.
func checkLogSettings(now, intended core.Object) error {
	if why := badLogValues(intended); why != "" {
		return refuse(core.ErrRequest, why)
	}
	if why := badLogValues(now); why != "" {
		return refuse(core.ErrTargetUnsupported, "the present state could not be written back: "+why)
	}
	return checkRemoteLogging(now)
}

func badLogValues(o core.Object) string {
	switch {
	case !oneOf(o["format"], logFormats()...):
		return "the format must be rfc3164 or rfc5424"
	case !between(o["nentries"], 5, 20000):
		return "the firewall shows 5 to 20000 entries"
	case !between(o["filterdescriptions"], 0, 2):
		return "rule descriptions are 0, 1 or 2"
	case !between(o["logfilesize"], 100000, 1<<31-1):
		return "the firewall's log files have 100000 bytes at least and 2147483647 at most"
	case !between(o["rotatecount"], 0, 99):
		return "the firewall keeps 0 to 99 old log files"
	case !oneOf(o["logcompressiontype"], logCompressions()...):
		return "the firewall does not know this compression"
	}
	return ""
}

// checkRemoteLogging refuses a state in which any write would also change the
// remote logging: the API drops fields whose condition does not hold, fills in
// defaults, and takes no empty server names.
func checkRemoteLogging(now core.Object) error {
	on := now["enableremotelogging"] == true
	for _, name := range slices.Concat(remoteTexts(), remoteLogs(), []string{"logall"}) {
		if !on && now[name] != nil {
			return refuse(core.ErrTargetUnsupported, "remote logging is off but its fields are still stored; any change through the API erases them: clear them in the firewall's own page first")
		}
	}
	if !on {
		return nil
	}
	for _, name := range []string{"remoteserver", "remoteserver2", "remoteserver3"} {
		if now[name] == "" {
			return refuse(core.ErrTargetUnsupported, "remote logging was set up with fewer than three servers, so the API refuses every change; name three servers, or use the firewall's own page")
		}
	}
	unsettled := now["ipprotocol"] == nil || now["sourceip"] == nil || now["logall"] == nil ||
		(now["remoteserver"] == nil && now["remoteserver2"] != nil) || (now["remoteserver2"] == nil && now["remoteserver3"] != nil)
	for _, name := range remoteLogs() {
		unsettled = unsettled || (now[name] == nil) != (now["logall"] == true)
	}
	if unsettled {
		return refuse(core.ErrTargetUnsupported, "any change through the API would also rewrite the remote logging, and that could not be undone; save it once through the API or leave this to the firewall's own page")
	}
	return nil
}

func logFormats() []string { return []string{"rfc3164", "rfc5424"} }

func logCompressions() []string { return []string{"bzip2", "gzip", "xz", "zstd", "none"} }
