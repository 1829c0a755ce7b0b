package pfsense

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
	"countersign/core"
)

// capabilityCases is one capability of conformance/capabilities.json.
type capabilityCases struct {
	EndpointSymbol string `json:"endpoint_symbol"`
	Capability     string `json:"capability"`
	Method         string `json:"http_method"`
	WritePath      string `json:"write_path"`
	ReadPath       string `json:"read_path"`
	SemanticUnit   string `json:"semantic_unit"`
	Adapter        string `json:"adapter_version"`
	RollbackPlan   string `json:"rollback_plan_version"`
	Prefix         string `json:"contract_id_prefix"`

	Facts struct {
		Identity          []string `json:"identity"`
		FingerprintFields []string `json:"fingerprint_fields"`
	} `json:"facts"`
	Examples []capabilityExample `json:"examples"`
	Refused  []refusedCase       `json:"refused"`
}

type capabilityExample struct {
	Appliance struct {
		BaseURL string        `json:"base_url"`
		TLSMode string        `json:"tls_mode"`
		CA      *canon.Digest `json:"ca_certificate_digest"`
		Kind    string        `json:"identity_kind"`
		ID      string        `json:"identity"`
	} `json:"appliance"`
	ApplianceDigest string         `json:"appliance_target_digest"`
	Before          any            `json:"target_before"`
	Request         map[string]any `json:"request"`
	Normalised      map[string]any `json:"request_normalised"`
	Identity        map[string]any `json:"identity"`
	Fingerprint     map[string]any `json:"fingerprint"`
	Locator         int64          `json:"lifecycle_locator"`
	IntentText      string         `json:"protected_intent_plaintext"`
	SnapshotText    string         `json:"protected_snapshot_plaintext"`
	IdentityText    string         `json:"protected_target_identity_plaintext"`
	ExecutorIntent  string         `json:"executor_intent"`
	Context         []string       `json:"context"`
	IdentityDigest  string         `json:"target_identity_digest"`
	FingerprintSum  string         `json:"target_fingerprint"`
	IntentDigest    string         `json:"intent_digest"`
	SnapshotDigest  string         `json:"snapshot_digest"`
	IdempotencyKey  string         `json:"idempotency_key"`
	ExecutionDigest string         `json:"execution_intent_digest"`
	RequestBody     string         `json:"request_body"`
	RollbackBody    string         `json:"rollback_body"`
	After           any            `json:"target_after"`
	VerifiedSum     string         `json:"verified_target_fingerprint"`
}

type refusedCase struct {
	Name       string         `json:"name"`
	Stage      string         `json:"stage"`
	Target     any            `json:"target"`
	Identity   map[string]any `json:"identity"`
	Request    map[string]any `json:"request"`
	Normalised map[string]any `json:"request_normalised"`
	Result     string         `json:"result"`
}

func loadCapabilityCases(t *testing.T) []capabilityCases {
	t.Helper()
	var file struct {
		Capabilities []capabilityCases `json:"capabilities"`
	}
	canontest.Load(t, "capabilities.json", &file)
	return file.Capabilities
}

// values turns decoded JSON into canonical values: whole numbers are int64,
// others stay floats, which no capability accepts.
func values(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = values(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = values(v[k])
		}
		return out
	}
	return v
}

func object(m map[string]any) core.Object {
	if m == nil {
		return nil
	}
	return values(m).(core.Object)
}

// reading is a reading of one path; {"repeat": row, "times": n} stands for a
// long list.
func reading(spec core.Spec, target any) core.Reading {
	v := values(target)
	if m, ok := v.(core.Object); ok && m["repeat"] != nil {
		n, _ := m["times"].(int64)
		rows := make([]any, n)
		for i := range rows {
			rows[i] = m["repeat"]
		}
		v = rows
	}
	return core.Reading{Data: map[string]any{spec.ReadPath: v}}
}

func TestConformanceFiles(t *testing.T) { canontest.Check(t) }

// The six capabilities of the reference all have cases, in whatever order:
// the file does not announce how many there are.
func TestConformanceCapabilitySet(t *testing.T) {
	missing := []string{"FIREWALL_ALIAS_DESCRIPTION", "NTP_TIME_SERVER_PREFER", "NTP_SETTINGS_OBSERVABILITY_TOGGLES",
		"LOG_DISPLAY_PREFERENCES", "LOG_RETENTION_SETTINGS", "SYSTEM_TIMEZONE"}
	for _, cases := range loadCapabilityCases(t) {
		missing = slices.DeleteFunc(missing, func(symbol string) bool { return symbol == cases.EndpointSymbol })
	}
	if len(missing) > 0 {
		t.Errorf("capabilities.json has no cases of %s", strings.Join(missing, ", "))
	}
}

