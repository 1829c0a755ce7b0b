package views

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"countersign/core"
)

// scene is one screen in one state, and the reason why it is looked at.
type scene struct {
	name, reason string
	notice       Notice
	frame        func(*Frame) *Frame // nil: an executor
	build        func(*Frame) Screen
}

// told gives a screen what happened, one message after the other.
func told(s Screen, messages ...tea.Msg) Screen {
	s.SetSize(80, 17)
	for _, m := range messages {
		s.Update(m)
	}
	return s
}

func typed(text string) []tea.Msg {
	var out []tea.Msg
	for _, r := range text {
		out = append(out, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return out
}

var enter = tea.KeyMsg{Type: tea.KeyEnter}

// scenes is every screen, in every state that matters.
func scenes() []scene {
	all := append(listScreens(), contractScreens()...)
	all = append(all, openingScreens()...)
	all = append(all, gateScreens()...)
	return append(all, otherScreens()...)
}

// starting is the header of a console that is being opened.
func starting(note string) func(*Frame) *Frame {
	return func(f *Frame) *Frame {
		f.Header = core.Header{Appliance: "fw1.example.net", Mode: core.ModeStarting, StoreNote: note, Closed: "still starting"}
		return f
	}
}

func openingScreens() []scene {
	return []scene{
		{name: "opening", reason: "the first frame, before anything is known of the store", frame: starting(ScanNote(0, 0)),
			build: func(f *Frame) Screen { return told(NewOpening(f)) }},
		{name: "opening_scan", reason: "the verified scan says how far it is; nothing but help and leaving works",
			frame: starting(ScanNote(12_000, 100_000)),
			build: func(f *Frame) Screen { return told(NewOpening(f), Scanned{12_000, 100_000}) }},
		{name: "opening_refused", reason: "a console that cannot be opened says why, and the way on", frame: func(f *Frame) *Frame { f = starting("")(f); f.Header = NotOpen(f.Header); return f },
			build: func(f *Frame) Screen {
				return told(NewOpening(f), Scanned{500, 100_000}, OpenFailed{advisedError{"the keyring is locked; unlock it and try again"}})
			}},
	}
}

// advisedError is an error of another package that brings its way on along.
type advisedError struct{ text string }

func (e advisedError) Error() string { return e.text }
func (advisedError) WayOn() string {
	return "run `countersign doctor` to see which part does not answer"
}

func listWith(f *Frame, rows []core.Row, more ...tea.Msg) Screen {
	l := NewList(f)
	_, _ = l.Init()
	return told(l, append([]tea.Msg{PageRead{List: l.list, Page: core.Page{List: l.list, Rows: rows}}}, more...)...)
}

func listScreens() []scene {
	return []scene{
		{name: "list", reason: "every state as a mark and a word; what needs a person comes first",
			build: func(f *Frame) Screen { return listWith(f, testRows()) }},
		{name: "list_empty", reason: "an empty store says how to begin",
			frame: func(f *Frame) *Frame { f.Header.Counts = core.Counts{}; return f },
			build: func(f *Frame) Screen { return listWith(f, nil) }},
		{name: "list_reading", reason: "an opened console before any page has arrived",
			build: func(f *Frame) Screen { l := NewList(f); _, _ = l.Init(); return told(l) }},
		{name: "list_observer", reason: "an observer sees who holds the executor, and no key that changes anything",
			frame: observing, build: func(f *Frame) Screen { return listWith(f, testRows()[:3]) }},
		{name: "list_broken", reason: "a store and an anchor that are not in order cannot be overlooked",
			frame: func(f *Frame) *Frame {
				f.Header.StoreOK, f.Header.StoreNote = false, "disk full"
				f.Header.AnchorOK, f.Header.AnchorNote = false, "this database is older than its anchor"
				f.Header.Counts.Quarantined, f.Header.Closed = 1, "the store cannot be used: disk full"
				return f
			},
			build: func(f *Frame) Screen { return listWith(f, testRows()[3:6]) }},
		{name: "list_filter", reason: "the filter shows what is typed and how much was looked through",
			build: func(f *Frame) Screen {
				rows := testRows()
				page := PageRead{List: core.ListNeedsYou, Page: core.Page{Rows: rows}}
				msgs := []tea.Msg{tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'/'}}}
				for _, k := range typed("web") {
					msgs = append(msgs, k, page)
				}
				return listWith(f, rows, msgs...)
			}},
		{name: "list_banner", reason: "the demo's only secret is on the first screen",
			frame: func(f *Frame) *Frame { f.Banner = "demo: the passphrase of jo is correct horse"; return f },
			build: func(f *Frame) Screen { return listWith(f, testRows()[:2]) }},
	}
}

