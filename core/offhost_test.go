package core_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"countersign/core"
	"countersign/keys"
	"countersign/pfsense"
	"countersign/pfsense/sim"
	"countersign/store"
)

// Both gates with signatures from another machine, then one send.
func TestOffHostSignaturesCarryAChange(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{}), context.Background()
	draft := d.draftOf(rigValue)
	a := d.signedAuthorization(draft, d.signer)
	if files := d.waiting(); len(files) != 1 || files[0].Kind != core.ProofAuthorization || files[0].Used || files[0].Stale != "" {
		t.Fatalf("waiting: %+v", files)
	}
	id, err := d.console.AuthorizeFromInbox(ctx, draft, a, rigOperator)
	d.must(err)
	d.mustBe(id, core.Prepared)
	ev := d.signedConfirmation(id)
	for _, want := range []string{`"` + rigAlias + `"`, `"` + rigValue + `"`, `"` + d.description(rigAlias) + `"`, id} {
		if !strings.Contains(d.shown, want) {
			t.Errorf("the signer is not shown %s:\n%s", want, d.shown)
		}
	}
	if f := d.waiting()[1]; f.ContractID != id || f.Used || f.Stale != "" || f.Confirmation == nil {
		t.Fatalf("waiting: %+v", f)
	}
	d.must(d.console.ConfirmWith(ctx, id, rigAlias, ev))
	if !d.load(id).Confirmed() {
		t.Fatal("not confirmed")
	}
	if f := d.waiting()[1]; f.ContractID != id || !f.Used || f.Stale != "" {
		t.Fatalf("after its use: %+v", f)
	}
	d.execute(id)
	d.mustBe(id, core.Verified)
	if d.sends() != 1 || d.description(rigAlias) != rigValue {
		t.Fatalf("%d sends, description %q", d.sends(), d.description(rigAlias))
	}
	events, err := d.store.Timeline(ctx, id)
	d.must(err)
	if n := events[2].Note; n == nil || n.Actor != "owner-1" {
		t.Errorf("confirmed by %+v", n)
	}
	d.nothingInPlain(rigValue)
}

