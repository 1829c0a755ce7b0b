package command

import (
	"errors"

	"countersign/core"
)

// Parts are the real parts behind one engine, and how they are released.
type Parts struct {
	Engine *core.Engine
	closes []func() error
}

// Defer adds something to release at the end, before what was added earlier.
func (p *Parts) Defer(release func() error) { p.closes = append(p.closes, release) }

// Wait returns when nothing is under way any more.
func (p *Parts) Wait() {
	if p.Engine != nil {
		p.Engine.Wait()
	}
}

// Close waits for what is under way and releases in reverse order. It may be
// called more than once.
func (p *Parts) Close() error {
	p.Wait()
	var err error
	for i := len(p.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, p.closes[i]())
	}
	p.closes = nil
	return err
}
