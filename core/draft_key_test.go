package core_test

import (
	"context"
	"errors"
	"testing"

	"countersign/canon"
	"countersign/core"
)

// forgetful is a store whose caller dies before it hears an answer.
type forgetful struct {
	core.Store
	dead *bool
}

func (f forgetful) AnswerDraft(ctx context.Context, caller string, request canon.Digest, key string) error {
	if *f.dead {
		return errors.New("nobody hears this")
	}
	return f.Store.AnswerDraft(ctx, caller, request, key)
}

// A request key is on disk before the draft is submitted (design section 5): a
// console that died before it heard the answer, and whose operator types the
// same change again, is answered with the contract that was made.
func TestRequestKeySurvivesTheConsole(t *testing.T) {
	dead := true
	r := newRig(t, rigOptions{wrapStore: func(s core.Store) core.Store { return forgetful{s, &dead} }})
	first, err := r.engine.Authorize(ctx(), r.draft(rigAlias, rigValue), rigOperator, pass())
	r.must(err)
	dead = false
	r.restart()
	typedAgain := r.draft(rigAlias, rigValue)
	second, err := r.engine.Authorize(ctx(), typedAgain, rigOperator, pass())
	if err != nil || second != first {
		t.Fatalf("the change typed again gave %q, %v; the first was %q", second, err, first)
	}
	// Now the answer was heard: the same change once more is a new request.
	if _, err := r.engine.Authorize(ctx(), r.draft(rigAlias, rigValue), rigOperator, pass()); !errors.Is(err, core.ErrBlocked) {
		t.Fatalf("a further attempt: %v", err)
	}
}
