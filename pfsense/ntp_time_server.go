package pfsense

import (
	"unicode/utf8"

	"countersign/canon"
	"countersign/core"
)

const (
	timeServerPath  = "/api/v2/services/ntp/time_server"
	timeServersPath = "/api/v2/services/ntp/time_servers"
	// mostTimeServers: a list of as many rows is refused (conformance, read_rule).
	mostTimeServers = 100
)

// newNTPTimeServer changes whether a time server is preferred. The API deletes
// the entry and adds it again at the end, so only the last one stays put.
func newNTPTimeServer() listed {
	return listed{
		shape: shape{
			spec: core.Spec{
				Capability: "NTP_TIME_SERVER_PREFER_WRITE", EndpointSymbol: "NTP_TIME_SERVER_PREFER", Method: "PATCH",
				SemanticUnit:        "set_ntp_time_server_prefer_v1",
				AdapterVersion:      "ntp-time-server-prefer-v1",
				RollbackPlanVersion: "ntp-time-server-prefer-rollback-v1",
				ContractPrefix:      "ntppref",
				Title:               "preferred time server", Noun: "time server",
				WritePath: timeServerPath, ReadPath: timeServersPath,
				Loads: core.LoadsAtOnce,
				Refusals: refusals(core.Refusals{
					400: {"MODEL_REQUIRES_ID", "IP_ADDRESS_VALIDATOR_FAILED"},
					404: {"MODEL_OBJECT_NOT_FOUND"},
				}),
				WayBack: "the old preference is written back",
			},
			identity: []string{"timeserver"},
			values:   plain("prefer"),
		},
		most:  mostTimeServers,
		key:   func(row core.Object) core.Object { return core.Object{"timeserver": row["timeserver"]} },
		label: timeServerName, summary: timeServerSummary,
		project: timeServerProjection, stored: checkLastServer,
		form: func(s core.Object) []core.Field {
			return []core.Field{{Name: "prefer", Label: "Prefer this server", Kind: core.BoolField, Current: s["prefer"]}}
		},
		parse: parseTimeServer,
		intend: func(fields, snapshot core.Object) core.Object {
			return with(snapshot, core.Object{"prefer": fields["prefer"]})
		},
		admit: func(core.Reading, core.Observation, core.Object) error { return nil },
		body: func(o core.Observation, state core.Object) []member {
			return []member{{"id", o.Locator}, {"prefer", state["prefer"]}}
		},
		changes: func(fields, snapshot core.Object) []core.Change {
			return []core.Change{{Field: "preferred", Before: shown(snapshot["prefer"]), After: shown(fields["prefer"])}}
		},
	}
}

func parseTimeServer(fields core.Object) (core.Object, error) {
	server, err := textMember(fields, "timeserver")
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(server); n == 0 || n > 255 {
		return nil, refuse(core.ErrRequest, "a time server's name has 1 to 255 characters")
	}
	if why := unstorable(server); why != "" {
		return nil, refuse(core.ErrRequest, why)
	}
	prefer, err := boolMember(fields, "prefer")
	if err != nil {
		return nil, err
	}
	return core.Object{"timeserver": server, "prefer": prefer}, nil
}

func timeServerProjection(_ core.Reading, row core.Object) (core.Object, error) {
	name := timeServerName(row)
	switch {
	case name == "" || !canon.IsNFC(name):
		return nil, refuse(core.ErrTargetUnsupported, "its name is not text in Unicode normal form")
	case !oneOf(row["type"], "server", "pool", "peer"):
		return nil, refuse(core.ErrTargetUnsupported, "the API does not know this type of time server")
	case !isBool(row["prefer"]) || !orNull(isBool)(row["noselect"]):
		return nil, refuse(core.ErrTargetUnsupported, "its preference could not be written back as it is")
	}
	return pick(row, "timeserver", "type", "prefer", "noselect"), nil
}

func timeServerName(o core.Object) string { return textOf(o, "timeserver") }

func timeServerSummary(row core.Object) string {
	out := textOf(row, "type")
	if row["prefer"] == true {
		out += ", preferred"
	}
	if row["noselect"] == true {
		out += ", never selected"
	}
	return out
}

// checkLastServer refuses a server that the write would move.
func checkLastServer(r core.Reading, o core.Observation) error {
	rows := objectsIn(r, timeServersPath)
	if len(rows) == 0 || !same(rows[len(rows)-1]["timeserver"], o.Identity["timeserver"]) {
		return refuse(core.ErrTargetUnsupported, "a change would move it to the end of the list, and its place could not be restored; only the last time server can be changed")
	}
	return nil
}
