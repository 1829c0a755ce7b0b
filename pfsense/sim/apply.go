package sim

// maxQueued is how many jobs of one kind may wait.
const maxQueued = 10

// dispatch starts a reload of a group: in this request, or as a job that runs when the answer is ready.
func (s *session) dispatch(group string, async bool) *apiError {
	st := s.srv.state
	if s.fault(QueueFull) != nil || !st.enqueue(group) {
		e := fail("DISPATCHER_TOO_MANY_QUEUED_PROCESSES", "Dispatcher allows for a maximum of `%d` processes to be queued at once, try again after `300` seconds.", maxQueued)
		e.retryAfter = 300
		return e
	}
	if s.fault(FailedDependency) != nil {
		st.dequeue(group)
		return fail("DISPATCHER_MISSING_REQUIRED_PACKAGE", "The requested action requires the `pfSense-pkg-acme` package but it is not installed.")
	}
	if async && st.condition().SpawnFails {
		st.dequeue(group)
		return fail("DISPATCHER_FAILED_TO_SPAWN_PROCESS", "Dispatcher `RESTAPI\\Dispatchers\\%s` failed to spawn new process. Received: ", dispatcherName(group))
	}
	never := s.fault(AppliedNotLoaded) != nil
	job := func() { s.srv.reload(group, never) }
	if !async {
		job()
		return nil
	}
	if st.condition().ReloadTime <= 0 {
		s.later = append(s.later, job)
	} else {
		s.srv.goRun(job)
	}
	return nil
}

func dispatcherName(group string) string {
	return map[string]string{"firewall": "Firewall", "dns": "DNSResolver", "routing": "Routing", "dhcp": "DHCPServer"}[group] + "ApplyDispatcher"
}

func (st *state) enqueue(group string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.jobs[group] >= maxQueued {
		return false
	}
	st.jobs[group]++
	return true
}

func (st *state) dequeue(group string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.jobs[group]--
}

// reload loads the stored configuration of a group, whatever else is in it. Marks set meanwhile are cleared too.
func (srv *Server) reload(group string, never bool) {
	st := srv.state
	defer st.dequeue(group)
	st.running[group].Lock()
	defer st.running[group].Unlock()
	cond := st.condition()
	cfg := st.snapshot()
	if err := srv.clock.Sleep(srv.ctx, cond.ReloadTime); err != nil {
		return
	}
	if cond.RulesDoNotLoad && group == "firewall" {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if !never && !cond.NeverLoads {
		st.loaded[group] = cfg
	}
	for _, s := range groups[group] {
		delete(st.dirty, s)
	}
}

// applyStatus is the object of the apply endpoints.
func (s *session) applyStatus(group string) *dict {
	pending := s.srv.state.pending(group)
	d := newDict("applied", len(pending) == 0)
	if group == "firewall" {
		names := []any{}
		for _, p := range pending {
			names = append(names, p)
		}
		d.set("pending_subsystems", names)
	}
	return d
}

func applyGroup(model string) (string, bool) {
	g, ok := map[string]string{"FirewallApply": "firewall", "DNSResolverApply": "dns", "RoutingApply": "routing", "DHCPServerApply": "dhcp"}[model]
	return g, ok
}

// applyNow answers POST on an apply endpoint. Only the firewall's answer to a synchronous call is the truth after the
// work; the others read their status first.
func (s *session) applyNow(group string, async bool) (*dict, *apiError) {
	before := s.applyStatus(group)
	if err := s.dispatch(group, async); err != nil {
		return nil, err
	}
	if group == "firewall" && !async {
		return s.applyStatus(group), nil
	}
	return before, nil
}