// Both log capabilities fingerprint exactly the fields of the log settings,
// and take exactly their types.
func TestConformanceLogSettingsTypes(t *testing.T) {
	var file struct {
		Types map[string]string `json:"log_settings_types"`
	}
	canontest.Load(t, "capabilities.json", &file)
	samples := map[string]any{"null": nil, "boolean": true, "integer": int64(1), "string": "text", "list": []any{}}
	for _, c := range []settings{newLogDisplay(), newLogRetention()} {
		var names []string
		for _, field := range c.fields {
			names = append(names, field.name)
			types := strings.Split(file.Types[field.name], " or ")
			for name, value := range samples {
				if want := slices.Contains(types, name); field.is(value) != want {
					t.Errorf("%s takes a %s: %v, want %s", field.name, name, !want, file.Types[field.name])
				}
			}
		}
		slices.Sort(names)
		if want := slices.Sorted(maps.Keys(file.Types)); !slices.Equal(names, want) {
			t.Errorf("%s has the fields\n%v, want\n%v", c.spec.EndpointSymbol, names, want)
		}
	}
	canontest.Ran(t, "capabilities.json", map[string]int{"log_settings_types": len(file.Types)})
}

func TestConformanceCapabilityFacts(t *testing.T) {
	set, ran := Capabilities(), 0
	for _, cases := range loadCapabilityCases(t) {
		t.Run(cases.EndpointSymbol, func(t *testing.T) {
			c, ok := set.Find(core.Binding{Capability: cases.Capability, EndpointSymbol: cases.EndpointSymbol, Method: cases.Method})
			if !ok {
				t.Fatal("not in the registry")
			}
			spec := c.Spec()
			want := []string{cases.WritePath, cases.ReadPath, cases.SemanticUnit, cases.Adapter, cases.RollbackPlan, cases.Prefix}
			got := []string{spec.WritePath, spec.ReadPath, spec.SemanticUnit, spec.AdapterVersion, spec.RollbackPlanVersion, spec.ContractPrefix}
			if !same(got, want) {
				t.Errorf("facts are\n%q, want\n%q", got, want)
			}
		})
		ran++
	}
	canontest.Ran(t, "capabilities.json", map[string]int{"capabilities": ran})
}

func TestConformanceCapabilityExamples(t *testing.T) {
	set, ran := Capabilities(), 0
	for _, cases := range loadCapabilityCases(t) {
		c, ok := set.ByEndpoint(cases.EndpointSymbol)
		if !ok {
			t.Errorf("%s is not in the registry", cases.EndpointSymbol)
			continue
		}
		for i, example := range cases.Examples {
			t.Run(fmt.Sprintf("%s/%d", cases.EndpointSymbol, i), func(t *testing.T) { checkExample(t, c, cases, example) })
			ran++
		}
	}
	canontest.Ran(t, "capabilities.json", map[string]int{"capabilities.*.examples": ran})
}