// An artifact is for one contract, one time and one place, and every refusal
// leaves the contract as it was.
func TestConfirmWithRefuses(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{}), context.Background()
	id := d.prepared(rigAlias, rigValue)
	good := d.signedConfirmation(id)
	other := d.prepared("web_ports", "Web ports (CHG-7)")
	stranger := d.authority("stranger")
	path := d.path()
	d.must(d.console.ExportConfirmationRequest(ctx, id, path))
	unknown := *d.sign(path, stranger).Confirmation

	elsewhere, err := store.NewLock(d.rig.path())
	d.must(err)
	observer := d.consoleFor(rigOperator, d.pinned, elsewhere)
	resigned := func(change func(*core.ConfirmationEvidence)) core.ConfirmationEvidence {
		e := good
		change(&e)
		payload, err := e.SigningPayload()
		d.must(err)
		e.Proof, err = d.signer.Sign(core.ProofConfirmation, payload)
		d.must(err)
		return e
	}
	changed := func(change func(*core.ConfirmationEvidence)) core.ConfirmationEvidence {
		e := good
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		console *core.Engine
		id      string
		typed   string
		ev      core.ConfirmationEvidence
		class   error
	}{
		"typed nothing":               {d.console, id, "", good, core.ErrTypedTarget},
		"typed another":               {d.console, id, rigAlias + " ", good, core.ErrTypedTarget},
		"another contract":            {d.console, other, "web_ports", good, core.ErrBinding},
		"relabelled for another":      {d.console, other, "web_ports", changed(func(e *core.ConfirmationEvidence) { e.ContractID = other }), core.ErrBinding},
		"no such contract":            {d.console, "note-1", rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.ContractID = "note-1" }), core.ErrNotFound},
		"authority that nobody knows": {d.console, id, rigAlias, unknown, core.ErrProof},
		"nonce changed":               {d.console, id, rigAlias, changed(func(e *core.ConfirmationEvidence) { e.Nonce = "nonce-2" }), core.ErrProof},
		"proof changed":               {d.console, id, rigAlias, changed(func(e *core.ConfirmationEvidence) { e.Proof = append([]byte{1}, e.Proof[1:]...) }), core.ErrProof},
		"no proof":                    {d.console, id, rigAlias, changed(func(e *core.ConfirmationEvidence) { e.Proof = nil }), core.ErrRecord},
		"an operator's algorithm":     {d.console, id, rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.Algorithm = "hmac-sha256-confirmation-v1" }), core.ErrProof},
		"another intent":              {d.console, id, rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.IntentDigest[0] ^= 1 }), core.ErrBinding},
		"another target":              {d.console, id, rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.TargetIdentityDigest[0] ^= 1 }), core.ErrBinding},
		"longer window":               {d.console, id, rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.ExpiresAt = e.ExpiresAt.Add(time.Hour) }), core.ErrBinding},
		"signed in the future":        {d.console, id, rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.IssuedAt = d.clock.Now().Add(time.Minute) }), core.ErrBinding},
		"signed before the contract":  {d.console, id, rigAlias, resigned(func(e *core.ConfirmationEvidence) { e.IssuedAt = d.load(id).CreatedAt.Add(-time.Microsecond) }), core.ErrBinding},
		"no verifier":                 {d.engine, id, rigAlias, good, core.ErrVerifierMissing},
		"an observer":                 {observer, id, rigAlias, good, core.ErrObserver},
		"nobody enrolled here":        {d.consoleFor("mika", d.pinned, d.lock), id, rigAlias, good, core.ErrUnknownOperator},
	} {
		if err := c.console.ConfirmWith(ctx, c.id, c.typed, c.ev); !errors.Is(err, c.class) {
			t.Errorf("%s: got %v, want %v", name, err, c.class)
		}
		for _, contract := range []string{id, other} {
			if got := d.load(contract); got.State != core.Prepared || got.Confirmed() {
				t.Fatalf("%s: %s changed", name, contract)
			}
		}
	}
	d.must(d.console.ConfirmWith(ctx, id, rigAlias, good))
	if err := d.console.ConfirmWith(ctx, id, rigAlias, good); !errors.Is(err, core.ErrConflict) {
		t.Errorf("replayed: %v", err)
	}
	d.clock.move(11 * time.Minute)
	if err := d.console.ConfirmWith(ctx, id, rigAlias, good); !errors.Is(err, core.ErrExpired) {
		t.Errorf("after the window: %v", err)
	}
}

// Two files for one gate: one is accepted, whichever comes first, and the
// other spends nothing.
func TestTwoArtifactsRace(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{}), context.Background()
	// One authorization, copied, and used for two drafts of the same change.
	first, second := d.draftOf(rigValue), d.draftOf(rigValue)
	a := d.signedAuthorization(first, d.signer)
	ids, errs := make([]string, 2), make([]error, 2)
	together(2, func(i int) {
		ids[i], errs[i] = d.console.AuthorizeFromInbox(ctx, []core.Draft{first, second}[i], a, rigOperator)
	})
	winner := oneWon(t, errs, core.ErrBlocked, core.ErrSpent)
	if ids[1-winner] != "" {
		t.Errorf("the loser was given %s", ids[1-winner])
	}
	// Two confirmations of one contract.
	id := ids[winner]
	signed := []core.ConfirmationEvidence{d.signedConfirmation(id), d.signedConfirmation(id)}
	together(2, func(i int) { errs[i] = d.console.ConfirmWith(ctx, id, rigAlias, signed[i]) })
	accepted := signed[oneWon(t, errs, core.ErrConflict)]
	digest, err := accepted.ConfirmationDigest()
	d.must(err)
	if got := d.load(id).ConfirmationDigest; got == nil || *got != digest {
		t.Error("another confirmation was recorded than the one accepted")
	}
	for _, f := range d.waiting() {
		if c := f.Confirmation; c != nil && (f.Used != (c.Nonce == accepted.Nonce) || f.Used == (f.Stale != "")) {
			t.Errorf("%+v", f)
		}
	}
}

