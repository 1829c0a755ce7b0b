package sim

import (
	"sync"
	"time"
)

// settingsPath is where the REST API package keeps its own settings.
const settingsPath = "installedpackages/package/0/conf"

// state is what the appliance keeps between requests: the stored configuration, what is loaded of it, and its marks.
type state struct {
	mu      sync.Mutex
	stored  *dict
	loaded  map[string]*dict // by subsystem group
	dirty   map[string]bool
	history []any // earlier configurations, newest first

	locked  bool // the write lock file exists
	jobs    map[string]int
	running map[string]*sync.Mutex // one reload of a group at a time

	conditions Conditions
	tokens     map[string]string // JWT to user
}

// Conditions are troubles of the appliance that last until they are taken back.
type Conditions struct {
	PackageUpdating bool          // endpoint files are missing: 503 ENDPOINT_UNAVAILABLE
	PHPDown         bool          // no PHP process: 502 HTML
	NotReloaded     bool          // package installed, web GUI not reloaded: 301 and 405 HTML
	RulesDoNotLoad  bool          // the packet filter rejects the generated rules
	NeverLoads      bool          // reloads are reported as done and are not done
	SpawnFails      bool          // no background process can be started
	ReloadTime      time.Duration // how long a reload of any subsystem takes
	WriteTime       time.Duration // how long writing the configuration holds the lock
}

// groups maps the marks of subsystems to the group that one reload serves.
var groups = map[string][]string{
	"firewall": {"aliases", "natconf", "filter", "shaper"},
	"dns":      {"unbound"},
	"routing":  {"staticroutes"},
	"dhcp":     {"dhcpd"},
}

func newState(cfg *dict) *state {
	st := &state{stored: cfg, loaded: map[string]*dict{}, dirty: map[string]bool{}, jobs: map[string]int{},
		running: map[string]*sync.Mutex{}, tokens: map[string]string{}}
	for g := range groups {
		st.loaded[g] = cfg
		st.running[g] = &sync.Mutex{}
	}
	return st
}

func (st *state) snapshot() *dict {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.stored
}

func (st *state) revisions() []any {
	st.mu.Lock()
	defer st.mu.Unlock()
	return append([]any{}, st.history...)
}

func (st *state) markDirty(subsystem string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.dirty[subsystem] = true
}

func (st *state) clearDirty(subsystems ...string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, s := range subsystems {
		delete(st.dirty, s)
	}
}

func (st *state) pending(group string) []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	var out []string
	for _, s := range groups[group] {
		if st.dirty[s] {
			out = append(out, s)
		}
	}
	return out
}

func (st *state) condition() Conditions {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.conditions
}

// commit puts a configuration in the place of the stored one and keeps the old one's revision.
func (st *state) commit(cfg *dict) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.history = append([]any{revision(st.stored)}, st.history...)
	st.stored = settle(cfg).(*dict)
}

// tryLock takes the write lock if it is free.
func (st *state) tryLock() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.locked {
		return false
	}
	st.locked = true
	return true
}

func (st *state) setLock(held bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.locked = held
}

const lockAttempts = 61 // one a second

// write waits for the lock and puts the session's whole copy of the configuration back.
func (s *session) write(m *model, note string) *apiError {
	s.reachedWrite()
	st := s.srv.state
	if f := s.fault(WriteLock); f != nil {
		_ = s.sleep(f.delay(lockAttempts * time.Second))
		return lockedError()
	}
	for attempt := 0; !st.tryLock(); attempt++ {
		if attempt == lockAttempts || s.sleep(time.Second) != nil {
			return lockedError()
		}
	}
	_ = s.sleep(st.condition().WriteTime)
	s.wrote = true
	s.stamp(note)
	if hasControl(s.cfg) && s.profile.brokenText {
		s.broken = &fatal{"PHP ERROR: Type: 64, File: /etc/inc/xmlparse.inc, Line: 91, Message: Uncaught Exception: XML error: Invalid character at line 1"}
		return nil
	}
	defer st.setLock(false)
	switch {
	case s.client.denyWrite || s.fault(NoEffect) != nil:
	case hasControl(s.cfg): // the file does not parse: the last backup is put back
	default:
		s.srv.commit(s)
	}
	if m.dirty != "" {
		st.markDirty(m.dirty)
	}
	return nil
}

func lockedError() *apiError {
	e := fail("MODEL_WRITE_CONFIG_LOCKED", "Failed to write to the configuration file after multiple attempts.")
	e.retryAfter = 5
	return e
}

// sleep waits on the appliance's clock; it ends early only when the simulator is closed.
func (s *session) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.srv.clock.Sleep(s.srv.ctx, d)
}