func detailOf(f *Frame, d core.Detail, more ...tea.Msg) Screen {
	return told(NewDetail(f, testID), append([]tea.Msg{DetailRead{ID: testID, Detail: d}}, more...)...)
}

func contractScreens() []scene {
	return []scene{
		{name: "detail_prepared", reason: "what it changes, what it binds, and what can be done now",
			build: func(f *Frame) Screen { return detailOf(f, testDetail(core.Prepared)) }},
		{name: "detail_timeline", reason: "the lower half: the verified history with boundary and failure",
			build: func(f *Frame) Screen {
				d := testDetail(core.Reconciliation)
				d.Row.SettleUntil = testNow.Add(161 * time.Second)
				return detailOf(f, d, tea.KeyMsg{Type: tea.KeyEnd})
			}},
		{name: "detail_rollback_failed", reason: "a final state says what the owner can do",
			build: func(f *Frame) Screen {
				return detailOf(f, testDetail(core.RollbackFailed))
			}},
		{name: "detail_expired", reason: "an expired contract says that it still blocks, and whose decision that is",
			build: func(f *Frame) Screen {
				d := testDetail(core.Prepared)
				d.Row.ExpiresAt = testNow.Add(-time.Minute)
				for i := range d.Actions {
					d.Actions[i].Reason = "the window is closed; releasing it is the owner's decision"
				}
				return detailOf(f, d)
			}},
		{name: "detail_unreadable", reason: "artifacts that cannot be opened are said to be so",
			build: func(f *Frame) Screen {
				d := testDetail(core.Prepared)
				d.Changes, d.Unreadable = nil, "the key of its artifacts is missing"
				return detailOf(f, d)
			}},
		{name: "detail_loads", reason: "stored and loaded are two facts",
			build: func(f *Frame) Screen {
				d := testDetail(core.Verified)
				d.Row.Loads, d.Row.Load = core.Firewall, core.LoadUnknown
				d.Loads = []core.LoadRecord{{Claim: core.LoadAsked, At: testNow, Actor: "jo"}, {Claim: core.LoadUnknown, At: testNow.Add(3 * time.Second)}}
				d.Looks = []core.Look{{Found: core.LookedSame, Neighbours: 2, At: testNow.Add(2 * time.Second)}}
				return detailOf(f, d, tea.KeyMsg{Type: tea.KeyEnd})
			}},
		{name: "detail_refused", reason: "a contract that cannot be read says why and what to do",
			build: func(f *Frame) Screen {
				return told(NewDetail(f, testID), DetailRead{ID: testID, Err: core.ErrQuarantined})
			}},
		{name: "execute_ready", reason: "between confirming and sending: nothing has been sent, one key sends",
			build: func(f *Frame) Screen {
				return told(NewExecution(f, testID, true), DetailRead{ID: testID, Detail: testDetail(core.Prepared)})
			}},
		{name: "execute_ready_loading", reason: "what was agreed to besides the change is said once more",
			build: func(f *Frame) Screen {
				d := testDetail(core.Prepared)
				d.Row.Loads, d.Row.Load = core.Firewall, core.LoadAgreed
				return told(NewExecution(f, testID, true), DetailRead{ID: testID, Detail: d})
			}},
		{name: "execute_sending", reason: "the request is out: nothing is sent again, leaving is safe",
			build: func(f *Frame) Screen {
				return told(NewExecution(f, testID, false), Progressed{testProgress(core.StepSend, core.Forward)})
			}},
		{name: "execute_verified", reason: "how a run ends when all is well",
			build: func(f *Frame) Screen {
				d := testDetail(core.Verified)
				return told(NewExecution(f, testID, false), Progressed{testEnded(core.Verified, "sent once, read back and verified")},
					DetailRead{ID: testID, Detail: d})
			}},
		{name: "execute_loaded", reason: "what was agreed to with the change follows it, as a step and a fact of its own",
			build: func(f *Frame) Screen {
				d := testDetail(core.Verified)
				d.Row.Loads, d.Row.Load = core.Firewall, core.LoadClaimed
				p := testEnded(core.Verified, "sent once, read back and verified; the firewall says that it is loaded")
				p.Steps = append(p.Steps, core.StepProgress{Name: core.StepAskLoad, Status: core.StepDone, Took: 2 * time.Second})
				return told(NewExecution(f, testID, false), Progressed{p}, DetailRead{ID: testID, Detail: d})
			}},
		{name: "execute_not_loaded", reason: "verified and not loaded: what is known and the way on",
			build: func(f *Frame) Screen {
				d := testDetail(core.Verified)
				d.Row.Loads, d.Row.Load = core.Firewall, core.LoadUnknown
				d.Actions = append(d.Actions, core.Action{Name: core.ActLoad})
				p := testEnded(core.Verified, "sent once, read back and verified; whether it is loaded is not known")
				p.Steps = append(p.Steps, core.StepProgress{Name: core.StepAskLoad, Status: core.StepStopped, Took: 31 * time.Second,
					Detail: "whether it is loaded is not known"})
				return told(NewExecution(f, testID, false), Progressed{p}, DetailRead{ID: testID, Detail: d})
			}},
		{name: "execute_ambiguous", reason: "how a run ends when the answer is lost: what to do now",
			build: func(f *Frame) Screen {
				p := testProgress(core.StepSend, core.Forward)
				p.Steps[5].Status, p.Steps[5].Took = core.StepStopped, 31*time.Second
				p.Steps[6].Status, p.Steps[7].Status = core.StepSkipped, core.StepSkipped
				p.Done, p.Final, p.Sentence = true, core.Reconciliation, "the outcome is not proven; a person must conclude from the evidence"
				p.Warning = "something else changed while this was sent: office_nets"
				d := testDetail(core.Reconciliation)
				return told(NewExecution(f, testID, false), Progressed{p}, DetailRead{ID: testID, Detail: d})
			}},
		{name: "execute_refused", reason: "a run that was not started says that nothing was sent",
			build: func(f *Frame) Screen {
				return told(NewExecution(f, testID, true), DetailRead{ID: testID, Detail: testDetail(core.Prepared)},
					enter, RunStarted{ID: testID, Err: core.ErrSettling})
			}},
		{name: "rolling_back", reason: "a rollback is watched like any run, with its own state on disk",
			build: func(f *Frame) Screen {
				return told(NewExecution(f, testID, false), Progressed{testProgress(core.StepReadBack, core.Backward)})
			}},
		{name: "loading", reason: "asking to load has no steps, only an answer",
			build: func(f *Frame) Screen {
				return told(NewExecution(f, testID, false), Progressed{core.Progress{ContractID: testID, StartedAt: testNow.Add(-time.Second),
					Sentence: "asking the firewall to load what is stored"}})
			}},
	}
}

