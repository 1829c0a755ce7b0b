package core_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"countersign/canon"
	"countersign/canon/canontest"
	"countersign/core"
)

// The record format has exactly the reference's event types.
func TestConformanceEventTypes(t *testing.T) {
	var file struct {
		Types []core.EventType `json:"event_types"`
	}
	canontest.Load(t, "audit_events.json", &file)
	want := []core.EventType{core.EventCreated, core.EventTransition, core.EventConfirmed, core.EventRotated, core.EventResolved}
	if !slices.Equal(file.Types, want) {
		t.Errorf("the file has %v, ours are %v", file.Types, want)
	}
	canontest.Ran(t, "audit_events.json", map[string]int{"event_types": len(file.Types)})
}

// logLine is one line of the reference's log, as far as a record says it.
type logLine struct {
	Capability string            `json:"capability"`
	Contract   string            `json:"contract_id"`
	Current    core.State        `json:"current_state"`
	Endpoint   string            `json:"endpoint_symbol"`
	Failure    core.FailureClass `json:"failure_class"`
	Method     string            `json:"http_method"`
	Intent     canon.Digest      `json:"intent_digest"`
	Operation  string            `json:"operation_id"`
	Previous   core.State        `json:"previous_state"`
	Target     canon.Digest      `json:"target_identity_digest"`
	Timestamp  string            `json:"timestamp"`
}

// oneEvent is a store with one contract and one event.
type oneEvent struct {
	core.StoreReader
	contract core.Contract
	event    core.AuditEvent
}

func (s oneEvent) List(context.Context, core.ListQuery) (core.ListPage, error) {
	return core.ListPage{Items: []core.ListItem{{Contract: s.contract}}}, nil
}
func (s oneEvent) Load(context.Context, string) (core.Contract, error) { return s.contract, nil }
func (s oneEvent) Timeline(context.Context, string) ([]core.AuditEvent, error) {
	return []core.AuditEvent{s.event}, nil
}
func (s oneEvent) Quarantined(context.Context) ([]core.QuarantinedRecord, error) { return nil, nil }

// The lines of an export are the reference's log lines byte for byte: the same
// members in the same order, spelled alike. Two members have other values on
// purpose. event_id names the contract and its version, so that two exports of
// one store are equal; the reference has ids of its own. exception_class
// is always null: it would name a type of the program, which says nothing to
// who reads the log, and failure_class names what happened.
func TestConformanceLogLines(t *testing.T) {
	var file struct {
		Lines []struct{ JSON string } `json:"log_lines"`
	}
	canontest.Load(t, "audit_events.json", &file)
	for i, c := range file.Lines {
		var line logLine
		var want map[string]any
		for _, into := range []any{&line, &want} {
			if err := json.Unmarshal([]byte(c.JSON), into); err != nil {
				t.Fatal(err)
			}
		}
		s := oneEvent{contract: core.Contract{ID: line.Contract, OperationID: line.Operation, Capability: line.Capability,
			EndpointSymbol: line.Endpoint, Method: line.Method, TargetIdentityDigest: line.Target, IntentDigest: line.Intent},
			event: core.AuditEvent{ContractID: line.Contract, Type: core.EventTransition, Previous: line.Previous,
				Current: line.Current, Version: int64(i), RecordedAt: instant(t, line.Timestamp), Note: &core.Note{Failure: line.Failure}}}
		if line.Previous == "" {
			s.event.Type = core.EventCreated
		}
		var got bytes.Buffer
		if err := core.ExportAudit(context.Background(), s, &got); err != nil {
			t.Fatal(err)
		}
		var ours map[string]any
		if err := json.Unmarshal(got.Bytes(), &ours); err != nil {
			t.Fatal(err)
		}
		wanted := c.JSON + "\n"
		for _, member := range []string{"event_id", "exception_class"} {
			wanted = strings.Replace(wanted, memberText(t, member, want[member]), memberText(t, member, ours[member]), 1)
		}
		if got.String() != wanted {
			t.Errorf("line %d is\n%swant\n%s", i, &got, wanted)
		}
		if ours["event_id"] == "" || ours["exception_class"] != nil {
			t.Errorf("line %d has event_id %v, exception_class %v", i, ours["event_id"], ours["exception_class"])
		}
	}
	canontest.Ran(t, "audit_events.json", map[string]int{"log_lines": len(file.Lines)})
}

// memberText is a member of a line as it is written.
func memberText(t *testing.T, name string, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return `"` + name + `":` + string(text)
}
