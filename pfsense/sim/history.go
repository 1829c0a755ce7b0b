package sim

import "strconv"

// historyHooks: the configuration history lists earlier configurations, newest first. Deleting says 200 and leaves the
// entry listed.
func historyHooks() hooks {
	return hooks{
		rows:   func(o *object) []any { return o.s.srv.state.revisions() },
		remove: func(*object) *apiError { return nil },
	}
}

// revision is the entry that the history keeps of a configuration that is about to be replaced.
func revision(cfg *dict) *dict {
	r := subDict(cfg, "revision")
	return newDict("time", r.text("time"), "description", r.text("description"), "version", cfg.text("version"), "filesize", "0")
}

// stamp notes who changed the configuration and how.
func (s *session) stamp(note string) {
	who := s.client.user + "@" + s.client.ip
	s.cfg.set("revision", newDict("time", strconv.FormatInt(s.unix(), 10), "description", who+":  "+note, "username", who))
}
