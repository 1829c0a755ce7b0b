package pfsense

import "countersign/core"

// shape is what every capability shares: its facts, and how its request,
// identity and intent are made of one another.
type shape struct {
	spec core.Spec
	// resource is the identity of a settings object, of which there is one.
	resource string
	// identity names the request members that are the natural identity.
	identity []string
	// values names the request members that are the new values, each with
	// its name in the intent.
	values []value
}

type value struct{ request, intent string }

// plain are values that have the same name in request and intent.
func plain(names ...string) []value {
	out := make([]value, len(names))
	for i, name := range names {
		out[i] = value{name, name}
	}
	return out
}

// Spec returns the capability's facts.
func (s shape) Spec() core.Spec { return s.spec }

// Identity gives the natural identity that a request names.
func (s shape) Identity(r core.Request) core.Object {
	if s.resource != "" {
		return core.Object{"resource": s.resource}
	}
	return pick(r.Fields, s.identity...)
}

// Intent gives the members that a request adds to an intent.
func (s shape) Intent(r core.Request) core.Object {
	out := make(core.Object, len(s.values))
	for _, v := range s.values {
		out[v.intent] = r.Fields[v.request]
	}
	return out
}

// restore rebuilds a request's members from a protected intent, which must be
// exactly what core builds from Intent and Identity.
func (s shape) restore(intent core.Object) (core.Object, error) {
	names := []string{"operation", "raw_target_hint", "appliance_target_digest"}
	for _, v := range s.values {
		names = append(names, v.intent)
	}
	if err := exactly(intent, names...); err != nil {
		return nil, err
	}
	if intent["operation"] != s.spec.SemanticUnit {
		return nil, refuse(core.ErrRequest, "the intent is one of another change")
	}
	hint, _ := intent["raw_target_hint"].(core.Object)
	if err := s.checkIdentity(hint); err != nil {
		return nil, err
	}
	fields := pick(hint, s.identity...)
	for _, v := range s.values {
		fields[v.request] = intent[v.intent]
	}
	return fields, nil
}

// checkIdentity refuses an identity that is not one of this capability.
func (s shape) checkIdentity(identity core.Object) error {
	if s.resource != "" {
		if len(identity) == 1 && identity["resource"] == s.resource {
			return nil
		}
		return refuse(core.ErrTargetUnsupported, "this is the identity of another resource")
	}
	if exactly(identity, s.identity...) != nil {
		return refuse(core.ErrTargetUnsupported, "this is the identity of another kind of object")
	}
	return nil
}

// memberNames are a request's members, identity first.
func (s shape) memberNames() []string {
	names := append([]string{}, s.identity...)
	for _, v := range s.values {
		names = append(names, v.request)
	}
	return names
}
