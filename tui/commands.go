package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
	"countersign/views"
)

// answered is an engine call's result; it is counted until it is handled.
type answered struct{ msg tea.Msg }

// ask calls the engine for a reading, which the end of the program cancels.
func (m *Model) ask(call func(context.Context) tea.Msg) tea.Cmd {
	m.busy++
	return m.counted(func() tea.Msg { return answered{call(m.ctx)} })
}

// agree calls the engine for a decision, under a context that nothing
// cancels, and overwrites the passphrase afterwards.
func (m *Model) agree(passphrase []byte, call func(context.Context) tea.Msg) tea.Cmd {
	m.busy++
	decide := m.counted(func() tea.Msg { return answered{call(context.Background())} })
	return func() tea.Msg {
		defer clear(passphrase)
		return decide()
	}
}

// counted is a command that Run waits for, and that does nothing once Run has
// waited: bubbletea may start a command after the program has ended.
func (m *Model) counted(call tea.Cmd) tea.Cmd {
	return func() tea.Msg {
		if !m.underWay.begin() {
			return nil
		}
		defer m.underWay.end()
		return call()
	}
}

// read fetches what a screen needs; it reports whether that was wanted.
func (m *Model) read(intent views.Intent) (tea.Cmd, bool) {
	e := m.engine
	var call func(context.Context) tea.Msg
	switch i := intent.(type) {
	case views.NeedPage:
		call = func(ctx context.Context) tea.Msg {
			page, err := e.List(ctx, i.List, i.After, i.Limit)
			return views.PageRead{List: i.List, After: i.After, Page: page, Err: err}
		}
	case views.NeedDetail:
		call = func(ctx context.Context) tea.Msg {
			d, err := e.Detail(ctx, i.ID)
			return views.DetailRead{ID: i.ID, Detail: d, Err: err}
		}
	case views.NeedReview:
		call = func(ctx context.Context) tea.Msg {
			r, err := e.Review(ctx, i.ID)
			return views.ReviewRead{ID: i.ID, Review: r, Err: err}
		}
	case views.NeedRollbackPreview:
		call = func(ctx context.Context) tea.Msg {
			c, err := e.RollbackPreview(ctx, i.ID)
			return views.ComparisonRead{ID: i.ID, Comparison: c, Err: err}
		}
	case views.NeedComparison:
		call = func(ctx context.Context) tea.Msg {
			c, err := e.Observe(ctx, i.ID)
			return views.ComparisonRead{ID: i.ID, Comparison: c, Err: err}
		}
	default:
		return m.readMore(intent)
	}
	return m.ask(call), true
}

// readMore fetches what belongs to no contract yet.
func (m *Model) readMore(intent views.Intent) (tea.Cmd, bool) {
	e := m.engine
	var call func(context.Context) tea.Msg
	switch i := intent.(type) {
	case views.NeedTargets:
		call = func(ctx context.Context) tea.Msg {
			targets, err := e.Targets(ctx, i.Endpoint)
			return views.TargetsRead{Endpoint: i.Endpoint, Targets: targets, Err: err}
		}
	case views.NeedForm:
		call = func(ctx context.Context) tea.Msg {
			fields, err := e.Form(ctx, i.Endpoint, i.Target)
			return views.FormRead{Endpoint: i.Endpoint, Fields: fields, Err: err}
		}
	case views.NeedDraft:
		call = func(ctx context.Context) tea.Msg {
			d, err := e.Prepare(ctx, i.Endpoint, i.Fields, i.RequestKey)
			return views.DraftPrepared{Draft: d, Err: err}
		}
	case views.NeedInbox:
		call = func(ctx context.Context) tea.Msg {
			files, err := e.Inbox(ctx)
			return views.InboxRead{Files: files, Err: err}
		}
	case views.NeedHealth:
		call = func(ctx context.Context) tea.Msg {
			h, err := e.StoreHealth(ctx)
			return views.HealthRead{Store: h, Status: e.ApplianceStatus(), Err: err}
		}
	case views.Refresh:
		return m.probe(), true
	case views.Copy:
		return m.copyText(i), true
	default:
		return m.practise(intent)
	}
	return m.ask(call), true
}

