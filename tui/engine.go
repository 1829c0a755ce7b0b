package tui

import (
	"context"

	"countersign/core"
)

// Engine is what the console drives: core.Engine, or a fake in tests. Errors
// wrap core's sentinels.
type Engine interface {
	Observer
	Gates
	OffHost
	Runs
}

// Observer only reads.
type Observer interface {
	// Header does no I/O; Refresh probes the appliance.
	Header() core.Header
	Refresh(context.Context) (core.Header, error)
	Capabilities() []core.Spec
	Operators(context.Context) ([]string, error)
	List(ctx context.Context, list core.ListName, after string, limit int) (core.Page, error)
	Detail(ctx context.Context, contractID string) (core.Detail, error)
	Targets(ctx context.Context, endpointSymbol string) ([]core.Target, error)
	Form(ctx context.Context, endpointSymbol string, t core.Target) ([]core.Field, error)
	Prepare(ctx context.Context, endpointSymbol string, fields core.Object, requestKey string) (core.Draft, error)
	Review(ctx context.Context, contractID string) (core.Review, error)
	RollbackPreview(ctx context.Context, contractID string) (core.Comparison, error)
	Observe(ctx context.Context, contractID string) (core.Comparison, error)
	Inbox(context.Context) ([]core.InboxFile, error)
	StoreHealth(context.Context) (core.StoreHealth, error)
	ApplianceStatus() core.ApplianceStatus
}

// Gates record what an operator agreed to.
type Gates interface {
	Authorize(ctx context.Context, d core.Draft, operator string, passphrase []byte) (contractID string, err error)
	Confirm(ctx context.Context, contractID, typedTarget, operator string, passphrase []byte) error
	ConfirmAndLoad(ctx context.Context, contractID, typedTarget, operator string, passphrase []byte, shown core.Waiting) error
	Decline(ctx context.Context, contractID, operator string, passphrase []byte) error
	Reconcile(ctx context.Context, contractID string, o core.Outcome, seen core.Comparison, operator string, passphrase []byte) error
}

// OffHost writes requests that are signed elsewhere, and takes what comes back.
type OffHost interface {
	ExportAuthorizationRequest(ctx context.Context, d core.Draft, path string) error
	ExportConfirmationRequest(ctx context.Context, contractID, path string) error
	ExportReconciliationRequest(ctx context.Context, contractID string, o core.Outcome, seen core.Comparison, path string) error
	AuthorizeFromInbox(ctx context.Context, d core.Draft, a core.Authorization, operator string) (contractID string, err error)
	ConfirmWith(ctx context.Context, contractID, typedTarget string, ev core.ConfirmationEvidence) error
	ReconcileWith(ctx context.Context, contractID string, ev core.ReconciliationEvidence, seen core.Comparison) error
}

// Runs start something that the engine owns and finishes.
type Runs interface {
	Execute(ctx context.Context, contractID string) error
	Rollback(ctx context.Context, contractID, operator string, passphrase []byte) error
	RollbackAndLoad(ctx context.Context, contractID, operator string, passphrase []byte, shown core.Waiting) error
	Load(ctx context.Context, contractID, operator string, passphrase []byte, shown core.Waiting) error
	Progress(contractID string) (core.Progress, bool)
	Subscribe() (<-chan core.Progress, func())
	InFlight() int
}

var _ Engine = (*core.Engine)(nil)
