package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"countersign/canon/canontest"
	"countersign/core"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The stored bytes and the MAC of every contract of the cases.
func TestConformanceContractMACs(t *testing.T) {
	var cases struct {
		Stores []struct {
			StoreID string `json:"store_id"`
			Key     string `json:"integrity_key_hex"`
		}
		Cases []struct {
			Name    string
			Store   int
			Payload string `json:"payload_b64"`
			MAC     string
		}
	}
	canontest.Load(t, "contracts.json", &cases)
	for _, c := range cases.Cases {
		payload, err := base64.StdEncoding.DecodeString(c.Payload)
		if err != nil {
			t.Fatal(err)
		}
		s := cases.Stores[c.Store]
		m := newMACs(s.StoreID, unhex(t, s.Key))
		if !m.record(payload).equal(c.MAC) {
			t.Errorf("%s: another MAC", c.Name)
		}
		if newMACs(s.StoreID+"x", unhex(t, s.Key)).record(payload).equal(c.MAC) {
			t.Errorf("%s: the MAC holds for another store id", c.Name)
		}
	}
	canontest.Ran(t, "contracts.json", map[string]int{"stores": len(cases.Stores), "cases": len(cases.Cases)})
}

// eventCase is one audit event of the cases.
type eventCase struct {
	Sequence int64
	Contract string  `json:"contract_id"`
	Type     string  `json:"event_type"`
	Previous *string `json:"previous_state"`
	Current  string  `json:"current_state"`
	Version  int64   `json:"state_version"`
	At       string  `json:"recorded_at"`
	MAC      string
}

func (e eventCase) row() eventRow {
	r := eventRow{sequence: e.Sequence, contractID: e.Contract, kind: e.Type, current: e.Current,
		version: e.Version, recordedAt: e.At, mac: e.MAC}
	if e.Previous != nil {
		r.previous = sql.NullString{String: *e.Previous, Valid: true}
	}
	return r
}

func eventRows(cases []eventCase) []eventRow {
	rows := make([]eventRow, len(cases))
	for i, c := range cases {
		rows[i] = c.row()
	}
	return rows
}

// stricterEvents are changes that the reference does not notice, with what
// ours says; the last is a legal history after a clock was set back.
var stricterEvents = map[string]Reason{
	"sequence numbers swapped (not covered by any MAC)":             ReasonAuditSequence,
	"event type unknown but MAC valid":                              ReasonAuditType,
	"illegal edge with valid MACs (preparing to verified and back)": ReasonAuditEdge,
	"times run backwards with a valid MAC":                          "",
}

// Every chain of the cases verifies, and every flaw has its class.
func TestConformanceAuditEvents(t *testing.T) {
	var cases struct {
		StoreID string `json:"store_id"`
		Key     string `json:"integrity_key_hex"`
		Chains  []struct {
			Name    string
			State   core.State `json:"final_state"`
			Version int64      `json:"final_version"`
			Events  []eventCase
		}
		Single  []eventCase
		Types   []core.EventType `json:"event_types"`
		Later   []core.EventType `json:"event_types_of_the_later_two_tier_model"`
		Invalid []struct {
			Name    string
			State   core.State `json:"contract_state"`
			Version int64      `json:"contract_version"`
			Reason  Reason
			Rows    []eventCase
		}
	}
	canontest.Load(t, "audit_events.json", &cases)
	m := newMACs(cases.StoreID, unhex(t, cases.Key))
	for _, c := range cases.Chains {
		chain, reason := checkChain(m, core.Contract{State: c.State, StateVersion: c.Version}, eventRows(c.Events))
		if reason != "" || len(chain) != len(c.Events) {
			t.Errorf("%s: %q", c.Name, reason)
		}
	}
	for _, c := range cases.Single {
		if row := c.row(); !row.authentic(m) {
			t.Errorf("single event %s: another MAC", c.Type)
		}
	}
	for _, c := range cases.Invalid {
		want := c.Reason
		if want == "accepted" {
			var known bool
			if want, known = stricterEvents[c.Name]; !known {
				t.Errorf("%s: no decision about this case", c.Name)
			}
		}
		_, reason := checkChain(m, core.Contract{State: c.State, StateVersion: c.Version}, eventRows(c.Rows))
		if reason != want {
			t.Errorf("%s: %q, want %q", c.Name, reason, want)
		}
	}
	for _, kind := range cases.Types {
		// The first type stands only at the beginning of a chain, which the
		// chains above have.
		if reason := checkStep(&core.AuditEvent{Type: kind}); reason == ReasonAuditType && kind != core.EventCreated {
			t.Errorf("%s is not known inside a chain", kind)
		}
	}
	for _, kind := range cases.Later {
		if reason := checkStep(&core.AuditEvent{Type: kind}); reason != ReasonAuditType {
			t.Errorf("%s, of a later model: %q, want %q", kind, reason, ReasonAuditType)
		}
	}
	canontest.Ran(t, "audit_events.json", map[string]int{
		"event_types": len(cases.Types), "event_types_of_the_later_two_tier_model": len(cases.Later),
		"chains": len(cases.Chains), "single": len(cases.Single), "invalid": len(cases.Invalid)})
}

