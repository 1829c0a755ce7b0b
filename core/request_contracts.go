package core

import "fmt"

// RequestVersion numbers the request contracts of prepare requests: how a
// request's members are parsed and what they mean. Released versions never
// change (seed 001, step 2).
type RequestVersion int

// The request contracts. Version 2 lets a caller agree to loading in the same
// request; version 1 never loaded.
const (
	RequestV1             RequestVersion = 1
	RequestV2             RequestVersion = 2
	CurrentRequestVersion                = RequestV2
)

// requestSpec parses one version.
type requestSpec struct{ fields []string }

func requestContract(v RequestVersion) (requestSpec, bool) {
	switch v {
	case RequestV1:
		return requestSpec{[]string{"appliance_target_digest", "endpoint_symbol", "request"}}, true
	case RequestV2:
		return requestSpec{[]string{"appliance_target_digest", "endpoint_symbol", "load_after", "request"}}, true
	}
	return requestSpec{}, false
}

// parse checks a request's members and their types under its own version.
func (s requestSpec) parse(o Object) (Object, error) {
	if !hasExactly(o, s.fields) {
		return nil, fmt.Errorf("%w: members of the request contract", ErrRequest)
	}
	for name, v := range o {
		var ok bool
		switch name {
		case "request":
			_, ok = v.(Object)
		case "load_after":
			_, ok = v.(bool)
		default:
			_, ok = v.(string)
		}
		if !ok {
			return nil, fmt.Errorf("%w: %s of the request contract", ErrRequest, name)
		}
	}
	return o, nil
}

// requestOf is a draft as the newest request contract says it.
func requestOf(d Draft) Object {
	return Object{
		"appliance_target_digest": d.ApplianceDigest.String(),
		"endpoint_symbol":         d.Spec.EndpointSymbol,
		"load_after":              d.LoadAfter,
		"request":                 Object(d.Request.Fields),
	}
}

// mapRequest carries a parsed request into another version's domain, value by
// value. What the other version could not say is refused, never dropped.
func mapRequest(o Object, from, to RequestVersion) (Object, error) {
	switch {
	case from == to:
		return o, nil
	case from == RequestV2 && to == RequestV1:
		if o["load_after"] != false {
			return nil, fmt.Errorf("%w: version 1 never loads", ErrRetryUnrepresentable)
		}
		return Object{"appliance_target_digest": o["appliance_target_digest"],
			"endpoint_symbol": o["endpoint_symbol"], "request": o["request"]}, nil
	case from == RequestV1 && to == RequestV2:
		// The version-pinned default: a version-1 request never loads.
		return Object{"appliance_target_digest": o["appliance_target_digest"],
			"endpoint_symbol": o["endpoint_symbol"], "load_after": false, "request": o["request"]}, nil
	}
	return nil, ErrRetryUnknownVersion
}
