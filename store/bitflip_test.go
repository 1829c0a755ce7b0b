package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"countersign/core"
)

// bitFlips is how many single bits are flipped, a share of them in each part
// of the files; COUNTERSIGN_BITFLIPS asks for more.
func bitFlips() int {
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_BITFLIPS")); err == nil {
		return n
	}
	return 400
}

// truth is everything a store says about its contracts.
type truth struct {
	contracts map[string]core.Contract
	timelines map[string][]core.AuditEvent
	spent     []core.Creation // already carried out
	mark      uint64
}

// flipStore is a closed store that has every kind of page, and the truth.
func flipStore(t *testing.T) (o Options, known truth) {
	r := newRig(t, nil)
	r.fill(40)
	known = truth{contracts: map[string]core.Contract{}, timelines: map[string][]core.AuditEvent{}}
	make := func(id string, edit func(*core.Contract)) core.Contract {
		contract := testContract(id, "t-"+id, "i-"+id, r.clock.Now(), testValidity)
		if edit != nil {
			edit(&contract)
		}
		c := r.creation(contract)
		made, err := r.AuthorizeAndCreate(r.ctx, c)
		r.must(err)
		known.spent = append(known.spent, c)
		return made
	}
	long := func(c *core.Contract) { c.ProtectedSnapshot.Ciphertext = bytes.Repeat([]byte("long"), 3000) }
	r.rollBack(r.seal(r.acquire(r.confirm(make("a", nil)))))
	_, err := r.RecoverInterrupted(r.ctx)
	r.must(err)
	r.seal(r.acquire(r.confirm(make("b", nil))))
	r.move(r.acquire(r.confirm(make("c", nil))), core.Failed)
	r.confirm(make("d", long))
	d := make("e", nil)
	_, err = r.Decline(r.ctx, d.ID, r.approval(core.ApproveDecline, d), acceptAll{})
	r.must(err)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		known.timelines[id], err = r.Timeline(r.ctx, id)
		r.must(err)
	}
	page, err := r.List(r.ctx, everyContract)
	r.must(err)
	for _, item := range page.Items {
		known.contracts[item.Contract.ID] = item.Contract
	}
	h, err := r.Health(r.ctx)
	r.must(err)
	known.mark = h.Mark
	r.must(r.Store.Close())
	return r.opts, known
}

var everyContract = core.ListQuery{List: core.ListHistory, Limit: 200}

// parts sorts the bytes of a database file by what they are part of. Bytes
// that nothing uses are left out, and so are the zeros, which most of a page is.
func parts(file []byte) map[string][]int {
	const header, treeHeader = 100, 12
	pageSize := int(binary.BigEndian.Uint16(file[16:]))
	kinds := map[byte]string{2: "interior index page", 5: "interior table page", 10: "leaf index page", 13: "leaf table page"}
	free := freePages(file, pageSize)
	found := map[string][]int{}
	add := func(part string, from, to int) {
		for i := from; i < to; i++ {
			if file[i] != 0 || part == "page header" {
				found[part] = append(found[part], i)
			}
		}
	}
	add("file header", 0, header)
	for page := 0; page < len(file); page += pageSize {
		at, end := page, page+pageSize
		if page == 0 {
			at = header
		}
		kind, isTree := kinds[file[at]]
		switch {
		case free[page/pageSize+1]:
			add("free page", at, end)
		case !isTree:
			add("overflow page", at, end)
		default: // its header and list of cells, and from where on its cells are
			cells := 2 * int(binary.BigEndian.Uint16(file[at+3:]))
			add("page header", at, at+treeHeader+cells)
			add(kind, page+int(binary.BigEndian.Uint16(file[at+5:])), end)
		}
	}
	return found
}

// freePages follows the list of pages that a database file does not use.
func freePages(file []byte, pageSize int) map[int]bool {
	free := map[int]bool{}
	number := func(at int) int { return int(binary.BigEndian.Uint32(file[at:])) }
	for trunk := number(32); trunk != 0; trunk = number((trunk - 1) * pageSize) {
		free[trunk] = true
		at := (trunk - 1) * pageSize
		for i := range number(at + 4) {
			free[number(at+8+4*i)] = true
		}
	}
	return free
}

