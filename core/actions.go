package core

// actions lists what can be done with a contract in its state, each with the
// reason why not now.
func (e *Engine) actions(d Detail) []Action {
	closed := e.Header().Closed
	if d.Unreadable != "" {
		closed = "the protected artifacts cannot be opened"
	}
	var out []Action
	add := func(name ActionName, reason string) {
		if closed != "" {
			reason = closed
		}
		out = append(out, Action{Name: name, Reason: reason})
	}
	now, c := e.p.Clock.Now(), d.Contract
	switch c.State {
	case Prepared:
		expired := ""
		if c.ExpiredAt(now) {
			expired = "the window is closed; releasing it is the owner's decision"
		}
		if c.Confirmed() {
			add(ActExecute, firstOf(expired, neverSent(d.Row), e.settling()))
		} else {
			add(ActConfirm, expired)
		}
		add(ActDecline, expired)
	case Verified:
		add(ActRollback, e.settling())
	case Reconciliation:
		add(ActReconcile, "")
	}
	if loads := d.Row.Loads; loads != LoadsAtOnce && (c.State == Verified || c.State == RolledBack) {
		add(ActLoad, e.settling())
	}
	return out
}

// neverSent says why a confirmed contract is not sent at any time, or "".
func neverSent(r Row) string {
	if r.Attributed {
		return attributedWords()
	}
	return ""
}

func firstOf(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}