// Marks and baselines are written and read byte for byte; a mark that no
// writer writes is refused.
func TestConformanceAnchor(t *testing.T) {
	var cases struct {
		Marks []struct {
			StoreID string `json:"store_id"`
			Key     string `json:"integrity_key_hex"`
			Value   string
			MAC     string
		} `json:"high_water_mark"`
		Provisioning []struct {
			StoreID string `json:"store_id"`
			Key     string `json:"integrity_key_hex"`
			Value   string `json:"row_value"`
			MAC     string
		}
		Reads []struct {
			Name     string
			StoreID  string `json:"store_id"`
			Key      string `json:"integrity_key_hex"`
			Value    string `json:"row_value"`
			MAC      string
			Expected string
		}
		Before []struct {
			Mark        *uint64
			Anchor      uint64
			Result      string
			AnchorAfter uint64 `json:"anchor_after"`
			MarkAfter   uint64 `json:"mark_after"`
		} `json:"before_executing"`
	}
	canontest.Load(t, "anchor.json", &cases)
	check := func(key, id, k, value, mac string) error {
		return checkAnchorRow(newMACs(id, unhex(t, k)), key, text{value, true}, text{mac, true})
	}
	for _, c := range cases.Marks {
		if err := check(keyMark, c.StoreID, c.Key, c.Value, c.MAC); err != nil {
			t.Errorf("mark %s: %v", c.Value, err)
		}
	}
	for _, c := range cases.Provisioning {
		if err := check(keyProvisioning, c.StoreID, c.Key, c.Value, c.MAC); err != nil {
			t.Errorf("baseline %s: %v", c.Value, err)
		}
	}
	for _, c := range cases.Reads {
		if err := check(keyMark, c.StoreID, c.Key, c.Value, c.MAC); (err == nil) == (c.Expected == "refused") {
			t.Errorf("%s: %v, want it %s", c.Name, err, c.Expected)
		}
	}
	for _, c := range cases.Before {
		r := newReplay(t, opsScenario{AnchorStart: &c.Anchor})
		if c.Mark != nil {
			r.must(r.ProvisionAnchor(context.Background(), "handle", *c.Mark))
		}
		contract := r.confirm(r.create("c-1", "t", "i"))
		err := r.execute(contract, contract.StateVersion)
		if errors.Is(err, core.ErrRolledBackStore) != (c.Result == "refused") || r.anchorAt != c.AnchorAfter {
			t.Errorf("mark %v, anchor %d: %v, anchor now %d", c.Mark, c.Anchor, err, r.anchorAt)
		}
		if health, err := r.Health(r.ctx); err != nil || (c.Result == "advanced" && health.Mark != c.MarkAfter) {
			t.Errorf("mark %d after, %v; want %d", health.Mark, err, c.MarkAfter)
		}
		r.check()
	}
	canontest.Ran(t, "anchor.json", map[string]int{"high_water_mark": len(cases.Marks), "provisioning": len(cases.Provisioning),
		"reads": len(cases.Reads), "before_executing": len(cases.Before)})
}

// A baseline that ours writes has the bytes and the MAC that the reference
// would give it.
func TestConformanceProvisioningBytes(t *testing.T) {
	var cases struct {
		Provisioning []struct {
			StoreID string `json:"store_id"`
			Key     string `json:"integrity_key_hex"`
			Handle  string
			Value   uint64 `json:"verified_value"`
			At      string `json:"provisioned_at"`
			Row     string `json:"row_value"`
			MAC     string
		}
	}
	canontest.Load(t, "anchor.json", &cases)
	for _, c := range cases.Provisioning {
		at, err := time.Parse(time.RFC3339, c.At)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(o *Options) {
			o.StoreID, o.IntegrityKey, o.Clock = c.StoreID, unhex(t, c.Key), &testClock{now: at.UTC()}
		})
		r.must(r.ProvisionAnchor(r.ctx, c.Handle, c.Value))
		row := rawRows(t, r.opts.Path, "SELECT value, mac FROM anchor_state WHERE key = 'anchor_provisioning_complete'")
		if row[0][0] != c.Row || row[0][1] != c.MAC {
			t.Errorf("%s: wrote %v", c.Handle, row)
		}
		r.check()
	}
	canontest.Ran(t, "anchor.json", map[string]int{"provisioning": len(cases.Provisioning)})
}
