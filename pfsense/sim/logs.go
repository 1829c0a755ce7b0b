package sim

// logHooks: some log settings are rules of the packet filter, so changing them reloads it.
func logHooks() hooks {
	return hooks{afterUpdate: func(o *object) *apiError {
		for _, name := range []string{"nologdefaultblock", "nologdefaultpass", "nologbogons", "nologprivatenets"} {
			if !same(o.vals[name], o.initial[name]) {
				return o.s.dispatch("firewall", o.async)
			}
		}
		return nil
	}}
}
