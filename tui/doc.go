// Package tui is the root of the console: one bubbletea program that routes
// between the screens of views, handles the keys that work everywhere, lays
// out head, body and foot, and calls the engine.
//
//   - A screen returns an intent; the router acts on it (route.go) and calls
//     the engine in a command (commands.go). The answer comes back as a message
//     and is given to every open screen.
//   - Runs belong to the engine. A command only starts one, and the program only
//     observes it (progress.go). Leaving the console never ends a run.
//   - State changes are called under a context that no key press can cancel.
//   - The program owns its signals (signals.go): after the first, no new step
//     starts, and the step in flight is finished and recorded.
package tui
