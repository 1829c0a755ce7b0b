package sim

import (
	"fmt"
	"strconv"
	"time"
)

// Admin is another person at the appliance: somebody in the web GUI, or a peer that synchronises. Edits take effect at
// once and completely, between any two steps of a request that is under way.
type Admin struct{ srv *Server }

// Admin gives the other administrator.
func (srv *Server) Admin() *Admin { return &Admin{srv} }

// Edit changes the stored configuration in one step. Paths are those of config.xml, for example "aliases/alias/0/descr".
func (a *Admin) Edit(note string, change func(*Config)) {
	a.srv.state.edit(a.srv.clock.Now(), note, change)
}

// Config is the stored configuration during an Edit.
type Config struct{ root *dict }

// Set stores a text under a path, making missing sections.
func (c *Config) Set(path, text string) { setPath(c.root, path, text) }

// Delete removes what is under a path; a list closes the gap.
func (c *Config) Delete(path string) { delPath(c.root, path) }

// Text is the text under a path, empty if there is none.
func (c *Config) Text(path string) string {
	v, _ := getPath(c.root, path)
	s, _ := v.(string)
	return s
}

// Len is the number of entries of the list at a path.
func (c *Config) Len(path string) int { return len(list(c.root, path)) }

// Insert puts a new entry, given as field and text pairs, before position at; later ids shift up.
func (c *Config) Insert(path string, at int, pairs ...string) {
	d := newDict()
	for i := 0; i+1 < len(pairs); i += 2 {
		setPath(d, pairs[i], pairs[i+1])
	}
	c.insert(path, at, d)
}

func (c *Config) insert(path string, at int, entry any) {
	v, _ := getPath(c.root, path)
	r, ok := v.(*rows)
	if !ok {
		r = &rows{}
		setPath(c.root, path, r)
	}
	at = min(max(at, 0), len(r.items))
	r.items = append(r.items[:at:at], append([]any{entry}, r.items[at:]...)...)
}

// Duplicate copies an entry to the end of its list.
func (c *Config) Duplicate(path string, at int) {
	if items := list(c.root, path); at >= 0 && at < len(items) {
		c.insert(path, len(items), clone(items[at]))
	}
}

// Move takes an entry to another position.
func (c *Config) Move(path string, from, to int) {
	v, _ := getPath(c.root, path)
	r, ok := v.(*rows)
	if !ok || from < 0 || from >= len(r.items) {
		return
	}
	entry := r.items[from]
	r.items = append(r.items[:from:from], r.items[from+1:]...)
	c.insert(path, to, entry)
}

// Find is the position of the first entry whose field has the given text, -1 if there is none.
func (c *Config) Find(path, field, text string) int {
	for i, x := range list(c.root, path) {
		if v, ok := getPath(x, field); ok && v == text {
			return i
		}
	}
	return -1
}

func (st *state) edit(now time.Time, note string, change func(*Config)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	cfg := clone(st.stored).(*dict)
	change(&Config{cfg})
	who := "admin@198.51.100.50 (Local Database)"
	cfg.set("revision", newDict("time", strconv.FormatInt(now.Unix(), 10), "description", who+": "+note, "username", who))
	st.history = append([]any{revision(st.stored)}, st.history...)
	st.stored = settle(cfg).(*dict)
}

const (
	aliasPath    = "aliases/alias"
	rulePath     = "filter/rule"
	forwardPath  = "nat/rule"
	routePath    = "staticroutes/route"
	overridePath = "unbound/hosts"
)

// editEntry changes the entry that is found, marks its subsystem as the GUI does, and reports whether it was found.
func (a *Admin) editEntry(path, key, value, subsystem string, change func(c *Config, at int)) bool {
	found := false
	a.Edit("web GUI", func(c *Config) {
		at := c.Find(path, key, value)
		if found = at >= 0; found {
			change(c, at)
		}
	})
	if found && subsystem != "" {
		a.srv.state.markDirty(subsystem)
	}
	return found
}

func (a *Admin) alias(name string, change func(c *Config, at int)) bool {
	return a.editEntry(aliasPath, "name", name, "aliases", change)
}

func entryPath(path string, at int, field string) string {
	return fmt.Sprintf("%s/%d/%s", path, at, field)
}

// SetAliasDescription changes an alias's description.
func (a *Admin) SetAliasDescription(name, text string) bool {
	return a.alias(name, func(c *Config, at int) { c.Set(entryPath(aliasPath, at, "descr"), text) })
}

// SetAliasAddresses changes an alias's entries and their details.
func (a *Admin) SetAliasAddresses(name string, addresses, details []string) bool {
	return a.alias(name, func(c *Config, at int) {
		c.Set(entryPath(aliasPath, at, "address"), joinWith(addresses, " "))
		c.Set(entryPath(aliasPath, at, "detail"), joinWith(details, "||"))
	})
}

// RenameAlias gives an alias another name, without following its uses.
func (a *Admin) RenameAlias(name, to string) bool {
	return a.alias(name, func(c *Config, at int) { c.Set(entryPath(aliasPath, at, "name"), to) })
}

// DeleteAlias deletes an alias; later ids move down.
func (a *Admin) DeleteAlias(name string) bool {
	return a.alias(name, func(c *Config, at int) { c.Delete(fmt.Sprintf("%s/%d", aliasPath, at)) })
}

// DuplicateAlias makes a second alias of the same name, as a synchronising peer or a restored backup can.
func (a *Admin) DuplicateAlias(name string) bool {
	return a.alias(name, func(c *Config, at int) { c.Duplicate(aliasPath, at) })
}

