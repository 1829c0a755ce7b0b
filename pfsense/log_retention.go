package pfsense

import (
	"math"

	"countersign/core"
)

// newLogRetention changes how much of the logs is kept.
func newLogRetention() settings {
	return logSettings(core.Spec{
		Capability: "LOG_RETENTION_SETTINGS_WRITE", EndpointSymbol: "LOG_RETENTION_SETTINGS",
		SemanticUnit:        "set_log_retention_settings_v1",
		AdapterVersion:      "log-retention-settings-v1",
		RollbackPlanVersion: "log-retention-settings-rollback-v1",
		ContractPrefix:      "logret",
		Title:               "log retention",
		WayBack:             "the three old values are written back; log files that were rotated away do not come back",
	}, "how much of the logs is kept", []input{
		{name: "logfilesize", label: "Log file size", kind: core.NumberField, help: "bytes, 100000 at least", least: 1, most: math.MaxInt32},
		{name: "rotatecount", label: "Old files kept", kind: core.NumberField, help: "0 to 99", most: 100_000},
		{name: "logcompressiontype", label: "Compression", kind: core.ChoiceField, choices: logCompressions()},
	})
}
