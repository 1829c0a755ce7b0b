package core

import (
	"context"
	"errors"
	"fmt"
	"io"

	"countersign/canon"
)

// ListOldest is everything, oldest first, for exports; no screen shows it.
const ListOldest ListName = "oldest"

// exportPage is how many contracts are read at once.
const exportPage = 100

// ExportAudit writes every verified audit event as one JSON line, oldest
// contract first, with exactly the fields that seed 003, Audit contract,
// permits. Quarantined records are left out, and an error at the end says how
// many they are. It cannot contain a value: it never opens an artifact. It
// keeps no more than one page, however many contracts there are.
func ExportAudit(ctx context.Context, s StoreReader, w io.Writer) error {
	for after := ""; ; {
		page, err := s.List(ctx, ListQuery{List: ListOldest, After: after, Limit: exportPage})
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			err := exportContract(ctx, s, item.Contract.ID, w)
			if err != nil && !errors.Is(err, ErrQuarantined) {
				return err
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	missing, err := s.Quarantined(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %d records are not in this export", ErrQuarantined, len(missing))
	}
	return nil
}

func exportContract(ctx context.Context, s StoreReader, id string, w io.Writer) error {
	c, err := s.Load(ctx, id)
	if err != nil {
		return err
	}
	events, err := s.Timeline(ctx, id)
	if err != nil {
		return err
	}
	for _, ev := range events {
		line, err := canon.EncodeASCII(auditLine(c, ev))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// auditLine is the whole of what a log or an export may say about an event.
func auditLine(c Contract, ev AuditEvent) Object {
	line := Object{
		"capability":             c.Capability,
		"contract_id":            c.ID,
		"current_state":          string(ev.Current),
		"endpoint_symbol":        c.EndpointSymbol,
		"event_id":               fmt.Sprintf("%s:%d", c.ID, ev.Version),
		"exception_class":        nil,
		"failure_class":          nil,
		"http_method":            c.Method,
		"intent_digest":          c.IntentDigest.String(),
		"operation_id":           c.OperationID,
		"outcome":                auditOutcome(ev),
		"previous_state":         nil,
		"target_identity_digest": c.TargetIdentityDigest.String(),
		"timestamp":              FormatInstant(ev.RecordedAt),
	}
	if ev.Previous != "" {
		line["previous_state"] = string(ev.Previous)
	}
	if ev.Note != nil && ev.Note.Failure != FailureNone {
		line["failure_class"] = string(ev.Note.Failure)
	}
	return line
}

func auditOutcome(ev AuditEvent) string {
	switch {
	case ev.Type == EventCreated:
		return "created"
	case ev.Type == EventConfirmed:
		return "confirmed"
	case ev.Type == EventResolved:
		return "reconciled"
	case ev.Type == EventRotated:
		return "rotated"
	case ev.Current == Executing:
		return "executed"
	case ev.Current == Failed && (ev.Note == nil || ev.Note.Knowledge != Ambiguous):
		return "refused"
	}
	return string(ev.Current)
}
