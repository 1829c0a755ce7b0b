package sim

import (
	"fmt"
	"net/http"
	"strings"
)

func upper(s string) string { return strings.ToUpper(s) }

func (s *session) hateoas() bool { return s.settings().text("hateoas") == "enabled" }

// links are the HATEOAS links of an object.
func (o *object) links() *dict {
	out := newDict()
	for _, ep := range o.s.profile.tables.endpoints {
		if ep.many || ep.model != o.m {
			continue
		}
		for _, rel := range []struct{ name, method string }{
			{"self", http.MethodGet}, {"update", http.MethodPatch}, {"delete", http.MethodDelete},
		} {
			if ep.supports(rel.method) {
				out.set(rel.name, o.link(ep, rel.method))
			}
		}
	}
	return out
}

func (o *object) link(ep *endpoint, method string) *dict {
	href, title := ep.url, o.m.verbose
	if o.m.many {
		title += ": " + phpString(o.id)
		if method != http.MethodPatch {
			href += "?"
			if o.parentID != nil {
				href += "parent_id=" + phpString(o.parentID) + "&"
			}
			href += "id=" + phpString(o.id)
		}
	}
	return newDict("href", href, "method", method, "id", o.id, "parent_id", o.parentID, "title", title)
}

// pageLinks lead to the pages before and after.
func (s *session) pageLinks(c controls) *dict {
	if c.limit == 0 {
		return nil
	}
	out := newDict()
	page := func(offset int) *dict {
		return newDict("href", fmt.Sprintf("%s?offset=%d&limit=%d", s.ep.url, offset, c.limit), "method", http.MethodGet)
	}
	if c.offset > 0 {
		out.set("prev", page(max(c.offset-c.limit, 0)))
	}
	out.set("next", page(c.offset+c.limit))
	return out
}
