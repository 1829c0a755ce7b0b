package store

import (
	"context"
	"fmt"
	"time"

	"countersign/canon"
	"countersign/core"
)

// A draft's request key is on disk before the draft is submitted, so that it
// survives a console that dies before it hears the answer (design section 5).
// Only the request's digest is kept with it.
const (
	draftSubmitted = "submitted"
	draftAnswered  = "answered"
)

// SubmitDraft records that a request is about to be submitted and returns the
// key to submit it under: key, or the one of an equal request of the same
// caller that was submitted before `before`, by a console that died without
// hearing the answer.
func (s *Store) SubmitDraft(ctx context.Context, caller string, request canon.Digest, key string, before time.Time) (string, error) {
	if !core.ValidIdentifier(caller) || !core.ValidIdentifier(key) {
		return "", fmt.Errorf("%w: the request names no caller or key", core.ErrInvalid)
	}
	err := s.write(ctx, "draft submitted", func(t *tx) error {
		last, err := t.lastDraft(caller, request)
		if err != nil {
			return err
		}
		if last != nil && last.text(4) == draftSubmitted {
			at, err := core.ParseInstant(last.text(5))
			if err != nil {
				return tableDrafts.errOwnRow()
			}
			if at.Before(before) {
				key = last.text(3)
				return nil
			}
		}
		return t.insertDraft(caller, request, key, draftSubmitted)
	})
	return key, err
}

// AnswerDraft records that the caller has heard the answer, whatever it was.
func (s *Store) AnswerDraft(ctx context.Context, caller string, request canon.Digest, key string) error {
	return s.write(ctx, "draft answered", func(t *tx) error {
		return t.insertDraft(caller, request, key, draftAnswered)
	})
}

func (t *tx) lastDraft(caller string, request canon.Digest) (*ownRow, error) {
	rows, err := t.rows(tableDrafts, "WHERE caller = ? AND digest = ? ORDER BY sequence DESC LIMIT 1", caller, request.String())
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func (t *tx) insertDraft(caller string, request canon.Digest, key, step string) error {
	return t.appendRow(tableDrafts, []any{caller, request.String(), key, step, core.FormatInstant(t.now)})
}
