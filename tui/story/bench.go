package story

import (
	"context"
	"fmt"
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
	// Die runs a contract in another process, which is killed between the
	// durable acquisition and the send.
	Die(ctx context.Context, contractID string) error
	// Tamper changes one byte of a stored record.
	Tamper(ctx context.Context, contractID string) error
	SignOffHost(d core.Draft) (core.Authorization, error)
	Operator() (name string, passphrase []byte)
	Simulator() Simulator
	// Shift moves the clock of everything but the simulator.
	Shift(d time.Duration)
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
	return b.between(ctx, func() error { return b.Parts.Die(ctx, contractID) })
}

// FlipRecordByte closes, tampers, reopens.
func (b *lab) FlipRecordByte(ctx context.Context, contractID string) (core.StartReport, error) {
	return b.between(ctx, func() error { return b.Parts.Tamper(ctx, contractID) })
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
func (b *lab) Elapse(d time.Duration) { b.Parts.Shift(d) }

// Close releases everything.
func (b *lab) Close() error {
	if err := b.Parts.Close(); err != nil {
		return err
	}
	return b.Parts.Remove()
}