// flips draws as many bits in each part.
func flips(parts map[string][]int, n int) map[string][]int {
	random := rand.New(rand.NewPCG(1, 2))
	drawn := map[string][]int{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		bytes := parts[name]
		for range (n + len(parts) - 1) / len(parts) {
			drawn[name] = append(drawn[name], 8*bytes[random.IntN(len(bytes))]+random.IntN(8))
		}
	}
	return drawn
}

// flipAll plays every flip, some at a time, and counts what they ended in.
func flipAll(t *testing.T, drawn map[string][]int, play func(bit int) string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		var wait sync.WaitGroup
		var mu sync.Mutex
		outcomes := map[string]int{}
		bits := make(chan int)
		for range scanWorkers() {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for bit := range bits {
					outcome := play(bit)
					mu.Lock()
					outcomes[outcome]++
					mu.Unlock()
				}
			}()
		}
		for _, bit := range drawn[name] {
			bits <- bit
		}
		close(bits)
		wait.Wait()
		t.Logf("%5d flips in %-20s %v", len(drawn[name]), name+":", outcomes)
	}
}

// One flipped bit anywhere in the file: the store is refused, or the record
// is quarantined, or nothing at all has changed. Never is a contract, a
// history, a key or a mark silently another one, and never can something that
// was spent be spent again.
func TestOneFlippedBit(t *testing.T) {
	t.Parallel()
	o, known := flipStore(t)
	original, err := os.ReadFile(o.Path)
	must(t, err)
	found := parts(original)
	if len(found) != 8 {
		t.Fatalf("the file has only %d of 8 parts", len(found))
	}
	flipAll(t, flips(found, bitFlips()), func(bit int) string { return flipOutcome(t, o, known, flip(original, bit), bit) })
}

func flip(file []byte, bit int) []byte {
	flipped := slices.Clone(file)
	flipped[bit/8] ^= 1 << (bit % 8)
	return flipped
}

func flipOutcome(t *testing.T, o Options, known truth, file []byte, bit int) string {
	o.Path = afterCut(t, file, nil)
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

// One flipped bit in the log of a process that died: SQLite's own checksums
// end the log there, so the store is as it was at an earlier commit, which
// the anchor tells, or nothing has changed.
func TestOneFlippedBitInTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store", "contracts.sqlite3")
	history := []string{"no tables"}
	var database, log []byte
	must(t, playCrash(path, func(name string) {
		if filepath.Base(name) == "after commit" {
			history = append(history, dump(t, path))
			database, log = readBoth(t, path)
		}
	}))
	found := map[string][]int{}
	const header, frameHeader, page = 32, 24, 4096
	for i := range log {
		switch at := (i - header) % (frameHeader + page); {
		case i < header:
			found["log header"] = append(found["log header"], i)
		case at < frameHeader:
			found["frame header"] = append(found["frame header"], i)
		case log[i] != 0:
			found["frame"] = append(found["frame"], i)
		}
	}
	flipAll(t, flips(found, bitFlips()/8), func(bit int) string {
		path := afterCut(t, database, flip(log, bit))
		defer os.RemoveAll(filepath.Dir(path))
		r, err := crashRig(path, nil)
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("bit %d: an error without a class: %v", bit, err)
			}
			return "refused"
		}
		defer r.Close()
		bad, err := r.Quarantined(r.ctx)
		switch now := slices.Index(history, dump(t, path)); {
		case err != nil || len(bad) > 0 || now < 0:
			t.Errorf("bit %d: a state that never was; quarantined %v, %v", bit, bad, err)
			return "wrong"
		case now < len(history)-1:
			return "an earlier moment"
		}
		return "harmless"
	})
}

// compare asks a store everything; errors are fine, other answers are not.
func (k truth) compare(t *testing.T, s *Store) error {
	ctx := t.Context()
	page, err := s.List(ctx, everyContract)
	for _, item := range page.Items {
		if c := item.Contract; err == nil && !reflect.DeepEqual(c, k.contracts[c.ID]) {
			return fmt.Errorf("contract %s is another: %+v", c.ID, c)
		}
	}
	for id, events := range k.timelines {
		want := k.contracts[id]
		if c, err := s.Load(ctx, id); err == nil && !reflect.DeepEqual(c, want) {
			return fmt.Errorf("contract %s is another: %+v", id, c)
		}
		if now, err := s.Timeline(ctx, id); err == nil && !reflect.DeepEqual(now, events) {
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
