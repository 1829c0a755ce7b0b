package sim

import (
	"crypto/subtle"
	"encoding/base64"
	"net/netip"
	"strings"
)

// User is somebody who may log in to the appliance. Privileges come from the configuration; the password and the key
// are kept beside it, because the configuration holds only their hashes.
type User struct {
	Name     string
	Password string
	APIKey   string
}

// checkLogin takes the first allowed method whose credential is present; a wrong one is fatal then.
func (s *session) checkLogin() *apiError {
	methods := s.ep.onlyAuth
	if len(methods) == 0 {
		methods = splitList(s.settings().text("auth_methods"))
	}
	checks := map[string]func() (user string, present bool){"BasicAuth": s.basicAuth, "JWTAuth": s.jwtAuth, "KeyAuth": s.keyAuth}
	for _, name := range methods {
		check, known := checks[name]
		if !known {
			return fail("AUTH_CLASS_DOES_NOT_EXIST", "Auth class `%s` does not exist.", name)
		}
		user, present := check()
		if !present {
			continue
		}
		if user != "" && s.enter(user) {
			return nil
		}
		e := loginFailed()
		e.basic = name == "BasicAuth"
		return e
	}
	return loginFailed()
}

func loginFailed() *apiError { return fail("AUTH_AUTHENTICATION_FAILED", "Authentication failed.") }

func (s *session) basicAuth() (string, bool) {
	encoded, ok := strings.CutPrefix(s.req.header.Get("Authorization"), "Basic ")
	if !ok {
		return "", false
	}
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", false
	}
	name, password, _ := strings.Cut(string(plain), ":")
	if name == "" || password == "" && s.profile.basicNeedsBoth {
		return "", false
	}
	for _, u := range s.srv.users {
		if u.Name == name && secretEqual(u.Password, password) {
			return u.Name, true
		}
	}
	return "", true
}

func (s *session) jwtAuth() (string, bool) {
	kind, token, _ := strings.Cut(s.req.header.Get("Authorization"), " ")
	if lower(kind) != "bearer" || token == "" {
		return "", false
	}
	return s.srv.state.tokenUser(token), true
}

func (s *session) keyAuth() (string, bool) {
	key := s.req.header.Get("X-API-Key")
	if key == "" {
		return "", false
	}
	for _, u := range s.srv.users {
		if secretEqual(u.APIKey, key) {
			return u.Name, true
		}
	}
	return s.storedKeyUser(key), true
}

func secretEqual(want, got string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(want), []byte(got)) == 1
}

func (st *state) tokenUser(token string) string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.tokens[token]
}

// enter loads a user's rights from the configuration; a disabled or unknown user does not get in.
func (s *session) enter(name string) bool {
	for _, x := range list(s.cfg, "system/user") {
		u, ok := x.(*dict)
		if !ok || u.text("name") != name {
			continue
		}
		if u.has("disabled") {
			return false
		}
		s.client.user = name
		s.client.rights = map[string]bool{}
		s.addRights(u)
		s.addGroupRights(u.text("uid"))
		s.client.denyWrite = s.client.rights["user-config-readonly"]
		return true
	}
	return false
}

func (s *session) addRights(holder *dict) {
	for _, p := range list(holder, "priv") {
		s.client.rights[phpString(p)] = true
	}
}

func (s *session) addGroupRights(uid string) {
	for _, x := range list(s.cfg, "system/group") {
		g, ok := x.(*dict)
		if !ok {
			continue
		}
		for _, member := range list(g, "member") {
			if phpString(member) == uid {
				s.addRights(g)
			}
		}
	}
}

// allowedByACL looks for the first entry of the access list, by weight, that covers the client.
func (s *session) allowedByACL() bool {
	entries := []*object{}
	m := s.profile.tables.models["RESTAPIAccessListEntry"]
	for i, x := range list(s.cfg, m.path) {
		o := s.newObject(m)
		o.id = int64(i)
		o.load(x)
		entries = append(entries, o)
	}
	sortObjects(entries, []string{"weight"}, false, "")
	ip, err := netip.ParseAddr(s.client.ip)
	if err != nil {
		return false
	}
	for _, o := range entries {
		p, err := netip.ParsePrefix(o.text("network"))
		if err != nil || !p.Contains(ip) {
			continue
		}
		users, _ := o.vals["users"].([]any)
		if len(users) > 0 && !contains(users, s.client.user) {
			continue
		}
		return o.text("type") == "allow"
	}
	return false
}