func checkExample(t *testing.T, c core.Capability, cases capabilityCases, e capabilityExample) {
	spec := c.Spec()
	req, err := c.ParseRequest(object(e.Request))
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	equal(t, "normalised request", req.Fields, object(e.Normalised))
	identity := c.Identity(req)
	equal(t, "identity", identity, object(e.Identity))
	o, err := c.Observe(reading(spec, e.Before), identity)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	equal(t, "fingerprint", o.Projection, object(e.Fingerprint))
	equal(t, "fingerprint fields", len(o.Projection), len(cases.Facts.FingerprintFields))
	equal(t, "locator", o.Locator, e.Locator)

	appliance, err := core.ApplianceIdentity{BaseURL: e.Appliance.BaseURL, TLSMode: e.Appliance.TLSMode,
		CACertificate: e.Appliance.CA, InstallationKind: e.Appliance.Kind, Installation: e.Appliance.ID}.Digest()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "appliance digest", appliance.String(), e.ApplianceDigest)
	draft, err := core.Bind(c, req, o, appliance)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "intent", encoded(t, draft.Intent), e.IntentText)
	equal(t, "snapshot", encoded(t, o.Projection), e.SnapshotText)
	equal(t, "identity text", encoded(t, o.Identity), e.IdentityText)
	full := with(draft.Intent, core.Object{"raw_target_hint": c.RawTarget(o.Projection, o.Locator)})
	equal(t, "executor intent", encoded(t, full), e.ExecutorIntent)
	equal(t, "identity digest", draft.IdentityDigest.String(), e.IdentityDigest)
	equal(t, "fingerprint digest", draft.Fingerprint.String(), e.FingerprintSum)
	equal(t, "intent digest", draft.IntentDigest.String(), e.IntentDigest)
	equal(t, "snapshot digest", draft.SnapshotDigest.String(), e.SnapshotDigest)
	equal(t, "idempotency key", draft.IdempotencyKey.String(), e.IdempotencyKey)
	equal(t, "execution intent digest", draft.ExecutionIntentDigest.String(), e.ExecutionDigest)

	restored, err := c.RequestFromIntent(draft.Intent)
	if err != nil {
		t.Fatalf("request from intent: %v", err)
	}
	equal(t, "restored request", restored.Fields, req.Fields)

	forward, err := c.Forward(req, o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "request body", withoutGuard(t, forward, o), e.RequestBody)
	after, err := c.Observe(reading(spec, e.After), identity)
	if err != nil {
		t.Fatalf("observe after: %v", err)
	}
	if !c.Applied(req, o.Projection, after) {
		t.Error("the change is not seen as applied")
	}
	if c.Applied(req, o.Projection, o) {
		t.Error("the change is seen as applied before it was made")
	}
	sum, err := spec.Binding().FingerprintDigest(after.Projection)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "verified fingerprint", sum.String(), e.VerifiedSum)
	back, err := c.Rollback(o.Projection, after)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rollback body", withoutGuard(t, back, after), e.RollbackBody)
}

// withoutGuard takes exactly the guard member out of a body: it is ours, and
// not in the reference's bodies (design section 4, rule 6).
func withoutGuard(t *testing.T, body []byte, o core.Observation) string {
	t.Helper()
	if o.Guard == nil {
		return string(body)
	}
	guard := `"name":` + encoded(t, o.Guard) + `,`
	if strings.Count(string(body), guard) != 1 {
		t.Fatalf("the body does not carry the guard once: %s", body)
	}
	return strings.Replace(string(body), guard, "", 1)
}

func TestConformanceCapabilityRefused(t *testing.T) {
	set, ran := Capabilities(), 0
	for _, cases := range loadCapabilityCases(t) {
		c, ok := set.ByEndpoint(cases.EndpointSymbol)
		if !ok {
			t.Errorf("%s is not in the registry", cases.EndpointSymbol)
			continue
		}
		for _, r := range cases.Refused {
			t.Run(cases.EndpointSymbol+"/"+r.Name, func(t *testing.T) { checkRefused(t, c, r) })
			ran++
		}
	}
	canontest.Ran(t, "capabilities.json", map[string]int{"capabilities.*.refused": ran})
}

func checkRefused(t *testing.T, c core.Capability, r refusedCase) {
	var err error
	switch r.Stage {
	case "request":
		var req core.Request
		req, err = c.ParseRequest(object(r.Request))
		if err == nil && r.Normalised != nil {
			equal(t, "normalised request", req.Fields, object(r.Normalised))
		}
		if err != nil && !errors.Is(err, core.ErrRequest) {
			t.Errorf("%v is not a request error", err)
		}
	case "target":
		_, err = c.Observe(reading(c.Spec(), r.Target), object(r.Identity))
	case "prepare":
		req, parseErr := c.ParseRequest(object(r.Request))
		if parseErr != nil {
			t.Fatalf("refused too early: %v", parseErr)
		}
		read := reading(c.Spec(), r.Target)
		o, observeErr := c.Observe(read, c.Identity(req))
		if observeErr != nil {
			t.Fatalf("refused too early: %v", observeErr)
		}
		err = c.Admit(read, o, req)
		if err != nil && !errors.Is(err, core.ErrNoChange) {
			t.Errorf("%v is not the no-op refusal", err)
		}
	default:
		t.Fatalf("unknown stage %q", r.Stage)
	}
	if refused := err != nil; refused != (r.Result == "refused") {
		t.Errorf("result is %v, want %s", err, r.Result)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !same(got, want) {
		t.Errorf("%s is\n%v, want\n%v", what, got, want)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := canon.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
