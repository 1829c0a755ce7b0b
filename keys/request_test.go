package keys

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/canon"
	"countersign/core"
)

// noteChange is a capability with two fields, as far as signing needs one.
type noteChange struct{ core.Capability }

func (noteChange) Spec() core.Spec {
	return core.Spec{Capability: "ALIAS_WRITE", EndpointSymbol: "TEST_NOTE", Method: "PATCH", SemanticUnit: "set_note_v1",
		AdapterVersion: "note-v1", RollbackPlanVersion: "note-rollback-v1", Title: "alias note", Noun: "alias",
		WritePath: "/api/v2/test/note", Loads: core.Firewall, WayBack: "the old note is written back"}
}

func (noteChange) ParseRequest(fields core.Object) (core.Request, error) {
	_, isName := fields["name"].(string)
	_, isNote := fields["note"].(string)
	if !isName || !isNote || len(fields) != 2 {
		return core.Request{}, core.ErrRequest
	}
	return core.Request{Fields: fields}, nil
}

func (noteChange) Identity(r core.Request) core.Object { return core.Object{"name": r.Fields["name"]} }
func (noteChange) Label(identity core.Object) string   { return identity["name"].(string) }
func (noteChange) Intent(r core.Request) core.Object {
	return core.Object{"new_note": r.Fields["note"]}
}
func (noteChange) RawTarget(snapshot core.Object, locator int64) core.Object {
	return core.Object{"id": locator, "name": snapshot["name"], "note": snapshot["note"], "tags": snapshot["tags"]}
}
func (noteChange) Intended(r core.Request, snapshot core.Object) core.Object {
	return core.Object{"name": snapshot["name"], "note": r.Fields["note"], "tags": snapshot["tags"]}
}
func (c noteChange) Applied(r core.Request, snapshot core.Object, now core.Observation) bool {
	want, _ := canon.Encode(c.Intended(r, snapshot))
	got, _ := canon.Encode(now.Projection)
	return bytes.Equal(want, got)
}
func (noteChange) Changes(r core.Request, snapshot core.Object) []core.Change {
	before, _ := snapshot["note"].(string)
	return []core.Change{{Field: "note", Before: before, After: r.Fields["note"].(string)}}
}

var (
	testCaps = core.SpecSet{noteChange{}}
	testNow  = time.Date(2026, 9, 5, 12, 0, 0, 0, time.UTC)
)

func testAppliance() core.ApplianceIdentity {
	return core.ApplianceIdentity{BaseURL: "https://fw1.example.net", TLSMode: "strict",
		Installation: "0a1b2c3d", InstallationKind: "netgate_id"}
}

// testRequest is a consistent request of a kind, about a note with these texts.
func testRequest(t testing.TB, kind core.ProofKind, before, after string) core.SigningRequest {
	t.Helper()
	appliance := testAppliance()
	digest, err := appliance.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r := core.SigningRequest{Kind: kind, Operator: "jo", ExportedAt: testNow, Appliance: appliance,
		Binding: noteChange{}.Spec().Binding(), Fields: core.Object{"name": "mail_hosts", "note": after},
		Snapshot: core.Object{"name": "mail_hosts", "note": before, "tags": []any{"a", "b"}}, Locator: 3,
		Pending: []string{"filter rules"}}
	d, err := core.Bind(noteChange{}, core.Request{Fields: r.Fields}, core.Observation{
		Identity: core.Object{"name": "mail_hosts"}, Projection: r.Snapshot, Locator: 3}, digest)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case core.ProofAuthorization:
		r.Authorization = &core.Authorization{AuthorizationID: "authz-1", StepID: core.PlanStep, PlanDigest: d.PlanDigest,
			ExecutionIntentDigest: d.ExecutionIntentDigest, ApplianceDigest: digest, ExpiresAt: testNow.Add(time.Hour)}
	case core.ProofConfirmation:
		r.Confirmation = &core.ConfirmationEvidence{Nonce: "nonce-1", ContractID: "note-1", OperationID: "op-1",
			TargetIdentityDigest: d.IdentityDigest, TargetFingerprint: d.Fingerprint, IntentDigest: d.IntentDigest,
			ExpiresAt: testNow.Add(10 * time.Minute)}
	case core.ProofReconciliation:
		found := core.Object{"name": "mail_hosts", "note": after, "tags": []any{"a", "b"}}
		fingerprint, err := r.Binding.FingerprintDigest(found)
		if err != nil {
			t.Fatal(err)
		}
		locator := int64(3)
		r.Pending = nil
		r.Reconciliation = &core.ReconciliationEvidence{ContractID: "note-1", OperationID: "op-1", ObservedStateVersion: 4,
			Outcome: core.ConfirmedApplied, VerifiedTargetFingerprint: &fingerprint, VerifiedLifecycleLocator: &locator}
		r.Doubt = &core.Doubt{Origin: core.Executing, Boundary: core.AfterSend, Failure: core.FailureReset,
			ReadAt: testNow, Found: found, Locator: 3}
	}
	return r
}

