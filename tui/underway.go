package tui

import "sync"

// underWay counts the calls that the program must not end without. Once it has
// been waited for, none begins any more.
type underWay struct {
	mu    sync.Mutex
	over  bool
	calls sync.WaitGroup
}

// begin counts a call, which then must end; false means that it is too late.
func (u *underWay) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return false
	}
	u.calls.Add(1)
	return true
}

func (u *underWay) end() { u.calls.Done() }

// wait returns when every call has ended.
func (u *underWay) wait() {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	u.calls.Wait()
}