func confirmOf(f *Frame, r core.Review, more ...tea.Msg) Screen {
	return told(NewConfirm(f, testID), append([]tea.Msg{ReviewRead{ID: testID, Review: r}}, more...)...)
}

func loadedReview() core.Review {
	r := testReview()
	r.Row.Loads = core.Firewall
	r.Contract.EndpointSymbol, r.WayBack = "FIREWALL_ALIAS_ENTRIES", "all entries are written back as they were, in their order"
	const field = "entries"
	r.Changes = []core.Change{{Field: field, Before: "192.0.2.12 standby", Member: true}, {Field: field, After: "192.0.2.66 web4", Member: true}}
	return r
}

func reconcileOf(f *Frame, c core.Comparison, more ...tea.Msg) Screen {
	return told(NewReconcile(f, testID), append([]tea.Msg{ComparisonRead{ID: testID, Comparison: c}}, more...)...)
}

func gateScreens() []scene {
	return []scene{
		{name: "authorize", reason: "gate one: the exact difference; nothing is sent yet",
			build: func(f *Frame) Screen { return told(NewAuthorize(f, testDraft())) }},
		{name: "authorize_inbox", reason: "an artifact that fits this draft is offered",
			build: func(f *Frame) Screen {
				d := testDraft()
				return told(NewAuthorize(f, d), InboxRead{Files: []core.InboxFile{{Kind: core.ProofAuthorization,
					Authorization: core.Authorization{AuthorityID: "owner", ExecutionIntentDigest: d.ExecutionIntentDigest, PlanDigest: d.PlanDigest}}}})
			}},
		{name: "authorize_settling", reason: "while an ambiguous send may still write, nothing new is authorized, and the time left is on every screen",
			frame: func(f *Frame) *Frame { f.Header.SettleUntil = testNow.Add(161 * time.Second); return f },
			build: func(f *Frame) Screen { return told(NewAuthorize(f, testDraft())) }},
		{name: "confirm", reason: "gate two: all that is agreed to, and the name to type",
			build: func(f *Frame) Screen { return confirmOf(f, testReview(), typed("web_serv")...) }},
		{name: "confirm_passphrase", reason: "the second question; neither the passphrase nor its length is shown",
			notice: Refused(core.ErrWrongPassphrase),
			build: func(f *Frame) Screen {
				return confirmOf(f, testReview(), append(append(typed("web_servers"), enter), typed("secret")...)...)
			}},
		{name: "confirm_drift", reason: "what would be refused cannot be confirmed",
			build: func(f *Frame) Screen {
				r := testReview()
				r.Drift = "the target has changed on the firewall"
				return confirmOf(f, r)
			}},
		{name: "confirm_long", reason: "what does not fit must be scrolled to its end before anything can be typed",
			build: func(f *Frame) Screen {
				r := testReview()
				for range 12 {
					r.Changes = append(r.Changes, testChanges()...)
				}
				r.Waiting.Names = []string{"rule 1700000042", "alias office_nets"}
				r.Row.Loads = core.Firewall
				return confirmOf(f, r)
			}},
		{name: "confirm_loading", reason: "one confirmation covers the change and its loading, where nothing else would be loaded",
			build: func(f *Frame) Screen { return confirmOf(f, loadedReview()) }},
		{name: "confirm_loading_left_out", reason: "loading can be left out, and is then a step of its own",
			build: func(f *Frame) Screen { return confirmOf(f, loadedReview(), tea.KeyMsg{Type: tea.KeyCtrlL}) }},
		{name: "rollback_loading", reason: "a rollback can be loaded with the same passphrase",
			build: func(f *Frame) Screen {
				c := testComparison(core.Executing)
				c.NowIntended, c.Fields[1].Now, c.Loads = true, "Public web, new DC (CHG-1042)", core.Firewall
				return told(NewRollback(f, testID), ComparisonRead{ID: testID, Comparison: c})
			}},
		{name: "rollback", reason: "a rollback shows what is there and what will be",
			build: func(f *Frame) Screen {
				c := testComparison(core.Executing)
				c.NowIntended, c.Fields[1].Now = true, "Public web, new DC (CHG-1042)"
				return told(NewRollback(f, testID), ComparisonRead{ID: testID, Comparison: c})
			}},
		{name: "rollback_conflict", reason: "a rollback that could only fail is not offered",
			build: func(f *Frame) Screen {
				return told(NewRollback(f, testID), ComparisonRead{ID: testID, Comparison: testComparison(core.Executing)})
			}},
		{name: "decline", reason: "declining says what it leads to",
			build: func(f *Frame) Screen { return told(NewDecline(f, testDetail(core.Prepared))) }},
		{name: "load", reason: "other people's unloaded changes are shown before loading is agreed to",
			build: func(f *Frame) Screen {
				r := testReview()
				r.Waiting.Names = []string{"rule 1700000042"}
				d := testDetail(core.Verified)
				d.Row.Loads = core.Firewall
				return told(NewLoad(f, d), ReviewRead{ID: testID, Review: r})
			}},
		{name: "reconcile", reason: "three columns, the boundary, the countdown, and only conclusions that hold",
			build: func(f *Frame) Screen { return reconcileOf(f, testComparison(core.Executing)) }},
		{name: "reconcile_rollback", reason: "a doubtful rollback can be resumed with one further send",
			build: func(f *Frame) Screen {
				c := testComparison(core.RollingBack)
				c.Boundary, c.Failure = core.DuringRollback, core.FailureTimeout
				c.Offers[2].Reason = ""
				return reconcileOf(f, c, tea.KeyMsg{Type: tea.KeyUp})
			}},
		{name: "reconcile_sign", reason: "the chosen conclusion says what it records before it is signed",
			build: func(f *Frame) Screen {
				c := testComparison(core.Executing)
				c.Offers[0].Reason = ""
				return reconcileOf(f, c, tea.KeyMsg{Type: tea.KeyUp}, tea.KeyMsg{Type: tea.KeyUp}, enter)
			}},
		{name: "reconcile_gone", reason: "a target that cannot be found is said to be gone, and nothing is guessed",
			build: func(f *Frame) Screen {
				c := testComparison(core.Executing)
				c.Problem, c.Fingerprint = "the target does not exist on the firewall", ""
				for i := range c.Fields {
					c.Fields[i].Now, c.Fields[i].Differs = "?", true
				}
				return reconcileOf(f, c)
			}},
	}
}

