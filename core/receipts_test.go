package core_test

import (
	"errors"
	"testing"

	"countersign/core"
)

func v1(request core.Object) core.Object {
	return core.Object{"appliance_target_digest": "aa", "endpoint_symbol": "E", "request": request}
}

func v2(request core.Object, load bool) core.Object {
	o := v1(request)
	o["load_after"] = load
	return o
}

func claim(v core.RequestVersion, request core.Object) core.ReceiptClaim {
	return core.ReceiptClaim{Caller: "jo", Family: core.PrepareFamily, RequestKey: "request-1", Version: v, Request: request}
}

// A committed receipt alone decides a retry (seed 001): equal intent is
// replayed across versions, everything else is refused with its class.
func TestJudgeRetry(t *testing.T) {
	plain := core.Object{"alias_name": "a", "description": "x"}
	blank := core.Object{"alias_name": "a", "description": " x"}
	empty := core.Object{"alias_name": "a", "description": ""}
	outcome := core.ReceiptOutcome{ContractID: "c-1"}

	for _, c := range []struct {
		name   string
		first  core.ReceiptClaim
		scheme core.SchemeVersion
		edit   func(*core.Receipt)
		retry  core.ReceiptClaim
		want   error
	}{
		{"same version, same request", claim(core.RequestV2, v2(plain, false)), core.SchemeV2, nil, claim(core.RequestV2, v2(plain, false)), nil},
		{"old receipt, new client", claim(core.RequestV1, v1(plain)), core.SchemeV2, nil, claim(core.RequestV2, v2(plain, false)), nil},
		{"new receipt, old client", claim(core.RequestV2, v2(plain, false)), core.SchemeV2, nil, claim(core.RequestV1, v1(plain)), nil},
		{"old scheme, nothing erased", claim(core.RequestV1, v1(plain)), core.SchemeV1, nil, claim(core.RequestV2, v2(plain, false)), nil},
		{"changed request", claim(core.RequestV2, v2(plain, false)), core.SchemeV2, nil, claim(core.RequestV2, v2(blank, false)), core.ErrRetryChanged},
		{"changed effect: now it loads", claim(core.RequestV2, v2(plain, false)), core.SchemeV2, nil, claim(core.RequestV2, v2(plain, true)), core.ErrRetryChanged},
		{"old receipt cannot say that it loads", claim(core.RequestV1, v1(plain)), core.SchemeV2, nil, claim(core.RequestV2, v2(plain, true)), core.ErrRetryUnrepresentable},
		{"new receipt loads, old client cannot say so", claim(core.RequestV2, v2(plain, true)), core.SchemeV2, nil, claim(core.RequestV1, v1(plain)), core.ErrRetryChanged},
		{"old scheme would trim the retry", claim(core.RequestV1, v1(plain)), core.SchemeV1, nil, claim(core.RequestV1, v1(blank)), core.ErrRetryUnrepresentable},
		{"old scheme erased a distinction of the original", claim(core.RequestV1, v1(blank)), core.SchemeV1, nil, claim(core.RequestV1, v1(plain)), core.ErrRetryWeakDigest},
		{"old scheme and an empty text", claim(core.RequestV1, v1(empty)), core.SchemeV1, nil, claim(core.RequestV1, v1(empty)), core.ErrRetryWeakDigest},
		{"legacy receipt, generating version known", claim(core.RequestV1, v1(plain)), core.SchemeV1,
			func(r *core.Receipt) { r.Lossless = false }, claim(core.RequestV1, v1(plain)), core.ErrRetryWeakDigest},
		{"legacy receipt, generating version unknown", claim(core.RequestV1, v1(plain)), core.SchemeV1,
			func(r *core.Receipt) { r.Version = 0 }, claim(core.RequestV1, v1(plain)), core.ErrRetryWeakDigest},
		{"receipt from the future, contract", claim(core.RequestV2, v2(plain, false)), core.SchemeV2,
			func(r *core.Receipt) { r.Version = 3 }, claim(core.RequestV2, v2(plain, false)), core.ErrRetryNewer},
		{"receipt from the future, scheme", claim(core.RequestV2, v2(plain, false)), core.SchemeV2,
			func(r *core.Receipt) { r.Scheme = 3 }, claim(core.RequestV2, v2(plain, false)), core.ErrRetryNewer},
		{"receipt from the future, response", claim(core.RequestV2, v2(plain, false)), core.SchemeV2,
			func(r *core.Receipt) { r.ResponseVersion = 2 }, claim(core.RequestV2, v2(plain, false)), core.ErrRetryNewer},
		{"client of an unknown version", claim(core.RequestV2, v2(plain, false)), core.SchemeV2, nil, claim(9, v2(plain, false)), core.ErrRetryUnknownVersion},
		{"request of another version's shape", claim(core.RequestV2, v2(plain, false)), core.SchemeV2, nil, claim(core.RequestV2, v1(plain)), core.ErrRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := core.NewReceiptUnder(c.first, outcome, c.scheme)
			if err != nil {
				t.Fatal(err)
			}
			if c.edit != nil {
				c.edit(&r)
			}
			got, err := core.JudgeRetry(r, c.retry)
			if !errors.Is(err, c.want) || (c.want == nil && (err != nil || got != outcome)) {
				t.Fatalf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestJudgeRetryIsScoped(t *testing.T) {
	request := v2(core.Object{"alias_name": "a", "description": "x"}, false)
	r, err := core.NewReceipt(claim(core.RequestV2, request), core.ReceiptOutcome{ContractID: "c-1"})
	if err != nil {
		t.Fatal(err)
	}
	other := claim(core.RequestV2, request)
	other.Caller = "mika"
	if _, err := core.JudgeRetry(r, other); !errors.Is(err, core.ErrBinding) {
		t.Fatalf("another caller's receipt gave %v", err)
	}
}
