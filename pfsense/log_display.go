package pfsense

import "countersign/core"

// newLogDisplay changes how logs are written and shown.
func newLogDisplay() settings {
	return logSettings(core.Spec{
		Capability: "LOG_DISPLAY_PREFERENCES_WRITE", EndpointSymbol: "LOG_DISPLAY_PREFERENCES",
		SemanticUnit:        "set_log_display_preferences_v1",
		AdapterVersion:      "log-display-preferences-v1",
		RollbackPlanVersion: "log-display-preferences-rollback-v1",
		ContractPrefix:      "logdisp",
		Title:               "log display",
		WayBack:             "the five old values are written back",
	}, "how logs are written and shown", []input{
		{name: "format", label: "Format", kind: core.ChoiceField, choices: logFormats()},
		yesNo("reverseorder", "Newest first"),
		{name: "nentries", label: "Entries shown", kind: core.NumberField, help: "5 to 20000", most: 1_000_000},
		{name: "filterdescriptions", label: "Rule descriptions", kind: core.NumberField,
			help: "0 none, 1 as a column, 2 as a second row", most: 2},
		yesNo("rawfilter", "Raw packet filter log"),
	})
}
