package views

import (
	"crypto/sha256"
	"fmt"
	"time"

	"countersign/canon"
	"countersign/core"
)

// The fixtures are invented: one firewall, one operator, one clock that
// stands still.
var testNow = time.Date(2026, 9, 5, 14, 3, 40, 0, time.UTC)

const testID = "aliasdescr-7c1e0000000000000000000000000001"

func testFrame(o ThemeOptions) *Frame {
	t := NewTheme(o)
	return &Frame{Theme: t, KeyMap: NewKeyMap(t.Marks), Now: testNow, Zone: time.UTC, Operator: "jo",
		Operators: []string{"jo", "mika"}, Header: testHeader()}
}

func testHeader() core.Header {
	return core.Header{Appliance: "fw1.example.net", Version: "2.8.1", APIVersion: "2.7.1",
		Pin:      "4f2ab0c1d2e3f40516273849aabbccddeeff00112233445566778899aabbcc91",
		Operator: "jo", Mode: core.ModeExecutor, StoreOK: true, AnchorOK: true,
		VerifiedAt: testNow.Add(-100 * time.Second), Counts: core.Counts{Active: 3, NeedsYou: 2, History: 1284}}
}

func observing(f *Frame) *Frame {
	f.Header.Mode, f.Header.LockHolder = core.ModeObserver, "jo@jump1 since 13:58 (process 4121)"
	f.Header.Closed = "this console only observes: " + f.Header.LockHolder
	return f
}

func digest(s string) canon.Digest { return sha256.Sum256([]byte(s)) }

func testRow(s core.State, target string) core.Row {
	return core.Row{ContractID: testID, State: s, Noun: "alias", Target: target, Change: "description", Actor: "jo",
		CreatedAt: testNow.Add(-148 * time.Second), UpdatedAt: testNow.Add(-3 * time.Minute),
		ExpiresAt: testNow.Add(7*time.Minute + 58*time.Second), Sentence: "one sentence about " + target}
}

// testRows is one row of every kind.
func testRows() []core.Row {
	var rows []core.Row
	for i, s := range core.States() {
		r := testRow(s, fmt.Sprintf("target_%d", i))
		r.ContractID = fmt.Sprintf("aliasdescr-%032d", i)
		rows = append(rows, r)
	}
	settling := testRow(core.Reconciliation, "web_servers")
	settling.ContractID, settling.SettleUntil = "aliasdescr-a", testNow.Add(161*time.Second)
	settling.Sentence = "the connection broke before an answer came · the firewall may still be writing"
	loaded := testRow(core.Verified, "blocklist")
	loaded.ContractID, loaded.Loads, loaded.Load = "aliasentries-b", core.Firewall, core.LoadClaimed
	over := testRow(core.Prepared, "too_late")
	over.ContractID, over.ExpiresAt = "aliasdescr-c", testNow.Add(-time.Minute)
	bad := core.Row{ContractID: "aliasdescr-d", Quarantined: "mac_mismatch", Sentence: "its MAC does not match"}
	return append([]core.Row{settling, loaded, over, bad}, rows...)
}

func testChanges() []core.Change {
	return []core.Change{{Field: "description", Before: "Public web, old DC", After: "Public web, new DC (CHG-1042)"}}
}

func testDetail(s core.State) core.Detail {
	row := testRow(s, "web_servers")
	d := core.Detail{Row: row, Appliance: "fw1.example.net", Summary: "host, 3 addresses", Changes: testChanges(),
		WayBack: "the old description is written back",
		Contract: core.Contract{ID: testID, OperationID: "op-1", Capability: "ALIAS_WRITE", EndpointSymbol: "FIREWALL_ALIAS_DESCRIPTION",
			Method: "PATCH", IntentDigest: digest("intent"), TargetFingerprint: digest("fingerprint"), TargetIdentityDigest: digest("id"),
			SnapshotDigest: digest("snapshot"), IdempotencyKey: digest("key"), LifecycleLocator: 4, State: s,
			CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, Provenance: &core.Provenance{AuthorityID: "jo"},
			ProtectedTarget: core.Artifact{Algorithm: "aes-256-gcm", KeyID: "artifact-1", Ciphertext: make([]byte, 92)}},
		Events: testEvents(s)}
	d.Actions = testActions(s)
	return d
}

// testActions is what an engine offers in a state; a prepared contract is
// shown as confirmed and unconfirmed at once, so that every gate opens.
func testActions(s core.State) []core.Action {
	switch s {
	case core.Prepared:
		return []core.Action{{Name: core.ActConfirm}, {Name: core.ActExecute}, {Name: core.ActDecline}}
	case core.Verified:
		return []core.Action{{Name: core.ActRollback}}
	case core.Reconciliation:
		return []core.Action{{Name: core.ActReconcile}}
	}
	return nil
}

