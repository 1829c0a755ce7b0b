package store

import (
	"context"
	"sort"
	"sync"
	"time"

	"countersign/core"
)

// claims are what a quarantined record may stand for: by its columns, and by
// its payload where that can be read. Nothing new is made or sent for a key
// or a target that a quarantined record claims, so that changing a column
// cannot free either.
type claims struct {
	keys, targets map[string]bool
	// writing: by one of them it was under way or in doubt, so the firewall
	// may still be writing when the flaw is found.
	writing bool
}

func (r *contractRow) claims() claims {
	c := claims{keys: map[string]bool{r.key.s: true}, targets: map[string]bool{r.target.s: true},
		writing: mayWrite(core.State(r.state.s))}
	if payload, ok := r.payload.([]byte); ok {
		if read, err := core.DecodeContract(payload); err == nil {
			c.keys[read.IdempotencyKey.String()] = true
			c.targets[read.TargetIdentityDigest.String()] = true
			c.writing = c.writing || mayWrite(read.State)
		}
	}
	return c
}

// claims of a place in the set whose record was removed.
func placeClaims(r ownRow) claims {
	return claims{keys: map[string]bool{r.text(3): true}, targets: map[string]bool{r.text(4): true},
		writing: mayWrite(memberState(r))}
}

func mayWrite(s core.State) bool { return s.InFlight() || s == core.Reconciliation }

// flaws is the list of quarantined records, by contract id.
type flaws struct {
	mu   sync.RWMutex
	byID map[string]Flaw
	held map[string]claims
	// The newest discovery of a record that may have been under way.
	writingAt time.Time
	writingID string
}

func (f *flaws) add(flaw Flaw, c claims, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID, f.held = map[string]Flaw{}, map[string]claims{}
	}
	if _, known := f.byID[flaw.ContractID]; known {
		return
	}
	f.byID[flaw.ContractID], f.held[flaw.ContractID] = flaw, c
	if c.writing {
		f.writingAt, f.writingID = at, flaw.ContractID
	}
}

// writing returns the newest discovery of a record that may have been under
// way, or a zero time.
func (f *flaws) writing() (time.Time, string) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.writingAt, f.writingID
}

// of returns the flaw of one contract, or nil.
func (f *flaws) of(contractID string) *Flaw {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if flaw, bad := f.byID[contractID]; bad {
		return &flaw
	}
	return nil
}

// claiming returns the flaw of a record that claims a key or a target, or nil.
func (f *flaws) claiming(key, target string) *Flaw {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for id, c := range f.held {
		if (key != "" && c.keys[key]) || (target != "" && c.targets[target]) {
			flaw := f.byID[id]
			return &flaw
		}
	}
	return nil
}

// all lists the flaws by contract id.
func (f *flaws) all() []Flaw {
	f.mu.RLock()
	defer f.mu.RUnlock()
	list := make([]Flaw, 0, len(f.byID))
	for _, flaw := range f.byID {
		list = append(list, flaw)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ContractID < list[j].ContractID })
	return list
}

// Quarantined lists the records that nothing acts on, with their class.
func (s *Store) Quarantined(context.Context) ([]core.QuarantinedRecord, error) {
	var list []core.QuarantinedRecord
	for _, f := range s.flaws.all() {
		list = append(list, core.QuarantinedRecord{ContractID: f.ContractID, Reason: string(f.Reason),
			Explain: explain(f.Reason)})
	}
	return list, nil
}

// recordSightings keeps that a flaw was seen, once each: when the record is
// whole again, for instance restored from a backup, that it was not remains
// known.
func (t *tx) recordSightings() error {
	for _, f := range t.s.flaws.all() {
		known, err := t.rows(tableSightings, "WHERE contract_id = ? AND reason = ?", f.ContractID, string(f.Reason))
		if err != nil {
			return err
		}
		if len(known) > 0 {
			continue
		}
		if err := t.insertRow(tableSightings, []any{f.ContractID, string(f.Reason), core.FormatInstant(t.now)}); err != nil {
			return err
		}
	}
	return nil
}
