package sim

import (
	"strconv"
	"strings"
)

// Stored is what config.xml holds under a path such as "aliases/alias/0": a string, a map[string]any or a []any; nil if
// there is nothing.
func (srv *Server) Stored(path string) any { return plain(srv.state.snapshot(), path) }

// StoredXML is the stored form of what is under a path, as pfSense writes it.
func (srv *Server) StoredXML(path string) string {
	parts := splitPath(path)
	if len(parts) == 0 {
		return configXML("pfsense", srv.state.snapshot())
	}
	name := parts[len(parts)-1]
	if _, err := strconv.Atoi(name); err == nil && len(parts) > 1 {
		name = parts[len(parts)-2]
	}
	v, _ := getPath(srv.state.snapshot(), path)
	return configXML(name, v)
}

// Loaded is what is in force of a path: the state at the last reload of the subsystem that it belongs to, or what is
// stored where changes take effect at once.
func (srv *Server) Loaded(path string) any {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	group := map[string]string{"aliases": "firewall", "filter": "firewall", "nat": "firewall", "unbound": "dns",
		"staticroutes": "routing", "gateways": "routing", "dhcpd": "dhcp"}[first]
	srv.state.mu.Lock()
	cfg, ok := srv.state.loaded[group]
	if !ok {
		cfg = srv.state.stored
	}
	srv.state.mu.Unlock()
	return plain(cfg, path)
}

// Pending lists the subsystems with changes that are stored and not applied.
func (srv *Server) Pending() []string {
	var out []string
	for _, g := range []string{"firewall", "dns", "routing", "dhcp"} {
		out = append(out, srv.state.pending(g)...)
	}
	return out
}

// AliasEntry is an alias as stored or loaded.
type AliasEntry struct {
	ID        int // position in the list
	Name      string
	Type      string
	Descr     string
	Addresses []string
	Details   []string
}

// Alias is the first stored alias of that name.
func (srv *Server) Alias(name string) (AliasEntry, bool) {
	return findAlias(srv.state.snapshot(), name)
}

// LoadedAlias is the first loaded alias of that name.
func (srv *Server) LoadedAlias(name string) (AliasEntry, bool) {
	srv.state.mu.Lock()
	cfg := srv.state.loaded["firewall"]
	srv.state.mu.Unlock()
	return findAlias(cfg, name)
}

func findAlias(cfg *dict, name string) (AliasEntry, bool) {
	for i, x := range list(cfg, aliasPath) {
		d, ok := x.(*dict)
		if !ok || d.text("name") != name {
			continue
		}
		e := AliasEntry{ID: i, Name: name, Type: d.text("type"), Descr: d.text("descr"), Addresses: strings.Fields(d.text("address"))}
		if d.text("detail") != "" {
			e.Details = strings.Split(d.text("detail"), "||")
		}
		return e, true
	}
	return AliasEntry{}, false
}

func plain(cfg *dict, path string) any {
	v, ok := getPath(cfg, path)
	if !ok {
		return nil
	}
	return plainValue(v)
}

func plainValue(v any) any {
	switch v := v.(type) {
	case *dict:
		out := map[string]any{}
		for k, x := range v.vals {
			out[k] = plainValue(x)
		}
		return out
	case *rows:
		out := make([]any, len(v.items))
		for i, x := range v.items {
			out[i] = plainValue(x)
		}
		return out
	}
	return v
}