// testEvents is a history that ends in a state after an ambiguous send.
func testEvents(s core.State) []core.AuditEvent {
	at := func(d time.Duration) time.Time { return testNow.Add(-150*time.Second + d) }
	last := at(147200 * time.Millisecond)
	return []core.AuditEvent{
		{Type: core.EventCreated, Current: core.Preparing, RecordedAt: at(120 * time.Millisecond), Note: &core.Note{Actor: "jo"}},
		{Type: core.EventTransition, Previous: core.Preparing, Current: core.Prepared, RecordedAt: at(120 * time.Millisecond)},
		{Type: core.EventConfirmed, Previous: core.Prepared, Current: core.Prepared, RecordedAt: at(147 * time.Second),
			Note: &core.Note{Actor: "jo", Evidence: digest("evidence").String()}},
		{Type: core.EventTransition, Previous: core.Prepared, Current: core.Executing, RecordedAt: at(147100 * time.Millisecond)},
		{Type: core.EventTransition, Previous: core.Executing, Current: s, RecordedAt: at(149 * time.Second),
			Note: &core.Note{Boundary: core.AfterSend, Knowledge: core.Ambiguous, Failure: core.FailureReset, LastByteAt: &last}},
	}
}

func testReview() core.Review {
	d := testDetail(core.Prepared)
	return core.Review{Detail: d, Pin: testHeader().Pin, Target: "web_servers", ReadAt: testNow.Add(-9 * time.Second)}
}

func testDraft() core.Draft {
	return core.Draft{Operator: "jo", PreparedAt: testNow.Add(-2 * time.Second), Changes: testChanges(),
		Spec: core.Spec{Capability: "ALIAS_WRITE", EndpointSymbol: "FIREWALL_ALIAS_DESCRIPTION", Method: "PATCH", Noun: "alias",
			Title: "alias description", WayBack: "the old description is written back"},
		Observation:           core.Observation{Label: "web_servers", Summary: "host, 3 addresses", Locator: 4},
		ExecutionIntentDigest: digest("execution intent"), PlanDigest: digest("plan")}
}

func testComparison(origin core.State) core.Comparison {
	c := core.Comparison{ContractID: testID, Noun: "alias", Target: "web_servers", Changes: testChanges(), StateVersion: 4, Origin: origin, Boundary: core.AfterSend, Failure: core.FailureReset,
		ReadAt: testNow.Add(-4 * time.Second), Locator: 4, SameLocator: true, Unchanged: 12, NowSnapshot: true,
		SettleUntil: testNow.Add(161 * time.Second), SettleWindow: 3 * time.Minute,
		Fields: []core.ComparedField{
			{Name: "address", Snapshot: "3: 192.0.2.1, 192.0.2.2, 192.0.2.3", Intended: "3: 192.0.2.1, 192.0.2.2, 192.0.2.3", Now: "3: 192.0.2.1, 192.0.2.2, 192.0.2.3"},
			{Name: "descr", Snapshot: "Public web, old DC", Intended: "Public web, new DC (CHG-1042)", Now: "Public web, old DC", Differs: true},
			{Name: "name", Snapshot: "web_servers", Intended: "web_servers", Now: "web_servers"},
			{Name: "type", Snapshot: "host", Intended: "host", Now: "host"},
		}}
	for _, o := range core.OutcomesFor(origin) {
		c.Offers = append(c.Offers, core.OutcomeOffer{Outcome: o, Reason: "NOW is not the intended state"})
	}
	if n := len(c.Offers); n > 1 {
		c.Offers[1].Reason, c.Offers[1].At = "a late write is still possible", c.SettleUntil
	}
	return c
}

// testProgress is a run that has come to a step.
func testProgress(at core.StepName, dir core.Direction) core.Progress {
	p := core.Progress{ContractID: testID, Direction: dir, Target: "web_servers", StartedAt: testNow.Add(-3400 * time.Millisecond)}
	status := core.StepDone
	for _, name := range core.Steps() {
		s := core.StepProgress{Name: name, Status: status, Took: 400 * time.Microsecond}
		if name == core.StepAnchor {
			s.Detail = "118"
		}
		if name == at {
			s.Status, s.StartedAt, status = core.StepRunning, testNow.Add(-3300*time.Millisecond), core.StepWaiting
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func testEnded(s core.State, sentence string) core.Progress {
	p := testProgress("", core.Forward)
	p.Done, p.Final, p.Sentence = true, s, sentence
	return p
}
