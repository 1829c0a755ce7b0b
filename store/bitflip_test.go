package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"countersign/core"
)

// bitFlips is how many single bits are flipped; COUNTERSIGN_BITFLIPS asks for
// more.
func bitFlips() int {
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_BITFLIPS")); err == nil {
		return n
	}
	return 120
}

// truth is everything a store says about its contracts.
type truth struct {
	contracts map[string]core.Contract
	timelines map[string][]core.AuditEvent
	spent     []core.Creation // already carried out
	mark      uint64
}

func flipStore(t *testing.T) (o Options, known truth) {
	r := newRig(t, nil)
	known = truth{contracts: map[string]core.Contract{}, timelines: map[string][]core.AuditEvent{}}
	make := func(id string) core.Contract {
		c := r.creation(testContract(id, "t-"+id, "i-"+id, r.clock.Now(), testValidity))
		made, err := r.AuthorizeAndCreate(r.ctx, c)
		r.must(err)
		known.spent = append(known.spent, c)
		return made
	}
	r.rollBack(r.seal(r.acquire(r.confirm(make("a")))))
	_, err := r.RecoverInterrupted(r.ctx)
	r.must(err)
	r.seal(r.acquire(r.confirm(make("b"))))
	r.move(r.acquire(r.confirm(make("c"))), core.Failed)
	r.confirm(make("d"))
	d := make("e")
	_, err = r.Decline(r.ctx, d.ID, r.approval(core.ApproveDecline, d), acceptAll{})
	r.must(err)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		known.contracts[id], err = r.Load(r.ctx, id)
		r.must(err)
		known.timelines[id], err = r.Timeline(r.ctx, id)
		r.must(err)
	}
	h, err := r.Health(r.ctx)
	r.must(err)
	known.mark = h.Mark
	r.must(r.Store.Close())
	return r.opts, known
}

// One flipped bit anywhere in the file: the store is refused, or the record
// is quarantined, or nothing at all has changed. Never is a contract, a
// history, a key or a mark silently another one, and never can something that
// was spent be spent again.
func TestOneFlippedBit(t *testing.T) {
	t.Parallel()
	o, known := flipStore(t)
	original, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	for range bitFlips() {
		bit := random.IntN(8 * len(original))
		for try := 0; try < 4 && original[bit/8] == 0; try++ {
			bit = random.IntN(8 * len(original)) // most of a page is unused
		}
		flipped := append([]byte(nil), original...)
		flipped[bit/8] ^= 1 << (bit % 8)
		outcomes[flipOutcome(t, o, known, flipped, bit)]++
		if t.Failed() {
			return
		}
	}
	t.Logf("%d flips of %d bits: %v", bitFlips(), 8*len(original), outcomes)
}

func flipOutcome(t *testing.T, o Options, known truth, file []byte, bit int) string {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	if err := errors.Join(os.Mkdir(filepath.Dir(o.Path), dirMode), os.WriteFile(o.Path, file, fileMode)); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(o.Path))
	before := fileSum(t, o.Path)
	s, err := Open(t.Context(), o)
	if err != nil {
		if checkRefusal(t, err, o.Path, before); t.Failed() {
			t.Logf("bit %d", bit)
		}
		return "refused"
	}
	defer s.Close()
	bad, _ := s.Quarantined(t.Context())
	if err := known.compare(t, s); err != nil {
		t.Errorf("bit %d: %v; quarantined %v", bit, err, bad)
	}
	if len(bad) > 0 {
		return "quarantined"
	}
	return "harmless"
}

// compare asks a store everything; errors are fine, other answers are not.
func (k truth) compare(t *testing.T, s *Store) error {
	ctx := t.Context()
	for id, want := range k.contracts {
		if c, err := s.Load(ctx, id); err == nil && !reflect.DeepEqual(c, want) {
			return fmt.Errorf("contract %s is another: %+v", id, c)
		}
		if events, err := s.Timeline(ctx, id); err == nil && !reflect.DeepEqual(events, k.timelines[id]) {
			return fmt.Errorf("the timeline of %s is another", id)
		}
		found, err := s.FindByIdempotencyKey(ctx, want.IdempotencyKey)
		if err == nil && (found != nil) != core.BlocksFreshAttempt(want.State) {
			return fmt.Errorf("the key of %s blocks differently: %v", id, found)
		}
		if history, err := s.FindHistoricalByIdempotencyKey(ctx, want.IdempotencyKey); err == nil && len(history) != 1 {
			return fmt.Errorf("%s has %d attempts", id, len(history))
		}
	}
	if h, err := s.Health(ctx); err == nil && h.Mark != k.mark {
		return fmt.Errorf("the mark is %d", h.Mark)
	}
	if _, id, err := s.LastAmbiguous(ctx); err == nil && id != "a" {
		return fmt.Errorf("the ambiguous send is that of %q", id)
	}
	return k.spendAgain(t, s)
}

// spendAgain tries to create once more what was already created, under new
// ids and request keys.
func (k truth) spendAgain(t *testing.T, s *Store) error {
	for _, c := range k.spent {
		c.Contract.ID += "-again"
		c.Contract.OperationID += "-again"
		c.Claim.RequestKey += "-again"
		if made, err := s.AuthorizeAndCreate(t.Context(), c); err == nil {
			return fmt.Errorf("the authorization of %s was accepted again, as %s", c.Contract.ID, made.ID)
		}
	}
	return nil
}
