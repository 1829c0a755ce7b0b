package sim

// hooks are the rules that are peculiar to one model. A nil entry means the general way.
type hooks struct {
	rows         func(*object) []any
	validate     func(*object) *apiError
	beforeCreate func(*object)
	create       func(*object) *apiError
	update       func(*object) *apiError
	remove       func(*object) *apiError
	afterCreate  func(*object) *apiError
	afterUpdate  func(*object) *apiError
	afterRemove  func(*object) *apiError
}

func hooksOf(model string) hooks {
	switch model {
	case "FirewallAlias":
		return aliasHooks()
	case "FirewallRule":
		return ruleHooks()
	case "PortForward":
		return portForwardHooks()
	case "StaticRoute":
		return staticRouteHooks()
	case "DHCPServerStaticMapping":
		return mappingHooks()
	case "NTPSettings":
		return ntpSettingsHooks()
	case "NTPTimeServer":
		return timeServerHooks()
	case "LogSettings":
		return logHooks()
	case "RESTAPIKey":
		return keyHooks()
	case "ConfigHistoryRevision":
		return historyHooks()
	}
	return hooks{}
}

func (o *object) specialRows() ([]any, bool) {
	if h := hooksOf(o.m.name); h.rows != nil {
		return h.rows(o), true
	}
	return nil, false
}

func (o *object) validateSpecial() *apiError { return runHook(hooksOf(o.m.name).validate, o) }
func (o *object) afterCreate() *apiError     { return runHook(hooksOf(o.m.name).afterCreate, o) }
func (o *object) afterUpdate() *apiError     { return runHook(hooksOf(o.m.name).afterUpdate, o) }
func (o *object) afterRemove() *apiError     { return runHook(hooksOf(o.m.name).afterRemove, o) }

func (o *object) beforeCreate() {
	if h := hooksOf(o.m.name); h.beforeCreate != nil {
		h.beforeCreate(o)
	}
}

func (o *object) createSpecial() (bool, *apiError) { return replaceStep(hooksOf(o.m.name).create, o) }
func (o *object) updateSpecial() (bool, *apiError) { return replaceStep(hooksOf(o.m.name).update, o) }
func (o *object) removeSpecial() (bool, *apiError) { return replaceStep(hooksOf(o.m.name).remove, o) }

func runHook(h func(*object) *apiError, o *object) *apiError {
	if h == nil {
		return nil
	}
	return h(o)
}

func replaceStep(h func(*object) *apiError, o *object) (bool, *apiError) {
	if h == nil {
		return false, nil
	}
	return true, h(o)
}

// each runs a check on every text of a field, as the package does for lists and single values.
func (o *object) each(name string, check func(string) *apiError) *apiError {
	values, isList := o.vals[name].([]any)
	if !isList {
		values = []any{o.vals[name]}
	}
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		if err := check(text); err != nil {
			return err
		}
	}
	return nil
}

func (o *object) text(name string) string {
	s, _ := o.vals[name].(string)
	return s
}

func (o *object) count(name string) int {
	v, _ := o.vals[name].([]any)
	return len(v)
}