// The loser of two different authorizations keeps its artifact: once the
// winner is out of the way it works, and the spent one does not.
func TestLosingAuthorizationIsNotSpent(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{limits: &core.Limits{MaxInFlight: 1, MaxPreparedPerTarget: 1, ReconciliationThreshold: 3}}), context.Background()
	drafts := []core.Draft{d.draftOf(rigValue), d.draftOf(rigValue)}
	signed := []core.Authorization{d.signedAuthorization(drafts[0], d.signer), d.signedAuthorization(drafts[1], d.signer)}
	ids, errs := make([]string, 2), make([]error, 2)
	together(2, func(i int) { ids[i], errs[i] = d.console.AuthorizeFromInbox(ctx, drafts[i], signed[i], rigOperator) })
	winner := oneWon(t, errs, core.ErrBlocked)
	d.must(d.console.Decline(ctx, ids[winner], rigOperator, pass()))
	again := d.draftOf(rigValue)
	if _, err := d.console.AuthorizeFromInbox(ctx, again, signed[winner], rigOperator); !errors.Is(err, core.ErrSpent) {
		t.Errorf("the spent one: %v", err)
	}
	if _, err := d.console.AuthorizeFromInbox(ctx, again, signed[1-winner], rigOperator); err != nil {
		t.Errorf("the other: %v", err)
	}
	if _, err := d.console.AuthorizeFromInbox(ctx, d.draftOf("Another text"), signed[1-winner], rigOperator); err == nil {
		t.Error("an authorization was good for another change")
	}
}

// The same conclusions as at the console, signed elsewhere.
func TestReconcileWith(t *testing.T) {
	lost, dropped := sim.Fault{Kind: sim.CommitThenDrop}, sim.Fault{Kind: sim.DropBeforeRun}
	for _, c := range []struct {
		name    string
		dir     core.Direction
		fault   sim.Fault
		wait    bool
		outcome core.Outcome
		want    core.State
	}{
		{"applied", core.Forward, lost, false, core.ConfirmedApplied, core.Verified},
		{"not applied", core.Forward, dropped, true, core.ConfirmedNotApplied, core.Failed},
		{"rolled back", core.Backward, lost, false, core.ConfirmedRollbackApplied, core.RolledBack},
		{"not rolled back", core.Backward, dropped, true, core.ConfirmedRollbackNotApplied, core.RollbackFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, ctx := newDesk(t, rigOptions{deadlines: shortDeadlines}), context.Background()
			id := d.ambiguous(c.dir, c.fault)
			if c.wait {
				if err := d.console.ExportReconciliationRequest(ctx, id, c.outcome, d.observe(id), d.path()); !errors.Is(err, core.ErrSettling) {
					t.Fatalf("while settling: %v", err)
				}
				d.clock.move(past)
			}
			seen := d.observe(id)
			ev := d.signedConclusion(id, c.outcome, seen)
			if f := d.waiting()[0]; f.ContractID != id || f.Used || f.Stale != "" {
				t.Fatalf("waiting: %+v", f)
			}
			sends := d.sends()
			d.must(d.console.ReconcileWith(ctx, id, ev, seen))
			d.mustBe(id, c.want)
			if f := d.waiting()[0]; !f.Used || f.Stale != "" {
				t.Errorf("after its use: %+v", f)
			}
			if err := d.console.ReconcileWith(ctx, id, ev, seen); !errors.Is(err, core.ErrDrift) && !errors.Is(err, core.ErrBinding) {
				t.Errorf("replayed: %v", err)
			}
			if d.sends() != sends {
				t.Error("a conclusion sent something")
			}
		})
	}
}