func preparing(f *Frame, more ...tea.Msg) Screen {
	specs := []core.Spec{testDraft().Spec, {Title: "rule on or off", Method: "PATCH", EndpointSymbol: "FIREWALL_RULE", Noun: "rule", Loads: core.Firewall}}
	return told(NewPrepare(f, specs, "request-1"), more...)
}

func testTargets() []core.Target {
	return []core.Target{{Label: "web_servers", Summary: "host, 3 addresses", Fields: core.Object{"alias_name": "web_servers"}},
		{Label: "feed", Summary: "urltable", Refused: "the API cannot change an alias of type urltable; use the firewall's own page"}}
}

func otherScreens() []scene {
	endpoint := testDraft().Spec.EndpointSymbol
	fields := []core.Field{{Name: "description", Label: "Description", Kind: core.TextField, Help: "may be empty; 1024 bytes at most", Current: "Public web, old DC"}}
	return []scene{
		{name: "prepare_kind", reason: "the kinds of change this build can make",
			build: func(f *Frame) Screen { return preparing(f) }},
		{name: "prepare_targets", reason: "targets are read live; one that cannot be changed says why",
			build: func(f *Frame) Screen {
				return preparing(f, enter, TargetsRead{Endpoint: endpoint, Targets: testTargets()}, tea.KeyMsg{Type: tea.KeyDown})
			}},
		{name: "prepare_form", reason: "the form starts from the present value",
			build: func(f *Frame) Screen {
				return preparing(f, enter, TargetsRead{Endpoint: endpoint, Targets: testTargets()}, enter, FormRead{Endpoint: endpoint, Fields: fields})
			}},
		{name: "prepare_unreachable", reason: "a firewall that cannot be read: one line what, one line what to do",
			notice: Refused(core.ErrAppliance),
			build: func(f *Frame) Screen {
				return preparing(f, enter, TargetsRead{Endpoint: endpoint, Err: core.ErrAppliance})
			}},
		{name: "health", reason: "everything the console depends on, in one place",
			build: func(f *Frame) Screen {
				return told(NewHealth(f), HealthRead{Store: core.StoreHealth{Path: "store.db", StoreID: "tier1-production-anchor", Schema: 8,
					Verified: testNow, Contracts: 6, Events: 21, Mark: 118}, Status: core.ApplianceStatus{ReadOnlyKnown: true,
					Pending: map[core.Subsystem][]string{core.Firewall: {"rules"}}, Warnings: []string{"the certificate ends in 9 days"}}})
			}},
		{name: "inbox", reason: "each artifact says what it is for, and whether it is still good",
			build: func(f *Frame) Screen {
				a := core.Authorization{AuthorizationID: "authz-1", AuthorityID: "owner", Algorithm: "ed25519",
					ExecutionIntentDigest: digest("execution intent"), ExpiresAt: testNow.Add(50 * time.Minute)}
				return told(NewInbox(f), InboxRead{Files: []core.InboxFile{
					{Name: "chg-1042.json", Kind: core.ProofAuthorization, Authorization: a},
					{Name: "chg-0991.json", Kind: core.ProofAuthorization, Authorization: a, Used: true, ContractID: testID},
					{Name: "notes.txt", Problem: "this is no signed artifact"}}})
			}},
		{name: "help", reason: "every key, and why it is closed",
			build: func(f *Frame) Screen {
				d := detailOf(f, testDetail(core.Verified))
				return told(NewHelp(f, d.Keys(), d.Situation()))
			}},
		{name: "palette", reason: "commands by name, from the same bindings",
			build: func(f *Frame) Screen {
				l := listWith(f, testRows())
				return told(NewPalette(f, l.Keys(), l.Situation()))
			}},
		{name: "practice", reason: "what can go wrong at a simulated firewall, and what is armed",
			frame: func(f *Frame) *Frame { f.Practice, f.Armed = true, []string{"commit-then-drop"}; return f },
			build: func(f *Frame) Screen {
				return told(NewPractice(f), FaultsRead{Faults: []PracticeFault{
					{Name: "commit-then-drop", Explain: "done; the connection is closed without an answer", Armed: true},
					{Name: "late-write", Explain: "no answer; the change is written 45 seconds later, over everything since"},
					{Name: "edit-now", Explain: "somebody edits the description of web_servers, at once"}}}, tea.KeyMsg{Type: tea.KeyDown})
			}},
		{name: "practice_armed", reason: "what is armed is on every screen, and the palette leads to it where it exists",
			frame: func(f *Frame) *Frame { f.Practice, f.Armed = true, []string{"late-write", "refuse"}; return f },
			build: func(f *Frame) Screen {
				p := NewPalette(f, nil, Situation{})
				return told(p, typed("fau")...)
			}},
		{name: "leaving", reason: "leaving while something is in flight asks, with another key than the one that asked",
			build: func(f *Frame) Screen { return told(NewLeaving(f, 1)) }},
	}
}

// at renders a screen as the router would, at a size.
func (s scene) at(o ThemeOptions, width, height int) string {
	f := testFrame(o)
	if s.frame != nil {
		f = s.frame(f)
	}
	screen := s.build(f)
	screen.SetSize(width, BodyHeight(f, screen, s.notice, width, height))
	return Compose(f, screen, s.notice, width, height)
}
