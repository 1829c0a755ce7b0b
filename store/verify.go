package store

import (
	"context"
	"errors"

	"countersign/core"
)

// Report is the result of a complete offline verification. It names classes
// and numbers, never a value.
type Report struct {
	Path        string                   `json:"path"`
	StoreID     string                   `json:"store_id"`
	OK          bool                     `json:"ok"`
	Reason      Reason                   `json:"reason,omitempty"`
	Explain     string                   `json:"explain,omitempty"`
	Schema      int                      `json:"schema,omitempty"`
	Own         bool                     `json:"own_tables"`
	Contracts   int64                    `json:"contracts"`
	Events      int64                    `json:"events"`
	States      map[core.State]int64     `json:"states,omitempty"`
	NotTaken    int64                    `json:"not_taken_over"` // written by another program since
	Quarantined []core.QuarantinedRecord `json:"quarantined,omitempty"`
}

// Verify checks a store or a copy of one completely and changes nothing: a
// store of an older schema is not migrated. It is strict: one flawed record
// is enough to refuse, with that record's class, and a file that is not a store
// yet is ErrEmpty. The error is nil exactly if
// the report is OK; progress may be nil.
func Verify(ctx context.Context, o Options, progress func(done, total int)) (Report, error) {
	r := Report{Path: o.Path, StoreID: o.StoreID}
	err := r.verify(ctx, o, progress)
	r.OK = err == nil
	if err != nil {
		r.Reason, r.Explain = ReasonOf(err), err.Error()
		if r.Reason != "" {
			r.Explain = explain(r.Reason)
		}
		var refusal *Refusal
		if errors.As(err, &refusal) {
			r.Explain = refusal.Explain
		}
	}
	return r, err
}

func (r *Report) verify(ctx context.Context, o Options, progress func(done, total int)) error {
	if err := o.check(); err != nil {
		return err
	}
	exists, size, err := checkPath(o.Path)
	switch {
	case err != nil:
		return err
	case !exists:
		return ErrMissing
	case size == 0:
		return ErrEmpty
	}
	o.Progress = progress
	f, err := newStore(o).inspect(ctx, o, true)
	r.take(f)
	switch {
	case err != nil:
		return err
	case f.blank: // tables were never made, or their transaction was undone
		return ErrEmpty
	}
	if len(f.flaws) > 0 {
		return refuse(f.flaws[0].Reason)
	}
	return nil
}

func (r *Report) take(f findings) {
	r.Schema, r.Own = f.schema, f.own
	r.Contracts, r.Events, r.NotTaken = f.contracts, f.events, f.behind
	r.States = f.states
	for _, flaw := range f.flaws {
		r.Quarantined = append(r.Quarantined, core.QuarantinedRecord{ContractID: flaw.ContractID,
			Reason: string(flaw.Reason), Explain: explain(flaw.Reason)})
	}
}