// A conclusion needs the reading it was drawn from, then and now.
func TestReconcileWithRefuses(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{deadlines: shortDeadlines}), context.Background()
	before := d.clock.Now()
	id := d.ambiguous(core.Forward, sim.Fault{Kind: sim.CommitThenDrop})
	seen := d.observe(id)
	good := d.signedConclusion(id, core.ConfirmedApplied, seen)
	resigned := func(change func(*core.ReconciliationEvidence)) core.ReconciliationEvidence {
		e := good
		change(&e)
		payload, err := e.SigningPayload()
		d.must(err)
		e.Proof, err = d.signer.Sign(core.ProofReconciliation, payload)
		d.must(err)
		return e
	}
	elsewhere := int64(7)
	foreign := *good.VerifiedTargetFingerprint
	foreign[3] ^= 1
	stale := seen
	stale.Fingerprint = foreign.String()
	for name, c := range map[string]struct {
		console *core.Engine
		ev      core.ReconciliationEvidence
		seen    core.Comparison
		class   error
	}{
		"no verifier":          {d.engine, good, seen, core.ErrVerifierMissing},
		"nobody enrolled here": {d.consoleFor("mika", d.pinned, d.lock), good, seen, core.ErrUnknownOperator},
		"another was seen":     {d.console, good, stale, core.ErrDrift},
		"another contract":     {d.console, resigned(func(e *core.ReconciliationEvidence) { e.ContractID = "note-1" }), seen, core.ErrBinding},
		"another operation":    {d.console, resigned(func(e *core.ReconciliationEvidence) { e.OperationID = "op-1" }), seen, core.ErrBinding},
		"another version":      {d.console, resigned(func(e *core.ReconciliationEvidence) { e.ObservedStateVersion-- }), seen, core.ErrBinding},
		"another fingerprint":  {d.console, resigned(func(e *core.ReconciliationEvidence) { e.VerifiedTargetFingerprint = &foreign }), seen, core.ErrBinding},
		"another position":     {d.console, resigned(func(e *core.ReconciliationEvidence) { e.VerifiedLifecycleLocator = &elsewhere }), seen, core.ErrBinding},
		"the opposite": {d.console, resigned(func(e *core.ReconciliationEvidence) {
			e.Outcome, e.VerifiedTargetFingerprint, e.VerifiedLifecycleLocator = core.ConfirmedNotApplied, nil, nil
		}), seen, core.ErrOutcome},
		"of a rollback": {d.console, resigned(func(e *core.ReconciliationEvidence) {
			e.Outcome, e.VerifiedTargetFingerprint, e.VerifiedLifecycleLocator = core.ConfirmedRollbackNotApplied, nil, nil
		}), seen, core.ErrOutcome},
		"resume":                  {d.console, resigned(func(e *core.ReconciliationEvidence) { e.Outcome = core.ResumeRollback }), seen, core.ErrRecord},
		"without its fingerprint": {d.console, resigned(func(e *core.ReconciliationEvidence) { e.VerifiedTargetFingerprint = nil }), seen, core.ErrRecord},
		"signed in the future":    {d.console, resigned(func(e *core.ReconciliationEvidence) { e.IssuedAt = d.clock.Now().Add(time.Minute) }), seen, core.ErrBinding},
		"signed before the doubt": {d.console, resigned(func(e *core.ReconciliationEvidence) { e.IssuedAt = before }), seen, core.ErrBinding},
		"proof changed": {d.console, func() core.ReconciliationEvidence {
			e := good
			e.Proof = append([]byte{e.Proof[0] ^ 1}, e.Proof[1:]...)
			return e
		}(), seen, core.ErrProof},
	} {
		if err := c.console.ReconcileWith(ctx, id, c.ev, c.seen); !errors.Is(err, c.class) {
			t.Errorf("%s: got %v, want %v", name, err, c.class)
		}
		d.mustBe(id, core.Reconciliation)
	}
	if err := d.console.ExportReconciliationRequest(ctx, id, core.ResumeRollback, seen, d.path()); !errors.Is(err, core.ErrOutcome) {
		t.Errorf("a request to resume: %v", err)
	}
	// Between signing and use, somebody edits the target.
	d.editAlias(rigAlias, "Somebody was here")
	if err := d.console.ReconcileWith(ctx, id, good, seen); !errors.Is(err, core.ErrDrift) {
		t.Errorf("edited meanwhile, old view: %v", err)
	}
	if err := d.console.ReconcileWith(ctx, id, good, d.observe(id)); !errors.Is(err, core.ErrBinding) {
		t.Errorf("edited meanwhile, fresh view: %v", err)
	}
	d.mustBe(id, core.Reconciliation)
}

