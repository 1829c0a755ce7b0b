package core

import (
	"errors"
	"strings"
)

// stepTracker turns the run's course into Progress snapshots.
type stepTracker struct {
	clock    Clock
	watch    func(Progress)
	progress Progress
	current  int // index into progress.Steps, -1 before the first
}

func newStepTracker(contractID string, dir Direction, clock Clock, watch func(Progress)) *stepTracker {
	t := &stepTracker{clock: clock, watch: watch, current: -1}
	t.progress = Progress{ContractID: contractID, Direction: dir, StartedAt: clock.Now()}
	for _, name := range Steps() {
		t.progress.Steps = append(t.progress.Steps, StepProgress{Name: name})
	}
	return t
}

func (t *stepTracker) begin(name StepName) {
	now := t.clock.Now()
	t.end(StepDone)
	for i := range t.progress.Steps {
		if t.progress.Steps[i].Name == name {
			t.current = i
			t.progress.Steps[i].Status = StepRunning
			t.progress.Steps[i].StartedAt = now
		}
	}
	t.publish()
}

func (t *stepTracker) end(status StepStatus) {
	if t.current < 0 {
		return
	}
	s := &t.progress.Steps[t.current]
	if s.Status == StepRunning {
		s.Status = status
		s.Took = t.clock.Now().Sub(s.StartedAt)
	}
}

// note adds a value-free detail to the running step.
func (t *stepTracker) note(detail string) { t.progress.Steps[t.current].Detail = detail }

// warn names neighbours that changed while this was sent.
func (t *stepTracker) warn(changed []string) {
	if len(changed) > 0 {
		t.progress.Warning = "something else changed while this was sent: " + strings.Join(changed, ", ")
	}
}

// stop marks the running step as the one where the run ended.
func (t *stepTracker) stop() {
	t.end(StepStopped)
	t.publish()
}

func (t *stepTracker) finish(c Contract, err error) {
	if err != nil {
		t.end(StepStopped)
	} else {
		t.end(StepDone)
	}
	for i := range t.progress.Steps {
		if t.progress.Steps[i].Status == StepWaiting {
			t.progress.Steps[i].Status = StepSkipped
		}
	}
	t.progress.Done, t.progress.Final, t.progress.Err = true, c.State, err
	t.progress.Sentence = finalSentence(c, err)
	t.publish()
}

func (t *stepTracker) publish() {
	if t.watch == nil {
		return
	}
	snapshot := t.progress
	snapshot.Steps = append([]StepProgress(nil), t.progress.Steps...)
	t.watch(snapshot)
}

// finalSentence says what happened and what to do now.
func finalSentence(c Contract, err error) string {
	switch {
	case errors.Is(err, ErrStoreUncertain):
		return "the result could not be written down and is not known yet; the next start reconciles, nothing is sent again"
	case errors.Is(err, ErrAttributed):
		return "nothing was sent now; whether an earlier request left is not known"
	case err != nil:
		return "nothing was sent"
	}
	switch c.State {
	case Verified:
		return "sent once, read back and verified"
	case RolledBack:
		return "rolled back: the old value was read back"
	case Failed:
		return "not changed: this is proven; a fresh attempt may be made"
	case RollbackFailed:
		return "not rolled back: this is proven; the target stays reserved until the owner decides"
	case Reconciliation:
		return "the outcome is not proven; a person must conclude from the evidence"
	}
	return ""
}
