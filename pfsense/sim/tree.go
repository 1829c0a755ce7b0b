package sim

import (
	"strconv"
	"strings"
)

// dict is an ordered map: a pfSense configuration section, or a JSON object. The order of keys is kept because it
// shows in config.xml and in answers.
type dict struct {
	keys []string
	vals map[string]any
}

// rows is a list of configuration entries, for example all aliases. Ids are positions in it.
type rows struct{ items []any }

func newDict(pairs ...any) *dict {
	d := &dict{vals: map[string]any{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.set(pairs[i].(string), pairs[i+1])
	}
	return d
}

func (d *dict) get(key string) (any, bool) {
	if d == nil {
		return nil, false
	}
	v, ok := d.vals[key]
	return v, ok
}

func (d *dict) text(key string) string {
	v, _ := d.get(key)
	s, _ := v.(string)
	return s
}

func (d *dict) has(key string) bool {
	_, ok := d.get(key)
	return ok
}

func (d *dict) set(key string, v any) {
	if _, ok := d.vals[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.vals[key] = v
}

func (d *dict) del(key string) {
	if _, ok := d.vals[key]; !ok {
		return
	}
	delete(d.vals, key)
	for i, k := range d.keys {
		if k == key {
			d.keys = append(d.keys[:i:i], d.keys[i+1:]...)
			return
		}
	}
}

// clone copies a configuration value deeply.
func clone(v any) any {
	switch v := v.(type) {
	case *dict:
		out := &dict{keys: append([]string(nil), v.keys...), vals: make(map[string]any, len(v.vals))}
		for k, x := range v.vals {
			out.vals[k] = clone(x)
		}
		return out
	case *rows:
		out := &rows{items: make([]any, len(v.items))}
		for i, x := range v.items {
			out.items[i] = clone(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = clone(x)
		}
		return out
	default:
		return v
	}
}

// getPath walks a path such as "filter/rule/2/descr"; numbers index lists.
func getPath(root any, path string) (any, bool) {
	cur := root
	for _, part := range splitPath(path) {
		switch node := cur.(type) {
		case *dict:
			v, ok := node.get(part)
			if !ok {
				return nil, false
			}
			cur = v
		case *rows:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(node.items) {
				return nil, false
			}
			cur = node.items[i]
		default:
			return nil, false
		}
	}
	return cur, true
}

// setPath stores a value, making missing sections on the way. An index one past the end appends.
func setPath(root *dict, path string, v any) {
	parts := splitPath(path)
	cur := any(root)
	for n, part := range parts {
		last := n == len(parts)-1
		switch node := cur.(type) {
		case *dict:
			if last {
				node.set(part, v)
				return
			}
			next, _ := node.get(part)
			if !isSection(next) {
				next = freshSection(parts[n+1])
				node.set(part, next)
			}
			cur = next
		case *rows:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i > len(node.items) {
				return
			}
			if i == len(node.items) {
				node.items = append(node.items, newDict())
			}
			if last {
				node.items[i] = v
				return
			}
			cur = node.items[i]
		}
	}
}

// delPath removes a value; a removed list entry closes the gap, as it does after the configuration is read again.
func delPath(root *dict, path string) {
	parts := splitPath(path)
	parent, ok := getPath(root, strings.Join(parts[:len(parts)-1], "/"))
	if !ok {
		return
	}
	name := parts[len(parts)-1]
	switch node := parent.(type) {
	case *dict:
		node.del(name)
	case *rows:
		i, err := strconv.Atoi(name)
		if err == nil && i >= 0 && i < len(node.items) {
			node.items = append(node.items[:i:i], node.items[i+1:]...)
		}
	}
}

// list returns the entries at a path, none if there is no list.
func list(root *dict, path string) []any {
	v, _ := getPath(root, path)
	if r, ok := v.(*rows); ok {
		return r.items
	}
	return nil
}

func isSection(v any) bool {
	switch v.(type) {
	case *dict, *rows:
		return true
	}
	return false
}

func freshSection(nextPart string) any {
	if _, err := strconv.Atoi(nextPart); err == nil {
		return &rows{}
	}
	return newDict()
}

func splitPath(path string) []string {
	var out []string
	for _, p := range strings.Split(path, "/") {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
