package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// stopped: a signal came, or the caller's context ended.
type stopped struct{}

// Run shows the console on the alternate screen until the operator leaves, a
// signal comes or ctx ends. Afterwards it waits, still under its own signals,
// until every decision and run under way has ended and is recorded. Where the
// console could not be opened, it returns why once the operator has seen it.
func Run(ctx context.Context, opts Options) error {
	ctx, release := Signals(ctx)
	defer release()
	m := New(opts)
	programOptions := []tea.ProgramOption{tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithOutput(m.opts.Output)}
	if opts.Input != nil {
		programOptions = append(programOptions, tea.WithInput(opts.Input))
	}
	p := tea.NewProgram(m, programOptions...)
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			p.Send(stopped{})
		case <-ended:
		}
	}()
	_, err := p.Run()
	close(ended)
	m.cancel()
	m.unsubscribe()
	m.underWay.wait()
	if opts.Wait != nil {
		opts.Wait()
	}
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return m.failure
}
