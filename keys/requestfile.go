package keys

import (
	"context"
	"fmt"

	"countersign/canon"
	"countersign/core"
)

// RequestFiles writes requests for off-host signers. It implements
// core.RequestWriter. A request holds target and values in plain text, so it
// is written only on an operator's explicit export, to a place that they
// name, with mode 0600, never over another file, and never by itself to the
// store's folder.
type RequestFiles struct{}

// WriteRequest implements core.RequestWriter. Errors wrap ErrWrite, or those
// of EncodeRequest.
func (RequestFiles) WriteRequest(_ context.Context, path string, r core.SigningRequest) error {
	raw, err := EncodeRequest(r)
	if err != nil {
		return err
	}
	return writeNew(path, raw)
}

// EncodeRequest writes a request file's bytes. Errors wrap core.ErrInvalid;
// a target whose values do not fit in 1 MiB cannot be signed off-host.
func EncodeRequest(r core.SigningRequest) ([]byte, error) {
	unsigned, err := unsignedObject(r)
	if err != nil {
		return nil, err
	}
	raw, err := canon.Encode(core.Object{
		"schema": requestSchema, "version": int64(fileVersion), "kind": string(r.Kind),
		"operator": r.Operator, "exported_at": core.FormatInstant(r.ExportedAt),
		"appliance": applianceObject(r.Appliance), "capability": r.Binding.Capability,
		"endpoint_symbol": r.Binding.EndpointSymbol, "http_method": r.Binding.Method,
		"fields": orEmpty(r.Fields), "snapshot": orEmpty(r.Snapshot), "lifecycle_locator": r.Locator,
		"pending": anyTexts(r.Pending), "unsigned": unsigned, "doubt": doubtObject(r.Doubt),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the request cannot be written: %w", core.ErrInvalid, err)
	}
	return raw, nil
}

// DecodeRequest accepts exactly what EncodeRequest writes. What it says is
// checked by core.SigningRequest.Open. Errors wrap ErrFile or ErrNewerFile.
func DecodeRequest(raw []byte) (core.SigningRequest, error) {
	m, err := openFile(raw, requestSchema, maxRequestFile)
	if err != nil {
		return core.SigningRequest{}, err
	}
	r := core.SigningRequest{
		Kind: core.ProofKind(take[string](m, "kind")), Operator: take[string](m, "operator"), ExportedAt: m.instant("exported_at"),
		Binding: core.Binding{Capability: take[string](m, "capability"),
			EndpointSymbol: take[string](m, "endpoint_symbol"), Method: take[string](m, "http_method")},
		Fields: take[core.Object](m, "fields"), Snapshot: take[core.Object](m, "snapshot"),
		Locator: take[int64](m, "lifecycle_locator"), Pending: m.texts("pending"),
	}
	m.within("appliance", func(a *members) { r.Appliance = readAppliance(a) })
	m.within("unsigned", func(u *members) {
		e := Evidence{Kind: r.Kind}
		e.read(u, false)
		r.Authorization, r.Confirmation, r.Reconciliation = e.Authorization, e.Confirmation, e.Reconciliation
	})
	if _, present := optional[core.Object](m, "doubt"); present {
		m.within("doubt", func(d *members) { r.Doubt = readDoubt(d) })
	}
	if m.err != nil {
		return core.SigningRequest{}, m.err
	}
	again, err := EncodeRequest(r)
	return r, exact(raw, again, err)
}

// unsignedObject is the exact evidence but for the members that only the
// signer can know: who they are, with which algorithm, and when.
func unsignedObject(r core.SigningRequest) (core.Object, error) {
	e := Evidence{Kind: r.Kind, Authorization: r.Authorization, Confirmation: r.Confirmation, Reconciliation: r.Reconciliation}
	object, err := e.object()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"authority_id", "algorithm", "issued_at", "authorization_issued_at"} {
		delete(object, name)
	}
	return object, nil
}

func applianceObject(a core.ApplianceIdentity) core.Object {
	o := core.Object{"base_url": a.BaseURL, "tls_mode": a.TLSMode, "ca_certificate_digest": nil,
		"installation": a.Installation, "installation_kind": a.InstallationKind}
	if a.CACertificate != nil {
		o["ca_certificate_digest"] = a.CACertificate.String()
	}
	return o
}

func readAppliance(m *members) core.ApplianceIdentity {
	return core.ApplianceIdentity{BaseURL: take[string](m, "base_url"), TLSMode: take[string](m, "tls_mode"),
		CACertificate: m.optionalDigest("ca_certificate_digest"), Installation: take[string](m, "installation"),
		InstallationKind: take[string](m, "installation_kind")}
}

func doubtObject(d *core.Doubt) any {
	if d == nil {
		return nil
	}
	o := core.Object{"origin": string(d.Origin), "boundary": string(d.Boundary), "failure": string(d.Failure),
		"read_at": core.FormatInstant(d.ReadAt), "found": nil, "lifecycle_locator": d.Locator, "problem": d.Problem}
	if d.Found != nil {
		o["found"] = d.Found
	}
	return o
}

func readDoubt(m *members) *core.Doubt {
	d := &core.Doubt{Origin: core.State(take[string](m, "origin")), Boundary: core.Boundary(take[string](m, "boundary")),
		Failure: core.FailureClass(take[string](m, "failure")), ReadAt: m.instant("read_at"),
		Locator: take[int64](m, "lifecycle_locator"), Problem: take[string](m, "problem")}
	d.Found, _ = optional[core.Object](m, "found")
	return d
}

// orEmpty: an object that is nil is written as one without members.
func orEmpty(o core.Object) core.Object {
	if o == nil {
		return core.Object{}
	}
	return o
}

func anyTexts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
