package sim

import (
	"embed"
	"fmt"
	"sort"
	"strings"
	"sync"
)

//go:embed data
var dataFS embed.FS

// field describes one field of a model: how it is named, stored, converted and checked.
type field struct {
	name, stored, namespace string // stored under namespace/stored in the configuration
	typ                     string // string, integer, boolean, double, array
	kind                    string // "", interface, address, network, port, foreign, nested, time, base64
	allow                   []string
	checks                  []string
	required, unique        bool
	allowEmpty, allowNull   bool
	readOnly, writeOnly     bool
	sensitive, editable     bool
	many                    bool
	manyMin, manyMax        int
	min, max, maxLen        int64
	hasMin, hasMax          bool
	def                     any
	choices                 []any
	conditions              *dict
	foreign                 []string
	foreignField            string
	nested                  string
	delimiter               string // between the values of a list; "" if stored as a list
	onTrue, onFalse         string // stored forms of a boolean; "" for false means absent
}

func (f *field) allows(what string) bool {
	for _, a := range f.allow {
		if a == what {
			return true
		}
	}
	return false
}

// model describes a kind of object.
type model struct {
	name, verbose, plural string
	path                  string // in the configuration; "" if the values come from elsewhere
	parent                string
	many                  bool
	manyMin               int
	alwaysApply           bool
	dirty                 string
	dispatch              string
	sort                  []string
	sortFlags             string
	uniqueTogether        []string
	fields                []*field
}

func (m *model) field(name string) *field {
	for _, f := range m.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (m *model) drop(name string) {
	for i, f := range m.fields {
		if f.name == name {
			m.fields = append(m.fields[:i:i], m.fields[i+1:]...)
			return
		}
	}
}

// endpoint is one path of the API.
type endpoint struct {
	url        string
	model      *model
	many       bool
	methods    []string
	privileges map[string][]string // by lower-case method
	onlyAuth   []string            // authentication methods, if not those of the settings
	open       bool                // answers without login
}

func (e *endpoint) supports(method string) bool {
	for _, m := range e.methods {
		if m == method {
			return true
		}
	}
	return false
}

// tables are the models and endpoints of one version.
type tables struct {
	models    map[string]*model
	endpoints map[string]*endpoint
	zones     []any
}

func readData(name string) ([]byte, error) { return dataFS.ReadFile("data/" + name) }

func readJSON(name string) (*dict, error) {
	text, err := readData(name)
	if err != nil {
		return nil, err
	}
	v, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("sim: %s: %w", name, err)
	}
	return v.(*dict), nil
}

func loadTables(p *profile) (*tables, error) {
	all, err := readJSON("models.json")
	if err != nil {
		return nil, err
	}
	rules, err := readJSON("rules.json")
	if err != nil {
		return nil, err
	}
	zones, err := readData("timezones.txt")
	if err != nil {
		return nil, err
	}
	version := p.name
	if version == Profile243 {
		version = Profile271
	}
	t := &tables{models: map[string]*model{}, endpoints: map[string]*endpoint{}}
	for _, z := range strings.Fields(string(zones)) {
		t.zones = append(t.zones, z)
	}
	src := subDict(all, version)
	models := subDict(src, "models")
	for _, name := range models.keys {
		if d, ok := models.vals[name].(*dict); ok {
			t.models[name] = newModel(name, d, subDict(rules, name))
		}
	}
	urls := subDict(src, "endpoints")
	for _, url := range urls.keys {
		t.addEndpoint(url, subDict(urls, url))
	}
	if p.name == Profile243 {
		t.retrofit()
	}
	t.addExtraEndpoints(p)
	return t, nil
}

// urls are the endpoints in alphabetical order.
func (t *tables) urls() []string {
	out := make([]string, 0, len(t.endpoints))
	for url := range t.endpoints {
		out = append(out, url)
	}
	sort.Strings(out)
	return out
}

