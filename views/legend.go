package views

import "countersign/core"

// marks explains the states, so that a mark is never a riddle.
func (h *Help) marks(p *page) {
	for _, s := range core.States() {
		lead := "   " + h.Theme.StateStyle(s).Render(h.Theme.fit(h.Theme.StateMark(s)+" "+StateWord(s), 18))
		p.hanging(h.Theme.Dim, lead, "                     ", stateMeaning(s))
	}
	lead := "   " + h.Theme.Bad.Render(h.Theme.fit("# QUARANTINED", 18))
	p.hanging(h.Theme.Dim, lead, "                     ", "corrupt, foreign or replayed: shown, never acted on")
}

// stateMeaning says in one line what a state means for an operator.
func stateMeaning(s core.State) string {
	switch s {
	case core.Preparing:
		return "being created"
	case core.Prepared:
		return "created; nothing is sent before it is confirmed"
	case core.Executing:
		return "a request may be in flight"
	case core.Verified:
		return "sent once, read back, exactly as intended"
	case core.Failed:
		return "proven: nothing was changed; or given up; a fresh attempt may be made"
	case core.Reconciliation:
		return "the outcome is not proven; a person must conclude"
	case core.RollingBack:
		return "a rollback may be in flight"
	case core.RolledBack:
		return "the old state was read back"
	case core.RollbackFailed:
		return "proven: not rolled back; final, and keeps its reservation"
	case core.Expired:
		return "its window ended before anything was sent"
	}
	return "unknown to this build"
}
