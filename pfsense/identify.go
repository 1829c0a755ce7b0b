package pfsense

import (
	"context"

	"countersign/core"
)

const (
	pathSystemStatus = "/api/v2/status/system"
	pathHASync       = "/api/v2/system/hasync"
)

// Identify reads which installation this is: the netgate_id of the system
// status or, only where that is empty, the pfhostid of the HA settings, which
// the package has from 2.9.0 on. The text is bound exactly as the firewall
// gives it, a line end included: an existing digest must match. An
// installation without either is refused. Errors are *Error.
func (r *Reader) Identify(ctx context.Context) (core.ApplianceIdentity, error) {
	mode, digest := r.trust.identity()
	id := core.ApplianceIdentity{BaseURL: r.base, TLSMode: mode, CACertificate: digest}

	status, err := r.get(ctx, pathSystemStatus, tolerant)
	if err != nil {
		return core.ApplianceIdentity{}, err
	}
	if id.Installation = textIn(status.data, "netgate_id"); id.Installation != "" {
		id.InstallationKind = "netgate_id"
		return id, nil
	}
	ha, err := r.get(ctx, pathHASync, tolerant)
	if err != nil && !answered(err) {
		return core.ApplianceIdentity{}, err
	}
	if id.Installation = textIn(ha.data, "pfhostid"); id.Installation != "" {
		id.InstallationKind = "pfhostid"
		return id, nil
	}
	return core.ApplianceIdentity{}, failed(NoIdentity, err, "the firewall shows no installation identity (netgate_id is empty, pfhostid cannot be read): the console cannot bind a change to it")
}

// answered reports whether the firewall answered, but will not or cannot give
// this one reading.
func answered(err error) bool {
	switch classOf(err) {
	case NoPrivilege, NoEndpoint, Refused:
		return true
	}
	return false
}

// textIn returns a text member of an object, or "".
func textIn(data any, name string) string {
	members, _ := data.(map[string]any)
	text, _ := members[name].(string)
	return text
}
