package sim

import (
	"net/http"
	"strconv"
	"strings"
)

// request is what reached PHP.
type request struct {
	method string
	path   string // clean path of the endpoint
	query  string
	header http.Header
	body   []byte
	client string // address of the peer
	local  string // address it reached us on
}

// answer is what goes back to the web server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// session is one request's run in PHP: its private copy of the configuration and who asked.
type session struct {
	srv     *Server
	profile *profile
	cfg     *dict
	client  client
	req     *request
	ep      *endpoint
	faults  []*armed
	wrote   bool     // the configuration was written, so a PHP session was opened
	changed bool     // and the stored state was replaced
	broken  *fatal   // PHP died while writing
	later   []func() // jobs that start when the answer is ready
}

type client struct {
	user      string
	ip        string
	rights    map[string]bool
	denyWrite bool
}

func (s *session) unix() int64 { return s.srv.clock.Now().Unix() }

// handle runs the request: every check in the package's order, the work, and the encoding of the answer.
func (s *session) handle() answer {
	data, err := s.process()
	if s.broken != nil {
		return answer{status: http.StatusInternalServerError, header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}}, body: []byte(s.broken.text)}
	}
	if err == nil && s.binary() {
		err = fail("BINARY_CONTENT_HANDLER_RESOURCE_NOT_SUPPORTED", "The requested resource cannot be encoded as a binary file.")
	}
	a := s.encode(data, err)
	for _, job := range s.later {
		job()
	}
	return a
}

func (s *session) process() (*result, *apiError) {
	checks := []func() *apiError{s.checkAvailable, s.checkEnabled, s.checkInterface, s.checkLogin, s.checkPrivilege,
		s.checkACL, s.checkAccept, s.checkMethod, s.checkReadOnly}
	if s.ep.open {
		return s.schema()
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return nil, err
		}
	}
	data, err := s.decode()
	if err != nil {
		return nil, err
	}
	return s.dispatchMethod(data)
}

func (s *session) checkAvailable() *apiError {
	if s.srv.state.condition().PackageUpdating || s.fault(Unavailable) != nil {
		return fail("ENDPOINT_UNAVAILABLE", "This resource is either not installed or is currently updating. Please try again later.")
	}
	return nil
}

func (s *session) checkEnabled() *apiError {
	if s.settings().text("enabled") == "enabled" {
		return nil
	}
	e := fail("ENDPOINT_REST_API_IS_NOT_ENABLED", "The REST API is currently not enabled.")
	e.retryAfter = 5
	return e
}

const adminPolicy = "The requested action is not allowed by admin policy"

func (s *session) checkInterface() *apiError {
	allowed := splitList(s.settings().text("allowed_interfaces"))
	if len(allowed) == 0 {
		return nil
	}
	for _, id := range allowed {
		if id == s.arrivedOn() {
			return nil
		}
	}
	return fail("ENDPOINT_INTERFACE_NOT_ALLOWED", adminPolicy)
}

// arrivedOn is the interface whose address the request reached.
func (s *session) arrivedOn() string {
	for _, id := range s.interfaces().keys {
		if subDict(s.interfaces(), id).text("ipaddr") == s.req.local {
			return id
		}
	}
	return "lo0"
}

func (s *session) checkPrivilege() *apiError {
	switch s.req.method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return nil // no right is needed for a method that nothing supports
	}
	wanted := s.ep.privileges[lower(s.req.method)]
	if wanted == nil {
		wanted = []string{"page-all", privilegeName(s.ep.url, s.req.method)}
	}
	for _, p := range wanted {
		if s.client.rights[p] {
			return nil
		}
	}
	return fail("AUTH_AUTHORIZATION_FAILED", "Authorization failed. You do not have sufficient privileges to access this resource.")
}

// privilegeName is the right to use a method of an endpoint: /firewall/alias, PATCH: api-v2-firewall-alias-patch.
func privilegeName(url, method string) string {
	name := strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(url, "/"))
	return name + "-" + lower(method)
}

func (s *session) checkACL() *apiError {
	if s.req.method == http.MethodOptions {
		return s.profile.optionsACL(s.ep)
	}
	if s.allowedByACL() {
		return nil
	}
	return fail("ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL", adminPolicy)
}

func (s *session) accept() string {
	kind, _, _ := strings.Cut(lower(s.req.header.Get("Accept")), ";")
	return kind
}

func (s *session) binary() bool { return s.accept() == "application/octet-stream" }

// checkAccept compares the whole header: a list of types is one unknown type.
func (s *session) checkAccept() *apiError {
	switch kind := s.accept(); kind {
	case "", "*/*", "application/json", "application/octet-stream":
		return nil
	case "application/x-www-form-urlencoded":
		return fail("CONTENT_HANDLER_CANNOT_ENCODE_CONTENT", "Content handler `%s` cannot format a response as it does not support content encoding. Change the value of your `Accept` header to a valid option and try again.", kind)
	default:
		return fail("CONTENT_HANDLER_ENCODE_NOT_FOUND", "No content handler exists for `%s`. Change the value of your `Accept` header to a valid option and try again.", kind)
	}
}

func (s *session) checkMethod() *apiError {
	if s.ep.supports(s.req.method) {
		return nil
	}
	return fail("ENDPOINT_METHOD_NOT_ALLOWED", "Resource at %s does not support the requested HTTP method `%s`", s.ep.url, s.req.method)
}

func (s *session) checkReadOnly() *apiError {
	if s.req.method == http.MethodGet || s.settings().text("read_only") != "enabled" {
		return nil
	}
	return fail("ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE",
		"Resource at %s cannot support the requested HTTP method `%s` because the REST API is currently in read-only mode.", s.ep.url, s.req.method)
}

// encode makes the envelope and the headers that belong to it.
func (s *session) encode(r *result, err *apiError) answer {
	a := answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}}
	env := newDict("code", int64(http.StatusOK), "status", "ok", "response_id", "SUCCESS", "message", "", "data", []any{})
	if err != nil {
		a.status = err.status
		env.set("code", int64(err.status))
		env.set("status", statusText(err.status))
		env.set("response_id", err.id)
		env.set("message", err.message)
		if err.retryAfter > 0 {
			a.header.Set("Retry-After", strconv.Itoa(err.retryAfter))
		}
		if err.basic {
			a.header.Set("WWW-Authenticate", `Basic realm="Login for pfSense REST API"`)
		}
	} else {
		env.set("data", r.data)
	}
	if s.hateoas() {
		env.set("_links", []any{})
		if r != nil && r.links != nil {
			env.set("_links", r.links)
		}
	}
	if r != nil && r.raw != nil {
		a.header.Set("Content-Type", r.contentType)
		a.header.Set("Referer", "no-referrer")
		a.body = r.raw
		return a
	}
	if s.wrote {
		a.header.Set("Set-Cookie", "PHPSESSID="+s.srv.token(26)+"; path=/")
		a.header.Set("Expires", "Thu, 19 Nov 1981 08:52:00 GMT")
		a.header.Set("Cache-Control", "no-store, no-cache, must-revalidate")
		a.header.Set("Pragma", "no-cache")
	}
	a.body = append(encodeJSON(env), '\n')
	return a
}
