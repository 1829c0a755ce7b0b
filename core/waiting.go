package core

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"countersign/canon"
)

// Waiting is what is stored on the appliance and would be loaded by one
// subsystem, as far as it can be known (design section 4, rule 7). The
// appliance flags some kinds of change by a name, and rules never; of our own
// changes the store knows.
type Waiting struct {
	Names  []string
	Unread bool // the appliance did not say
}

// digest stands for what was shown, in any order; "" for nothing.
func (w Waiting) digest() string {
	if len(w.Names) == 0 && !w.Unread {
		return ""
	}
	parts := slices.Sorted(slices.Values(w.Names))
	if w.Unread {
		parts = append(parts, "", "unread")
	}
	return canon.Digest(sha256.Sum256([]byte(strings.Join(parts, "\x00")))).String()
}

// lines are the names as a signing request carries them.
func (w Waiting) lines() []string {
	if w.Unread {
		return append(slices.Clone(w.Names), "("+ErrWaitingUnread.Error()+")")
	}
	return w.Names
}

// covers reports whether nothing waits now that was not shown then.
func covers(shown string, now Waiting) bool {
	found := now.digest()
	return found == "" || found == shown
}

// beyond are the names that are neither in another Waiting nor marks.
func (w Waiting) beyond(other Waiting, marks []string) []string {
	return slices.DeleteFunc(slices.Clone(w.Names), func(name string) bool {
		return slices.Contains(other.Names, name) || slices.Contains(marks, name)
	})
}

// waiting reads what a subsystem would load besides the contract `except`.
// For a change that works at once it is all that is flagged anywhere.
func (e *Engine) waiting(ctx context.Context, s Subsystem, except string) (Waiting, error) {
	status, err := e.p.Reader.Status(ctx)
	if err != nil {
		return Waiting{}, err
	}
	return e.waitingIn(ctx, status, s, except)
}

func (e *Engine) waitingIn(ctx context.Context, status ApplianceStatus, s Subsystem, except string) (Waiting, error) {
	if s == LoadsAtOnce {
		var all []string
		for _, names := range status.Pending {
			all = append(all, names...)
		}
		slices.Sort(all)
		return Waiting{Names: all}, nil
	}
	names, known := status.Pending[s]
	own, err := e.unloaded(ctx, s, except)
	return Waiting{Names: slices.Concat(names, own), Unread: !known}, err
}

// unloadedSought is among how many of the newest contracts it is looked for
// changes of ours that were not loaded.
const unloadedSought = 200

// unloaded names the targets of our own changes that a subsystem has not
// claimed to have loaded since, and those that may be stored.
func (e *Engine) unloaded(ctx context.Context, s Subsystem, except string) ([]string, error) {
	page, err := e.p.Store.List(ctx, ListQuery{List: ListHistory, Limit: unloadedSought})
	if err != nil {
		return nil, err
	}
	var stored []ListItem
	var loaded time.Time // when the subsystem last claimed
	for _, item := range page.Items {
		capability, ok := e.p.Capabilities.Find(item.Contract.Binding())
		if !ok || capability.Spec().Loads != s {
			continue
		}
		if item.Load == LoadClaimed && item.LoadAt.After(loaded) {
			loaded = item.LoadAt
		}
		switch item.Contract.State {
		case Verified, RolledBack, Reconciliation, RollbackFailed:
			if item.Contract.ID != except {
				stored = append(stored, item)
			}
		}
	}
	var names []string
	for _, item := range stored {
		if item.UpdatedAt.After(loaded) {
			row := e.row(ctx, item)
			names = append(names, row.Noun+" "+row.Target)
		}
	}
	return names, nil
}
