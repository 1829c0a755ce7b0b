package keys

import (
	"context"
	"errors"
	"testing"

	"countersign/canon"
	"countersign/core"
)

const mikaPassphrase = "battery staple"

// registering lets the office's store pin newcomers, until it is told to fail.
func (o *office) registering() (fail *error) {
	fail = new(error)
	o.Register = func(_ context.Context, operator string, commitment canon.Digest) error {
		if *fail == nil {
			o.pins[operator] = commitment
		}
		return *fail
	}
	return fail
}

func (o *office) unlocks(t *testing.T, operator, passphrase string) {
	t.Helper()
	if err := o.Vouch(context.Background(), operator, []byte(passphrase)); err != nil {
		t.Errorf("%s is not unlocked: %v", operator, err)
	}
}

func TestAdmit(t *testing.T) {
	o, ctx := newOffice(t), context.Background()
	if err := o.Admit(ctx, "mika", []byte(mikaPassphrase)); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("without a store to pin: %v", err)
	}
	o.registering()
	passphrase := []byte(mikaPassphrase)
	if err := o.Admit(ctx, "mika", passphrase); err != nil {
		t.Fatal(err)
	}
	if string(passphrase) == mikaPassphrase {
		t.Error("the passphrase is not erased")
	}
	o.unlocks(t, "mika", mikaPassphrase)
	before := o.pins["mika"]
	for name, c := range map[string]struct {
		operator, passphrase string
		want                 error
	}{
		"again":               {"mika", "another one", ErrEnrolled},
		"a short passphrase":  {"kim", "short", ErrPassphrase},
		"a name with a blank": {"k m", mikaPassphrase, core.ErrInvalid},
	} {
		if err := o.Admit(ctx, c.operator, []byte(c.passphrase)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o.pins["mika"] != before || len(o.pins) != 2 || len(o.ring.items) != 2 {
		t.Errorf("a refusal changed something: pins %v", o.pins)
	}
}

// A store that does not pin leaves no key behind, and the next attempt works.
func TestAdmitIsWholeOrNothing(t *testing.T) {
	o, ctx := newOffice(t), context.Background()
	fail, full := o.registering(), errors.New("disk full")
	*fail = full
	if err := o.Admit(ctx, "mika", []byte(mikaPassphrase)); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	if err := o.Present(ctx, "mika"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the key is left behind: %v", err)
	}
	*fail = nil
	if err := o.Admit(ctx, "mika", []byte("another one")); err != nil {
		t.Fatal(err)
	}
	o.unlocks(t, "mika", "another one")
	for range 2 { // a second time there is nothing to take back
		if err := errors.Join(o.Withdraw(ctx, "mika"), o.Withdraw(ctx, "nobody")); err != nil {
			t.Fatal(err)
		}
		if err := o.Present(ctx, "mika"); !errors.Is(err, ErrNotFound) {
			t.Errorf("taken back, and %v", err)
		}
	}
}

// Where the store pinned although it answered with an error, the key stays.
func TestAdmitKeepsAPinnedKey(t *testing.T) {
	o, ctx := newOffice(t), context.Background()
	lost := errors.New("the answer was lost")
	o.Register = func(_ context.Context, operator string, commitment canon.Digest) error {
		o.pins[operator] = commitment
		return lost
	}
	if err := o.Admit(ctx, "mika", []byte(mikaPassphrase)); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	o.unlocks(t, "mika", mikaPassphrase)
}

// An enrolment that broke off before the store pinned is taken up again with
// its own passphrase, and with no other; its key is not made anew.
func TestAdmitTakesUpAgain(t *testing.T) {
	o, ctx := newOffice(t), context.Background()
	o.registering()
	commitment := must[canon.Digest](t)(o.Enrol(ctx, "mika", []byte(mikaPassphrase)))
	err := o.Admit(ctx, "mika", []byte("another one"))
	if !errors.Is(err, ErrUnfinished) || !errors.Is(err, core.ErrWrongPassphrase) {
		t.Errorf("another passphrase: %v", err)
	}
	if _, pinned := o.pins["mika"]; pinned || o.Present(ctx, "mika") != nil {
		t.Error("the refusal changed something")
	}
	if err := o.Admit(ctx, "mika", []byte(mikaPassphrase)); err != nil || o.pins["mika"] != commitment {
		t.Errorf("not taken up: %v", err)
	}
}

func TestVouch(t *testing.T) {
	o, ctx := newOffice(t), context.Background()
	o.unlocks(t, "jo", joPassphrase)
	for operator, want := range map[string]error{"jo": core.ErrWrongPassphrase, "lee": core.ErrUnknownOperator} {
		if err := o.Vouch(ctx, operator, []byte("not the one")); !errors.Is(err, want) {
			t.Errorf("%s: %v", operator, err)
		}
	}
	o.ring.fail = func(op, _ string) error {
		if op == "read" {
			return ErrLocked
		}
		return nil
	}
	if err := o.Vouch(ctx, "jo", []byte(joPassphrase)); !errors.Is(err, ErrLocked) {
		t.Errorf("a locked keyring: %v", err)
	}
	if err := o.Present(ctx, "jo"); !errors.Is(err, ErrLocked) {
		t.Errorf("present in a locked keyring: %v", err)
	}
}