// No request leaves that could not be used, and none over another file.
func TestExportRefuses(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{}), context.Background()
	draft := d.draftOf(rigValue)
	if err := d.engine.ExportAuthorizationRequest(ctx, draft, d.path()); !errors.Is(err, core.ErrVerifierMissing) {
		t.Errorf("nobody could sign: %v", err)
	}
	taken := d.path()
	d.must(os.WriteFile(taken, []byte("mine"), 0o600))
	if err := d.console.ExportAuthorizationRequest(ctx, draft, taken); !errors.Is(err, keys.ErrWrite) {
		t.Errorf("over a file: %v", err)
	}
	id := d.prepared(rigAlias, rigValue)
	if err := d.console.ExportAuthorizationRequest(ctx, draft, d.path()); !errors.Is(err, core.ErrBlocked) {
		t.Errorf("while a contract blocks: %v", err)
	}
	d.must(d.engine.Confirm(ctx, id, rigAlias, rigOperator, pass()))
	if err := d.console.ExportConfirmationRequest(ctx, id, d.path()); !errors.Is(err, core.ErrConflict) {
		t.Errorf("confirmed already: %v", err)
	}
	other := d.prepared("web_ports", "Web ports (CHG-7)")
	d.editAlias("web_ports", "Somebody was here")
	if err := d.console.ExportConfirmationRequest(ctx, other, d.path()); !errors.Is(err, core.ErrDrift) {
		t.Errorf("drifted: %v", err)
	}
	d.clock.move(11 * time.Minute)
	if err := d.console.ExportConfirmationRequest(ctx, other, d.path()); !errors.Is(err, core.ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	if left, err := os.ReadDir(d.out); err != nil || len(left) != 1 {
		t.Errorf("%d files are left (%v)", len(left), err)
	}
}

// Without an inbox, or with one that cannot be used, nothing is listed and
// nothing is guessed.
func TestInboxClosed(t *testing.T) {
	d, ctx := newDesk(t, rigOptions{}), context.Background()
	if _, err := d.engine.Inbox(ctx); !errors.Is(err, core.ErrVerifierMissing) {
		t.Errorf("none: %v", err)
	}
	d.must(os.Chmod(d.dir, 0o750))
	if _, err := d.console.Inbox(ctx); !errors.Is(err, keys.ErrInbox) {
		t.Errorf("open to the group: %v", err)
	}
}

// Every capability's requests can be shown and signed on another machine,
// which has nothing but this build.
func TestEveryCapabilityCanBeSigned(t *testing.T) {
	for _, c := range pfsense.Capabilities() {
		spec := c.Spec()
		t.Run(spec.EndpointSymbol, func(t *testing.T) {
			t.Parallel()
			d, ctx := newDesk(t, rigOptions{simServer: practice(t, sim.Profile271)}), context.Background()
			draft, err := d.console.Prepare(ctx, spec.EndpointSymbol, changes()[spec.EndpointSymbol].fields, "")
			d.must(err)
			a := d.signedAuthorization(draft, d.signer)
			id, err := d.console.AuthorizeFromInbox(ctx, draft, a, rigOperator)
			d.must(err)
			review, err := d.console.Review(ctx, id)
			d.must(err)
			ev := d.signedConfirmation(id)
			d.must(d.console.ConfirmWith(ctx, id, review.Target, ev))
		})
	}
}