// decide records what an operator agreed to, or starts a run.
func (m *Model) decide(intent views.Intent) tea.Cmd {
	e, who := m.engine, m.frame.Operator
	switch i := intent.(type) {
	case views.AuthorizeDraft:
		return m.agree(i.Passphrase, func(ctx context.Context) tea.Msg {
			id, err := e.Authorize(ctx, i.Draft, who, i.Passphrase)
			return views.Authorized{ID: id, Err: err}
		})
	case views.ConfirmContract:
		return m.agree(i.Passphrase, func(ctx context.Context) tea.Msg {
			if i.Load != nil {
				return views.Confirmed{ID: i.ID, Err: e.ConfirmAndLoad(ctx, i.ID, i.Typed, who, i.Passphrase, *i.Load)}
			}
			return views.Confirmed{ID: i.ID, Err: e.Confirm(ctx, i.ID, i.Typed, who, i.Passphrase)}
		})
	case views.DeclineContract:
		return m.agree(i.Passphrase, func(ctx context.Context) tea.Msg {
			return views.Declined{ID: i.ID, Err: e.Decline(ctx, i.ID, who, i.Passphrase)}
		})
	case views.Conclude:
		m.started(i.ID)
		return m.agree(i.Passphrase, func(ctx context.Context) tea.Msg {
			err := e.Reconcile(ctx, i.ID, i.Outcome, i.Seen, who, i.Passphrase)
			return views.Concluded{ID: i.ID, Outcome: i.Outcome, Err: err}
		})
	}
	return m.run(intent)
}

// run starts what the engine owns and finishes.
func (m *Model) run(intent views.Intent) tea.Cmd {
	e, who := m.engine, m.frame.Operator
	switch i := intent.(type) {
	case views.SendNow:
		m.started(i.ID)
		return m.agree(nil, func(ctx context.Context) tea.Msg {
			return views.RunStarted{ID: i.ID, Err: e.Execute(ctx, i.ID)}
		})
	case views.RollBack:
		m.started(i.ID)
		return m.agree(i.Passphrase, func(ctx context.Context) tea.Msg {
			if i.Load != nil {
				return views.RunStarted{ID: i.ID, Err: e.RollbackAndLoad(ctx, i.ID, who, i.Passphrase, *i.Load)}
			}
			return views.RunStarted{ID: i.ID, Err: e.Rollback(ctx, i.ID, who, i.Passphrase)}
		})
	case views.LoadChange:
		m.started(i.ID)
		return m.agree(i.Passphrase, func(ctx context.Context) tea.Msg {
			return views.RunStarted{ID: i.ID, Err: e.Load(ctx, i.ID, who, i.Passphrase, i.Shown)}
		})
	}
	return m.useSigned(intent)
}

// useSigned takes what was signed elsewhere.
func (m *Model) useSigned(intent views.Intent) tea.Cmd {
	e, who := m.engine, m.frame.Operator
	switch i := intent.(type) {
	case views.UseArtifact:
		return m.agree(nil, func(ctx context.Context) tea.Msg {
			id, err := e.AuthorizeFromInbox(ctx, i.Draft, i.Authorization, who)
			return views.Authorized{ID: id, Err: err}
		})
	case views.UseConfirmation:
		return m.agree(nil, func(ctx context.Context) tea.Msg {
			return views.Confirmed{ID: i.ID, Err: e.ConfirmWith(ctx, i.ID, i.Typed, i.Evidence)}
		})
	case views.UseConclusion:
		return m.agree(nil, func(ctx context.Context) tea.Msg {
			return views.Concluded{ID: i.ID, Outcome: i.Evidence.Outcome, Err: e.ReconcileWith(ctx, i.ID, i.Evidence, i.Seen)}
		})
	}
	return m.export(intent)
}

// export writes a request that is signed elsewhere.
func (m *Model) export(intent views.Intent) tea.Cmd {
	e := m.engine
	write := func(kind core.ProofKind, name string, call func(ctx context.Context, path string) error) tea.Cmd {
		path := m.opts.RequestPath(kind, name)
		return m.agree(nil, func(ctx context.Context) tea.Msg { return views.Exported{Path: path, Err: call(ctx, path)} })
	}
	switch i := intent.(type) {
	case views.ExportAuthorization:
		return write(core.ProofAuthorization, i.Draft.RequestKey, func(ctx context.Context, path string) error {
			return e.ExportAuthorizationRequest(ctx, i.Draft, path)
		})
	case views.ExportConfirmation:
		return write(core.ProofConfirmation, i.ID, func(ctx context.Context, path string) error {
			return e.ExportConfirmationRequest(ctx, i.ID, path)
		})
	case views.ExportConclusion:
		return write(core.ProofReconciliation, i.ID, func(ctx context.Context, path string) error {
			return e.ExportReconciliationRequest(ctx, i.ID, i.Outcome, i.Seen, path)
		})
	}
	return nil
}

// started remembers when a run was started here, so that an earlier run of the
// same contract is not taken for it.
func (m *Model) started(id string) { m.begun[id] = m.opts.Clock.Now() }

func (m *Model) readOperators() tea.Cmd {
	return m.ask(func(ctx context.Context) tea.Msg {
		names, err := m.engine.Operators(ctx)
		return views.OperatorsRead{Operators: names, Err: err}
	})
}

// probe asks the appliance, one question at a time.
func (m *Model) probe() tea.Cmd {
	if m.probing {
		return nil
	}
	m.probing = true
	return m.ask(func(ctx context.Context) tea.Msg {
		h, err := m.engine.Refresh(ctx)
		return views.HeaderRead{Header: h, Err: err}
	})
}
