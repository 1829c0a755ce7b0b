package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"countersign/canon"
	"countersign/core"
)

func testSigningKey(t testing.TB, authority string) *SigningKey {
	t.Helper()
	key, err := CreateSigningKey(context.Background(), newMemRing(), newTestRandom(authority), cheap, authority, []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pinsOf(t testing.TB, keys ...*SigningKey) *Pinned {
	t.Helper()
	var all []PinnedKey
	for _, key := range keys {
		pins, err := key.PublicKeys()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pins...)
	}
	pinned, err := NewPinned(all...)
	if err != nil {
		t.Fatal(err)
	}
	return pinned
}

// What is signed is what was asked for, and a pinned key verifies it.
func TestSignRequest(t *testing.T) {
	ctx, key := context.Background(), testSigningKey(t, "owner-1")
	pinned := pinsOf(t, key)
	for _, kind := range OffHostKinds() {
		r := testRequest(t, kind, "old", "new")
		now := testNow.Add(time.Minute + 123*time.Nanosecond)
		raw, err := SignRequest(ctx, key, encodeRequest(t, r), testCaps, now)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		e, err := DecodeEvidence(raw)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		payload := must[[]byte](t)(e.payload())
		if err := pinned.Verify(ctx, kind, "owner-1", Ed25519Algorithm(kind), payload, e.proof()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		bound := must[core.Object](t)(e.object())
		for name, v := range must[core.Object](t)(unsignedObject(r)) {
			if fmt.Sprint(bound[name]) != fmt.Sprint(v) {
				t.Errorf("%s: %s is %v, asked for was %v", kind, name, bound[name], v)
			}
			delete(bound, name)
		}
		issued := "issued_at"
		if kind == core.ProofAuthorization {
			issued = "authorization_issued_at"
		}
		want := core.Object{"authority_id": "owner-1", "algorithm": Ed25519Algorithm(kind), issued: "2026-09-05T12:01:00+00:00"}
		if fmt.Sprint(bound) != fmt.Sprint(want) {
			t.Errorf("%s: the signer added %v", kind, bound)
		}
		if strings.Contains(string(raw), "mail_hosts") || strings.Contains(string(raw), `"new"`) {
			t.Errorf("%s: evidence holds values", kind)
		}
	}
}

func TestSignRequestRefuses(t *testing.T) {
	ctx, key := context.Background(), testSigningKey(t, "owner-1")
	raw := encodeRequest(t, testRequest(t, core.ProofConfirmation, "old", "new"))
	closed := testSigningKey(t, "owner-1")
	closed.Close()
	for name, c := range map[string]struct {
		key   *SigningKey
		caps  core.SpecSet
		now   time.Time
		class error
	}{
		"too late":                {key, testCaps, testNow.Add(10 * time.Minute), core.ErrExpired},
		"clock behind":            {key, testCaps, testNow.Add(-time.Microsecond), ErrSignerClock},
		"nothing it could show":   {key, nil, testNow, core.ErrPolicy},
		"key erased":              {closed, testCaps, testNow, ErrClosed},
		"at the last microsecond": {key, testCaps, testNow.Add(10*time.Minute - time.Microsecond), nil},
	} {
		if _, err := SignRequest(ctx, c.key, raw, c.caps, c.now); !errors.Is(err, c.class) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Every single member of a request is either bound by digest, so that changing
// it alone is refused before anything is shown, or stands among the few that
// are named here.
func TestRequestsCannotLie(t *testing.T) {
	free := map[core.ProofKind][]string{
		core.ProofAuthorization: {"operator", "exported_at", "pending", "unsigned/authorization_id", "unsigned/authorization_expires_at"},
		core.ProofConfirmation: {"operator", "exported_at", "pending", "unsigned/contract_id", "unsigned/operation_id",
			"unsigned/nonce", "unsigned/expires_at"},
		// A conclusion binds its contract by id, and the reading by fingerprint
		// and position (seed 003).
		core.ProofReconciliation: {"operator", "exported_at", "pending", "unsigned/contract_id", "unsigned/operation_id",
			"unsigned/observed_state_version", "fields/name", "snapshot/note", "doubt/boundary", "doubt/failure", "doubt/read_at", "appliance/base_url",
			"appliance/installation", "appliance/installation_kind", "appliance/tls_mode", "appliance/ca_certificate_digest"},
	}
	for _, kind := range OffHostKinds() {
		raw := encodeRequest(t, testRequest(t, kind, "old", "new"))
		var changed []string
		for path, lie := range lies(t, raw) {
			if slices.Contains(free[kind], path) {
				if _, err := RenderRequest(lie, testCaps); err != nil {
					t.Errorf("%s: %s is bound: %v", kind, path, err)
				}
				continue
			}
			changed = append(changed, path)
			if text, err := RenderRequest(lie, testCaps); err == nil {
				t.Errorf("%s: a lie about %s was shown:\n%s", kind, path, text)
			}
		}
		t.Logf("%s: %d members cannot be changed alone", kind, len(changed))
	}
}

// lies changes each leaf of a request in turn, and keeps its spelling canonical.
func lies(t *testing.T, raw []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	root := must[core.Object](t)(canon.ParseObject(raw))
	var walk func(path string, o core.Object)
	walk = func(path string, o core.Object) {
		for name, v := range o {
			if inner, ok := v.(core.Object); ok {
				walk(path+name+"/", inner)
				continue
			}
			o[name] = lieAbout(v)
			out[path+name] = must[[]byte](t)(canon.Encode(root))
			o[name] = v
		}
	}
	walk("", root)
	return out
}

func lieAbout(v any) any {
	switch v := v.(type) {
	case string:
		if d, err := canon.ParseDigest(v); err == nil {
			d[5] ^= 1
			return d.String()
		}
		if at, err := core.ParseInstant(v); err == nil {
			return core.FormatInstant(at.Add(time.Minute))
		}
		return v + "x"
	case int64:
		return v + 1
	case []any:
		return append([]any{"x"}, v...)
	case nil:
		return strings.Repeat("ab", 32)
	}
	return v
}

// A conclusion that its own reading does not support is not shown.
func TestConclusionsNeedTheirReading(t *testing.T) {
	for name, spoil := range map[string]func(*core.SigningRequest){
		"applied, and NOW is old": func(r *core.SigningRequest) { r.Doubt.Found = r.Snapshot },
		"not applied, and NOW is intended": func(r *core.SigningRequest) {
			r.Reconciliation.Outcome = core.ConfirmedNotApplied
			r.Reconciliation.VerifiedTargetFingerprint, r.Reconciliation.VerifiedLifecycleLocator = nil, nil
		},
		"undone, in a forward doubt": func(r *core.SigningRequest) { r.Reconciliation.Outcome = core.ConfirmedRollbackNotApplied },
		"resume": func(r *core.SigningRequest) {
			r.Doubt.Origin, r.Reconciliation.Outcome = core.RollingBack, core.ResumeRollback
		},
		"moved":              func(r *core.SigningRequest) { r.Doubt.Locator = 4 },
		"no reading at all":  func(r *core.SigningRequest) { r.Doubt.Found = nil },
		"no doubt":           func(r *core.SigningRequest) { r.Doubt = nil },
		"applied, not found": func(r *core.SigningRequest) { r.Doubt.Found, r.Doubt.Problem = nil, "gone" },
	} {
		r := testRequest(t, core.ProofReconciliation, "old", "new")
		spoil(&r)
		if text, err := RenderRequest(encodeRequest(t, r), testCaps); err == nil {
			t.Errorf("%s: shown:\n%s", name, text)
		}
	}
	gone := testRequest(t, core.ProofReconciliation, "old", "new")
	gone.Doubt.Found, gone.Doubt.Locator, gone.Doubt.Problem = nil, 0, core.ErrTargetMissing.Error()
	gone.Reconciliation.Outcome = core.ConfirmedNotApplied
	gone.Reconciliation.VerifiedTargetFingerprint, gone.Reconciliation.VerifiedLifecycleLocator = nil, nil
	text, err := RenderRequest(encodeRequest(t, gone), testCaps)
	if err != nil || !strings.Contains(text, core.ErrTargetMissing.Error()) || !strings.Contains(text, "was NOT made") {
		t.Errorf("a target that is gone: %v\n%s", err, text)
	}
}

// The whole text of each kind is kept, so that a change of it is seen.
func TestRenderGolden(t *testing.T) {
	for _, kind := range OffHostKinds() {
		got := must[string](t)(RenderRequest(encodeRequest(t, testRequest(t, kind, "Mail relays", "Mail relays (CHG-1042)")), testCaps))
		path := filepath.Join("testdata", "render", string(kind)+".txt")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := string(must[[]byte](t)(os.ReadFile(path))); got != want {
			t.Errorf("%s is shown as\n%s\nwant\n%s", kind, got, want)
		}
	}
}

// No value can move the cursor, begin a line, or end its own quotation.
func TestRenderCannotBeForged(t *testing.T) {
	hostile := "x\"\n  after         \"kept as it is\"\x1b[2A\x1b]52;c;eA==\a\r\u202e\u200b" + strings.Repeat(" ", 200) + "  after         \"no\""
	for _, kind := range OffHostKinds() {
		r := testRequest(t, kind, hostile, hostile+"2")
		r.Operator = hostile
		if r.Pending != nil {
			r.Pending = []string{hostile}
		}
		if r.Doubt != nil {
			r.Doubt.Boundary = core.Boundary(hostile)
		}
		text := must[string](t)(RenderRequest(encodeRequest(t, r), testCaps))
		after := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if len([]rune(line)) > 80 {
				t.Errorf("%s: a line of %d characters", kind, len([]rune(line)))
			}
			if strings.HasPrefix(line, "  after") {
				after++
			}
			for _, c := range line {
				if !unicode.IsPrint(c) {
					t.Fatalf("%s: %q holds %U", kind, line, c)
				}
			}
		}
		if after != 1 {
			t.Errorf("%s: %d lines begin like one\n%s", kind, after, text)
		}
	}
}

func TestPublicKeysAreShownAsConfigured(t *testing.T) {
	key := testSigningKey(t, "owner-1")
	pins := must[[]PinnedKey](t)(key.PublicKeys())
	text := RenderPublicKeys(pins)
	for _, p := range pins {
		block := fmt.Sprintf("[[authority]]\nid = \"owner-1\"\nkind = %q\npublic_key = \"%x\"\nactive = true\n", p.Kind, []byte(p.PublicKey))
		if !strings.Contains(text, block) {
			t.Errorf("no %q in\n%s", block, text)
		}
		if again, err := ParsePublicKey(fmt.Sprintf("%x", []byte(p.PublicKey))); err != nil || !again.Equal(p.PublicKey) {
			t.Errorf("%s: read back as %x (%v)", p.Kind, again, err)
		}
	}
	if strings.Count(text, "[[authority]]") != 3 {
		t.Error("not one key for each kind")
	}
	key.Close()
	if _, err := key.PublicKeys(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestEvidenceFilesAreStrict(t *testing.T) {
	ctx, key := context.Background(), testSigningKey(t, "owner-1")
	good := string(must[[]byte](t)(SignRequest(ctx, key, encodeRequest(t, testRequest(t, core.ProofReconciliation, "old", "new")), testCaps, testNow)))
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
		"space":             {swap(`,"kind"`, ` ,"kind"`), ErrFile, "byte for byte"},
		"newline at end":    {good + "\n", ErrFile, "byte for byte"},
		"member more":       {swap(`"kind":`, `"kinda":1,"kind":`), ErrFile, "byte for byte"},
		"inner more":        {swap(`"algorithm":`, `"alg":1,"algorithm":`), ErrFile, "byte for byte"},
		"no proof":          {swap(`"proof":"`, `"proof":"","p":"`), ErrFile, ""},
		"proof spelled":     {swap(`==","schema"`, `=","schema"`), ErrFile, "proof"},
		"bad authority":     {swap(`"owner-1"`, `"owner 1"`), ErrFile, "byte for byte"},
		"unknown outcome":   {swap(`"confirmed_applied"`, `"confirmed"`), ErrFile, "byte for byte"},
		"locator missing":   {swap(`"verified_lifecycle_locator":3`, `"verified_lifecycle_locator":null`), ErrFile, "byte for byte"},
		"locator too large": {swap(`"verified_lifecycle_locator":3`, `"verified_lifecycle_locator":2147483648`), ErrFile, "byte for byte"},
		"approval":          {swap(`"kind":"reconciliation"`, `"kind":"approval"`), ErrFile, "kind"},
		"another kind":      {swap(`"kind":"reconciliation"`, `"kind":"confirmation"`), ErrFile, "nonce"},
		"request":           {swap(evidenceSchema, requestSchema), ErrFile, "signed first"},
		"newer":             {swap(`"version":1`, `"version":2`), ErrNewerFile, "written by a newer version"},
		"huge":              {good + strings.Repeat(" ", maxEvidenceFile), ErrFile, "longer than 64 KiB"},
	} {
		_, err := DecodeEvidence([]byte(c.raw))
		if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := EncodeEvidence(Evidence{Kind: core.ProofConfirmation}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("no evidence: %v", err)
	}
	if !json.Valid([]byte(good)) {
		t.Error("an evidence file is not JSON")
	}
}

func TestWriteEvidenceIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.signed")
	if err := WriteEvidence(path, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if info := must[fs.FileInfo](t)(os.Lstat(path)); info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := WriteEvidence(path, []byte("[]")); !errors.Is(err, ErrWrite) {
		t.Errorf("twice: %v", err)
	}
}
