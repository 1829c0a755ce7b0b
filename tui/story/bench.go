package story

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/exec"
	"time"

	"countersign/core"
)

// Parts is what main wires for a demo: real parts in one folder, and the
// simulator. Open and Close may alternate.
type Parts interface {
	// Open opens store, keys and lock and starts an engine over them.
	Open(ctx context.Context) (*core.Engine, core.StartReport, error)
	// Close ends the engine and releases everything but the simulator.
	Close() error
	// Child is a command that executes a contract with KillingSender as its
	// sender, over the same store.
	Child(ctx context.Context, contractID string) (*exec.Cmd, error)
	StorePath() string
	// OffHost is the authority that signs on another machine.
	OffHost() core.Authority
	Operator() (name string, passphrase []byte)
	Simulator() Simulator
	Clock() *Clock
	// Remove closes the simulator and deletes the folder.
	Remove() error
}

// Simulator is the appliance behind a bench.
type Simulator interface {
	Sends() int
	AliasDescription(alias string) string
	EditAlias(alias, description string)
	// EditAliasAfterReadings edits once that many more readings of the
	// aliases have been answered.
	EditAliasAfterReadings(readings int, alias, description string)
	LoseNextAnswer()
}

// lab is a Bench over Parts.
type lab struct {
	Parts
	Simulator
	engine *core.Engine
}

// NewBench opens parts as a bench.
func NewBench(ctx context.Context, p Parts) (Bench, error) {
	b := &lab{Parts: p, Simulator: p.Simulator()}
	if _, err := b.reopen(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *lab) reopen(ctx context.Context) (core.StartReport, error) {
	engine, report, err := b.Parts.Open(ctx)
	b.engine = engine
	return report, err
}

// Engine is the present engine.
func (b *lab) Engine() *core.Engine { return b.engine }

// ExecuteAndDie closes, lets another process die over the contract, reopens.
func (b *lab) ExecuteAndDie(ctx context.Context, contractID string) (core.StartReport, error) {
	return b.between(ctx, func() error {
		child, err := b.Child(ctx, contractID)
		if err != nil {
			return err
		}
		return waitForDeath(child)
	})
}

// FlipRecordByte closes, tampers, reopens.
func (b *lab) FlipRecordByte(ctx context.Context, contractID string) (core.StartReport, error) {
	return b.between(ctx, func() error { return tamperWith(b.StorePath(), contractID) })
}

// SignOffHost signs like `countersign sign` does on another machine.
func (b *lab) SignOffHost(d core.Draft) (core.Authorization, error) {
	id, err := core.NewIdentifier(rand.Reader, "authz")
	if err != nil {
		return core.Authorization{}, err
	}
	signer, now := b.OffHost(), b.Clock().Now()
	a := core.Authorization{AuthorizationID: id, AuthorityID: signer.ID(), Algorithm: signer.Algorithm(core.ProofAuthorization),
		StepID: core.PlanStep, PlanDigest: d.PlanDigest, ExecutionIntentDigest: d.ExecutionIntentDigest,
		ApplianceDigest: d.ApplianceDigest, IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute)}
	payload, err := a.SigningPayload()
	if err != nil {
		return a, err
	}
	a.Proof, err = signer.Sign(core.ProofAuthorization, payload)
	return a, err
}

func (b *lab) between(ctx context.Context, do func() error) (core.StartReport, error) {
	if err := b.Parts.Close(); err != nil {
		return core.StartReport{}, fmt.Errorf("closing: %w", err)
	}
	if err := do(); err != nil {
		return core.StartReport{}, err
	}
	return b.reopen(ctx)
}

// Reopen starts a new engine over the same store.
func (b *lab) Reopen(ctx context.Context) error {
	_, err := b.between(ctx, func() error { return nil })
	return err
}

// Elapse moves the clock.
func (b *lab) Elapse(d time.Duration) { b.Clock().Shift(d) }

// Close releases everything.
func (b *lab) Close() error {
	if err := b.Parts.Close(); err != nil {
		return err
	}
	return b.Parts.Remove()
}
