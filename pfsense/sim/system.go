package sim

import (
	"net/http"
)

// specialEndpoint answers the endpoints that are not about stored objects.
func (s *session) specialEndpoint(d *dict, c controls) (func() (*result, *apiError), bool) {
	name := s.ep.model.name
	if group, ok := applyGroup(name); ok {
		return func() (*result, *apiError) {
			if s.req.method == http.MethodGet {
				return &result{data: s.applyStatus(group)}, nil
			}
			data, err := s.applyNow(group, c.async)
			return &result{data: data}, err
		}, true
	}
	switch name {
	case "SystemStatus", "SystemVersion", "RESTAPIVersion", "reading":
		return s.reading, true
	case "RESTAPIJWT":
		return func() (*result, *apiError) {
			token := s.srv.token(32) + "." + s.srv.token(64) + "." + s.srv.token(43)
			s.srv.state.mu.Lock()
			s.srv.state.tokens[token] = s.client.user
			s.srv.state.mu.Unlock()
			return &result{data: newDict("token", token)}, nil
		}, true
	case "schema":
		return s.schema, true
	case "package":
		return func() (*result, *apiError) {
			return nil, fail("MODEL_MISSING_REQUIRED_PACKAGE", "The requested action requires the `%s` package but it is not installed.", s.ep.model.verbose)
		}, true
	case "ConfigHistoryRevision":
		if len(s.srv.state.revisions()) == 0 && s.ep.many {
			return func() (*result, *apiError) { return nil, s.profile.noHistory(s.ep) }, true
		}
	}
	return nil, false
}

// reading answers with readings of the machine, which are data and not configuration.
func (s *session) reading() (*result, *apiError) {
	if s.req.method != http.MethodGet {
		return nil, fail("RESTAPI_VERSION_INSTALLATION_FAILED", "Failed to install the requested version.")
	}
	v, ok := s.srv.readings.get(s.ep.url)
	if !ok {
		return nil, fail("ENDPOINT_UNAVAILABLE", "This resource is either not installed or is currently updating. Please try again later.")
	}
	return &result{data: v}, nil
}

// schema answers without login with which endpoints the box has.
func (s *session) schema() (*result, *apiError) {
	paths := newDict()
	for _, url := range s.profile.tables.urls() {
		methods := newDict()
		for _, m := range s.profile.tables.endpoints[url].methods {
			methods.set(lower(m), newDict("operationId", lower(m)+url))
		}
		paths.set(url, methods)
	}
	version := "v" + s.profile.name
	doc := newDict("openapi", "3.0.0", "servers", []any{newDict("url", "/")},
		"info", newDict("title", "pfSense REST API Documentation", "version", version),
		"components", newDict(), "security", []any{}, "paths", paths, "tags", []any{})
	kind := "application/json"
	if s.ep.url != "/api/v2/schema/openapi" {
		kind = "text/plain;charset=UTF-8"
		doc = newDict("version", version, "endpoints", paths, "models", newDict())
	}
	return &result{raw: encodeJSON(doc), contentType: kind}, nil
}

// addExtraEndpoints adds what the field tables do not list: readings, the schema, and resources of optional packages.
func (t *tables) addExtraEndpoints(p *profile) {
	add := func(url, kind, verbose string, open bool) {
		full := "/api/v2/" + url
		e := &endpoint{url: full, model: &model{name: kind, verbose: verbose}, methods: []string{http.MethodGet}, open: open}
		t.endpoints[full] = e
	}
	add("routing/gateways", "reading", "", false)
	add("interfaces", "reading", "", false)
	add("services/haproxy/settings", "package", "pfSense-pkg-haproxy", false)
	add("services/bind/settings", "package", "pfSense-pkg-bind", false)
	add("schema/openapi", "schema", "", true)
	add("schema/graphql", "schema", "", true)
	if !p.noNativeSchema {
		add("schema/native", "schema", "", true)
	}
}