func encodeRequest(t testing.TB, r core.SigningRequest) []byte {
	t.Helper()
	raw, err := EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRequestFilesRoundTrip(t *testing.T) {
	for _, kind := range OffHostKinds() {
		raw := encodeRequest(t, testRequest(t, kind, "old", "new"))
		r, err := DecodeRequest(raw)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if again := encodeRequest(t, r); !bytes.Equal(raw, again) {
			t.Errorf("%s: other bytes again", kind)
		}
		if _, err := r.Open(testCaps); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Whatever is not the one spelling is refused, and so are other schemas and
// versions, each with its own words.
func TestRequestFilesAreStrict(t *testing.T) {
	good := string(encodeRequest(t, testRequest(t, core.ProofConfirmation, "old", "new")))
	swap := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("no %s to replace", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct {
		raw   string
		class error
		words string
	}{
		"nothing":         {"", ErrFile, "strict"},
		"a list":          {"[]", ErrFile, "strict"},
		"space":           {swap(`,"kind"`, `, "kind"`), ErrFile, "byte for byte"},
		"newline at end":  {good + "\n", ErrFile, "byte for byte"},
		"two of them":     {good + good, ErrFile, "strict"},
		"cut":             {good[:len(good)-1], ErrFile, "strict"},
		"escape":          {swap(`"jo"`, `"\u006ao"`), ErrFile, "byte for byte"},
		"not NFC":         {swap(`"jo"`, `"jo\u0308"`), ErrFile, "byte for byte"},
		"bad UTF-8":       {swap(`"jo"`, "\"j\xff\""), ErrFile, "strict"},
		"member twice":    {swap(`"kind":`, `"kind":"confirmation","kind":`), ErrFile, "strict"},
		"member more":     {swap(`"kind":`, `"kind2":"x","kind":`), ErrFile, "byte for byte"},
		"member less":     {swap(`"operator":"jo",`, ``), ErrFile, "operator"},
		"inner more":      {swap(`"nonce":`, `"nonc":"x","nonce":`), ErrFile, "byte for byte"},
		"inner less":      {swap(`"nonce":"nonce-1",`, ``), ErrFile, "nonce"},
		"signer's member": {swap(`"unsigned":{`, `"unsigned":{"authority_id":"x",`), ErrFile, "byte for byte"},
		"another type":    {swap(`"lifecycle_locator":3`, `"lifecycle_locator":"3"`), ErrFile, "lifecycle_locator"},
		"fraction":        {swap(`"lifecycle_locator":3`, `"lifecycle_locator":3.0`), ErrFile, "strict"},
		"another time":    {swap(`"exported_at":"2026-09-05T12:00:00+00:00"`, `"exported_at":"2026-09-05T12:00:00Z"`), ErrFile, "exported_at"},
		"upper case":      {swap(`"intent_digest":"`, `"intent_digest":"A`), ErrFile, "intent_digest"},
		"unknown kind":    {swap(`"kind":"confirmation"`, `"kind":"approval"`), ErrFile, "kind"},
		"another kind":    {swap(`"kind":"confirmation"`, `"kind":"authorization"`), ErrFile, ""},
		"another schema":  {swap(requestSchema, "something-else"), ErrFile, "schema"},
		"evidence":        {swap(requestSchema, evidenceSchema), ErrFile, "inbox"},
		"version 0":       {swap(`"version":1`, `"version":0`), ErrFile, "version"},
		"version 2":       {swap(`"version":1`, `"version":2`), ErrNewerFile, "written by a newer version"},
		"newer and more":  {swap(`"version":1}`, `"version":7,"zz":[]}`), ErrNewerFile, "written by a newer version"},
		"huge":            {`"` + strings.Repeat("x", maxRequestFile) + `"`, ErrFile, "longer than 1024 KiB"},
	} {
		_, err := DecodeRequest([]byte(c.raw))
		if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := RenderRequest([]byte(c.raw), testCaps); err == nil {
			t.Errorf("%s: it was shown", name)
		}
	}
}

// A target too large for a file is refused when it is written, not cut.
func TestRequestTooLarge(t *testing.T) {
	r := testRequest(t, core.ProofAuthorization, "old", "new")
	tags := make([]any, 12_000)
	for i := range tags {
		tags[i] = "x"
	}
	r.Snapshot["tags"] = tags
	if _, err := EncodeRequest(r); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := EncodeRequest(core.SigningRequest{Kind: core.ProofApproval}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a request for nothing: %v", err)
	}
}

func TestWriteRequest(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	r := testRequest(t, core.ProofAuthorization, "old", "new")
	path := filepath.Join(dir, r.FileName())
	if filepath.Base(path) != "authorization-authz-1.request" {
		t.Errorf("the file is called %s", filepath.Base(path))
	}
	if err := (RequestFiles{}).WriteRequest(ctx, path, r); err != nil {
		t.Fatal(err)
	}
	info := must[fs.FileInfo](t)(os.Lstat(path))
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	raw := must[[]byte](t)(ReadRequest(path))
	if !bytes.Equal(raw, encodeRequest(t, r)) {
		t.Error("other bytes were written")
	}
	r.Operator = "sam"
	if err := (RequestFiles{}).WriteRequest(ctx, path, r); !errors.Is(err, ErrWrite) || !strings.Contains(err.Error(), "not changed") {
		t.Errorf("over a file: %v", err)
	}
	if again := must[[]byte](t)(os.ReadFile(path)); !bytes.Equal(again, raw) {
		t.Error("the file was changed")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	if err := (RequestFiles{}).WriteRequest(ctx, link, r); !errors.Is(err, ErrWrite) {
		t.Errorf("through a link: %v", err)
	}
	if err := (RequestFiles{}).WriteRequest(ctx, filepath.Join(dir, "no", "folder"), r); !errors.Is(err, ErrWrite) {
		t.Errorf("into no folder: %v", err)
	}
	names := must[[]os.DirEntry](t)(os.ReadDir(dir))
	if len(names) != 2 {
		t.Errorf("%d files are left", len(names))
	}
}

func TestReadRequestRefuses(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	f := must[*os.File](t)(os.Create(huge))
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{huge, dir, filepath.Join(dir, "nothing"), makePipe(t, dir)} {
		if _, err := ReadRequest(path); !errors.Is(err, ErrFile) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v", filepath.Base(path), err)
		}
	}
}

// makePipe makes a FIFO that nobody writes to: opening it must not wait.
func makePipe(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