func (t *tables) addEndpoint(url string, d *dict) {
	m := t.models[d.text("model")]
	if m == nil {
		return
	}
	e := &endpoint{url: url, model: m, many: truthy(d.vals["many"]), methods: texts(d.vals["methods"]),
		onlyAuth: texts(d.vals["auth_methods"]), privileges: map[string][]string{}}
	privs := subDict(d, "privileges")
	for _, method := range privs.keys {
		e.privileges[method] = texts(privs.vals[method])
	}
	t.endpoints[url] = e
}

func newModel(name string, d, rules *dict) *model {
	m := &model{
		name: name, verbose: rules.text("verbose"), plural: rules.text("plural"), path: rules.text("path"),
		parent: d.text("parent"), many: truthy(d.vals["many"]), manyMin: int(integer(d.vals["many_minimum"])),
		alwaysApply: truthy(d.vals["always_apply"]), dirty: d.text("dirty_flag"), dispatch: rules.text("dispatch"),
		sort: texts(rules.vals["sort"]), sortFlags: rules.text("sort_flags"), uniqueTogether: texts(d.vals["unique_together"]),
	}
	if m.plural == "" {
		m.plural = m.verbose + "s"
	}
	fields := subDict(d, "fields")
	extra := subDict(rules, "fields")
	for _, fn := range fields.keys {
		m.fields = append(m.fields, newField(fn, subDict(fields, fn), subDict(extra, fn), rules))
	}
	return m
}

func newField(name string, d, extra, modelRules *dict) *field {
	f := &field{
		name: name, stored: d.text("stored_as"), typ: d.text("type"), kind: extra.text("kind"),
		allow: texts(extra.vals["allow"]), checks: texts(extra.vals["checks"]),
		required: truthy(d.vals["required"]), unique: truthy(d.vals["unique"]),
		allowEmpty: truthy(d.vals["allow_empty"]), allowNull: truthy(d.vals["allow_null"]),
		readOnly: truthy(d.vals["read_only"]), writeOnly: truthy(d.vals["write_only"]), sensitive: truthy(d.vals["sensitive"]),
		editable: true, many: truthy(d.vals["many"]),
		manyMin: int(integer(d.vals["many_minimum"])), manyMax: int(integer(d.vals["many_maximum"])),
		maxLen: integer(d.vals["maximum_length"]), def: d.vals["default"],
		foreign: texts(d.vals["foreign_model_class"]), foreignField: d.text("foreign_model_field"),
		nested: d.text("nested_model_class"), delimiter: ",",
		onTrue: modelRules.text("true"), onFalse: modelRules.text("false"),
	}
	if e, ok := d.get("editable"); ok {
		f.editable = truthy(e)
	}
	if i := strings.LastIndexByte(f.stored, '/'); i >= 0 {
		f.namespace, f.stored = f.stored[:i], f.stored[i+1:]
	}
	f.choices, _ = d.vals["choices"].([]any)
	f.conditions, _ = d.vals["conditions"].(*dict)
	if v, ok := d.get("minimum"); ok {
		f.min, f.hasMin = integer(v), true
	}
	if v, ok := d.get("maximum"); ok {
		f.max, f.hasMax = integer(v), true
	}
	if v, ok := extra.get("delimiter"); ok {
		f.delimiter = v.(string)
	}
	if v, ok := extra.get("true"); ok {
		f.onTrue = v.(string)
	}
	if v, ok := extra.get("false"); ok {
		f.onFalse = v.(string)
	}
	return f
}

func subDict(d *dict, key string) *dict {
	v, _ := d.get(key)
	if sub, ok := v.(*dict); ok {
		return sub
	}
	return newDict()
}

func texts(v any) []string {
	items, _ := v.([]any)
	if s, ok := v.(string); ok && s != "" {
		return []string{s}
	}
	var out []string
	for _, x := range items {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func integer(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// truthy is PHP's idea of a true value.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != "" && v != "0"
	case []any:
		return len(v) > 0
	case *dict:
		return v != nil && len(v.keys) > 0
	}
	return true
}

// statusOf gives the HTTP status of each response_id, as read from the package.
var statusOf = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	d, err := readJSON("response_ids.json")
	if err != nil {
		return out
	}
	for _, k := range d.keys {
		out[k] = int(integer(d.vals[k]))
	}
	return out
})
