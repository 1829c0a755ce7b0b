package views

import "countersign/core"

// Intent is what a screen wants from the router. A screen returns it from
// Update; the router acts at once, so a key typed right behind it already
// reaches the next screen.
type Intent interface{ intent() }

// Navigation: what to show.
type (
	// Back leaves the screen.
	Back struct{}
	// OpenContract shows a contract's detail.
	OpenContract struct{ ID string }
	// StartChange begins a new change.
	StartChange struct{}
	// OpenAuthorize reviews a draft and asks for gate one.
	OpenAuthorize struct{ Draft core.Draft }
	// OpenConfirm shows gate two.
	OpenConfirm struct{ ID string }
	// OpenExecution shows a contract's run; Ready means it waits for the
	// operator's key to send.
	OpenExecution struct {
		ID    string
		Ready bool
	}
	// OpenRollback, OpenDecline, OpenReconcile and OpenLoad show those gates.
	OpenRollback  struct{ ID string }
	OpenDecline   struct{ Detail core.Detail }
	OpenReconcile struct{ ID string }
	OpenLoad      struct{ Detail core.Detail }
	// OpenHealth, OpenInbox, OpenHelp and OpenPalette show those screens.
	OpenHealth  struct{}
	OpenInbox   struct{}
	OpenHelp    struct{}
	OpenPalette struct{}
	// OpenPractice shows the demo's page of faults.
	OpenPractice struct{}
	// ShowList goes to one of the three lists.
	ShowList struct{ List core.ListName }
	// PressKey is a key chosen from the palette, for the screen below it.
	PressKey struct{ Key string }
	// Leave ends the program, with a question when something is in flight.
	Leave struct{}
	// LeaveNow ends it after that question.
	LeaveNow struct{}
)

// Readings: what to fetch. Each is answered by the message of its name.
type (
	// NeedPage asks for a page of a list: PageRead.
	NeedPage struct {
		List  core.ListName
		After string
		Limit int
	}
	// NeedDetail asks for a contract: DetailRead.
	NeedDetail struct{ ID string }
	// NeedTargets asks for the targets of a capability: TargetsRead.
	NeedTargets struct{ Endpoint string }
	// NeedForm asks what to fill in for a target: FormRead.
	NeedForm struct {
		Endpoint string
		Target   core.Target
	}
	// NeedDraft asks to prepare a change, which only reads: DraftPrepared.
	NeedDraft struct {
		Endpoint   string
		Fields     core.Object
		RequestKey string
	}
	// NeedReview asks for what gate two shows, read afresh: ReviewRead.
	NeedReview struct{ ID string }
	// NeedRollbackPreview asks for a fresh comparison: ComparisonRead.
	NeedRollbackPreview struct{ ID string }
	// NeedComparison asks for a fresh comparison: ComparisonRead.
	NeedComparison struct{ ID string }
	// NeedInbox asks for the waiting artifacts: InboxRead.
	NeedInbox struct{}
	// NeedHealth asks for the store's and the appliance's health: HealthRead.
	NeedHealth struct{}
	// Refresh probes the appliance again: HeaderRead.
	Refresh struct{}
	// Copy puts text on the terminal's clipboard.
	Copy struct{ What, Text string }
	// Say shows a notice.
	Say struct{ Notice Notice }
	// ExportAuthorization, ExportConfirmation and ExportConclusion ask for a
	// request that can be signed elsewhere: Exported.
	ExportAuthorization struct{ Draft core.Draft }
	ExportConfirmation  struct{ ID string }
	ExportConclusion    struct {
		ID      string
		Outcome core.Outcome
		Seen    core.Comparison
	}
	// NeedFaults asks what can be armed: FaultsRead. ArmFault and ClearFaults
	// arm one and take all back, and are answered in the same way.
	NeedFaults  struct{}
	ArmFault    struct{ Name string }
	ClearFaults struct{}
	// SwitchOperator offers the next enrolled operator's name.
	SwitchOperator struct{}
)

// Decisions: what an operator agreed to. The passphrase belongs to whoever
// receives the intent, which overwrites it after use.
type (
	// AuthorizeDraft is gate one: Authorized.
	AuthorizeDraft struct {
		Draft      core.Draft
		Passphrase []byte
	}
	// UseArtifact is gate one with an artifact of the inbox: Authorized.
	UseArtifact struct {
		Draft         core.Draft
		Authorization core.Authorization
	}
	// ConfirmContract is gate two: Confirmed.
	ConfirmContract struct {
		ID, Typed  string
		Passphrase []byte
		Load       *core.Waiting // load it right after it is verified, besides this
	}
	// UseConfirmation is gate two with evidence of the inbox: Confirmed.
	UseConfirmation struct {
		ID, Typed string
		Evidence  core.ConfirmationEvidence
	}
	// UseConclusion records a conclusion signed elsewhere: Concluded.
	UseConclusion struct {
		ID       string
		Evidence core.ReconciliationEvidence
		Seen     core.Comparison
	}
	// SendNow starts a confirmed contract's execution: RunStarted.
	SendNow struct{ ID string }
	// RollBack starts a rollback: RunStarted.
	RollBack struct {
		ID         string
		Passphrase []byte
		Load       *core.Waiting // load the old state right after it is read back, besides this
	}
	// Conclude records a conclusion: Concluded.
	Conclude struct {
		ID         string
		Outcome    core.Outcome
		Seen       core.Comparison
		Passphrase []byte
	}
	// DeclineContract ends a PREPARED contract: Declined.
	DeclineContract struct {
		ID         string
		Passphrase []byte
	}
	// LoadChange asks the firewall to load what is stored: RunStarted.
	LoadChange struct {
		ID         string
		Passphrase []byte
		Shown      core.Waiting
	}
)

func (Back) intent()                {}
func (OpenContract) intent()        {}
func (StartChange) intent()         {}
func (OpenAuthorize) intent()       {}
func (OpenConfirm) intent()         {}
func (OpenExecution) intent()       {}
func (OpenRollback) intent()        {}
func (OpenDecline) intent()         {}
func (OpenReconcile) intent()       {}
func (OpenLoad) intent()            {}
func (OpenHealth) intent()          {}
func (OpenInbox) intent()           {}
func (OpenHelp) intent()            {}
func (OpenPalette) intent()         {}
func (OpenPractice) intent()        {}
func (NeedFaults) intent()          {}
func (ArmFault) intent()            {}
func (ClearFaults) intent()         {}
func (ShowList) intent()            {}
func (PressKey) intent()            {}
func (Leave) intent()               {}
func (LeaveNow) intent()            {}
func (NeedPage) intent()            {}
func (NeedDetail) intent()          {}
func (NeedTargets) intent()         {}
func (NeedForm) intent()            {}
func (NeedDraft) intent()           {}
func (NeedReview) intent()          {}
func (NeedRollbackPreview) intent() {}
func (NeedComparison) intent()      {}
func (NeedInbox) intent()           {}
func (NeedHealth) intent()          {}
func (Refresh) intent()             {}
func (Copy) intent()                {}
func (Say) intent()                 {}
func (SwitchOperator) intent()      {}
func (AuthorizeDraft) intent()      {}
func (UseArtifact) intent()         {}
func (ConfirmContract) intent()     {}
func (SendNow) intent()             {}
func (RollBack) intent()            {}
func (Conclude) intent()            {}
func (DeclineContract) intent()     {}
func (LoadChange) intent()          {}
func (ExportAuthorization) intent() {}
func (ExportConfirmation) intent()  {}
func (ExportConclusion) intent()    {}
func (UseConfirmation) intent()     {}
func (UseConclusion) intent()       {}