// MoveAlias takes an alias to another position.
func (a *Admin) MoveAlias(name string, to int) bool {
	return a.alias(name, func(c *Config, at int) { c.Move(aliasPath, at, to) })
}

// InsertAlias puts a new host alias before position at, so that the ids from there on shift up.
func (a *Admin) InsertAlias(at int, name string, addresses ...string) {
	a.Edit("web GUI", func(c *Config) {
		c.Insert(aliasPath, at, "name", name, "type", "host", "address", joinWith(addresses, " "), "descr", "", "detail", "")
	})
	a.srv.state.markDirty("aliases")
}

// EditRule sets a stored field of the rule with that tracker, for example "descr"; an empty section such as "disabled"
// is set by an empty text.
func (a *Admin) EditRule(tracker int64, field, text string) bool {
	return a.editEntry(rulePath, "tracker", strconv.FormatInt(tracker, 10), "filter", func(c *Config, at int) { c.Set(entryPath(rulePath, at, field), text) })
}

// DeleteRule deletes the rule with that tracker.
func (a *Admin) DeleteRule(tracker int64) bool {
	return a.editEntry(rulePath, "tracker", strconv.FormatInt(tracker, 10), "filter", func(c *Config, at int) { c.Delete(fmt.Sprintf("%s/%d", rulePath, at)) })
}

// DuplicateRule makes a second rule with the same tracker.
func (a *Admin) DuplicateRule(tracker int64) bool {
	return a.editEntry(rulePath, "tracker", strconv.FormatInt(tracker, 10), "filter", func(c *Config, at int) { c.Duplicate(rulePath, at) })
}

// MoveRule takes the rule with that tracker to another position.
func (a *Admin) MoveRule(tracker int64, to int) bool {
	return a.editEntry(rulePath, "tracker", strconv.FormatInt(tracker, 10), "filter", func(c *Config, at int) { c.Move(rulePath, at, to) })
}

// InsertRule puts a new pass rule before position at.
func (a *Admin) InsertRule(at int, tracker int64, descr string) {
	a.Edit("web GUI", func(c *Config) {
		c.Insert(rulePath, at, "id", "", "tracker", strconv.FormatInt(tracker, 10), "type", "pass", "interface", "lan", "ipprotocol", "inet",
			"statetype", "keep state", "source/any", "", "destination/any", "", "descr", descr)
	})
	a.srv.state.markDirty("filter")
}

// EditForward sets a stored field of the port forward with that description.
func (a *Admin) EditForward(descr, field, text string) bool {
	return a.editEntry(forwardPath, "descr", descr, "natconf", func(c *Config, at int) { c.Set(entryPath(forwardPath, at, field), text) })
}

// EditRoute sets a stored field of the first static route to that network.
func (a *Admin) EditRoute(net, field, text string) bool {
	return a.editEntry(routePath, "network", net, "staticroutes", func(c *Config, at int) { c.Set(entryPath(routePath, at, field), text) })
}

// EditOverride sets a stored field of the first host override with that host.
func (a *Admin) EditOverride(host, field, text string) bool {
	return a.editEntry(overridePath, "host", host, "unbound", func(c *Config, at int) { c.Set(entryPath(overridePath, at, field), text) })
}

// Snapshot is a copy of the stored configuration, for example what a peer holds.
type Snapshot struct{ root *dict }

// Snapshot copies what is stored now.
func (a *Admin) Snapshot() Snapshot { return Snapshot{a.srv.state.snapshot()} }

// Synchronise puts sections of an earlier copy over the stored ones, as a high-availability peer does that pushes its
// configuration: "aliases", "filter", "nat" and so on. Without sections everything is put back, as a restored backup.
func (a *Admin) Synchronise(from Snapshot, sections ...string) {
	if from.root == nil {
		return
	}
	if len(sections) == 0 {
		sections = from.root.keys
	}
	a.Edit("synchronised from the peer", func(c *Config) {
		for _, name := range sections {
			if v, ok := from.root.get(name); ok {
				c.root.set(name, clone(v))
			}
		}
	})
}

// SetReadOnly switches the API's read-only mode, as only the GUI can take back.
func (a *Admin) SetReadOnly(on bool) { a.setting("read_only", on) }

// SetAPIEnabled switches the API as a whole.
func (a *Admin) SetAPIEnabled(on bool) { a.setting("enabled", on) }

func (a *Admin) setting(name string, on bool) {
	text := "disabled"
	if on {
		text = "enabled"
	}
	a.Edit("web GUI", func(c *Config) { c.Set(settingsPath+"/"+name, text) })
}

// SetConditions changes the appliance's troubles, from those it has.
func (a *Admin) SetConditions(change func(*Conditions)) {
	st := a.srv.state
	st.mu.Lock()
	defer st.mu.Unlock()
	change(&st.conditions)
}

// HoldWriteLock takes the configuration's write lock, or lets it go: a stale lock file, or another writer.
func (a *Admin) HoldWriteLock(held bool) { a.srv.state.setLock(held) }

// Reload loads everything that is stored, as the GUI's Apply, a link change or cron does.
func (a *Admin) Reload() {
	for group := range groups {
		if a.srv.state.enqueue(group) {
			a.srv.reload(group, false)
		}
	}
}

// MarkPending marks a subsystem as changed and not applied, for example "aliases".
func (a *Admin) MarkPending(subsystem string) { a.srv.state.markDirty(subsystem) }

func joinWith(ss []string, sep string) string {
	out := ""
	for i, s := range ss {
		if i > 0 {
			out += sep
		}
		out += s
	}
	return out
}
