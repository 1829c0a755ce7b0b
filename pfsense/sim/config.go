package sim

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
)

// listTags are the element names that pfSense reads as lists even when there is only one of them.
var listTags = tagSet("alias rule route hosts staticmap user group gateway_item gateway_group item package key " +
	"dnsserver winsserver ntpserver priv member cert ca vip ifgroupentry schedule queue row pool")

// cdataTags are the element names whose text pfSense writes as CDATA with HTML entities.
var cdataTags = tagSet("descr detail statetype username description hint custom_options common_name login_banner")

func tagSet(names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

var errConfig = errors.New("sim: not a pfSense configuration")

// parseConfig reads a config.xml into a tree.
func parseConfig(text []byte) (*dict, error) {
	dec := xml.NewDecoder(strings.NewReader(string(text)))
	dec.Strict = true
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %v", errConfig, err)
		}
		if el, ok := tok.(xml.StartElement); ok {
			if el.Name.Local != "pfsense" {
				return nil, fmt.Errorf("%w: the root element is <%s>", errConfig, el.Name.Local)
			}
			v, err := parseElement(dec)
			if err != nil {
				return nil, err
			}
			root, ok := v.(*dict)
			if !ok {
				return nil, fmt.Errorf("%w: it is empty", errConfig)
			}
			return root, nil
		}
	}
}

func parseElement(dec *xml.Decoder) (any, error) {
	var children *dict
	var text strings.Builder
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: it ends early", errConfig)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %v", errConfig, err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if children == nil {
				children = newDict()
			}
			v, err := parseElement(dec)
			if err != nil {
				return nil, err
			}
			addChild(children, tok.Name.Local, v)
		case xml.CharData:
			text.Write(tok)
		case xml.EndElement:
			if children != nil {
				return children, nil
			}
			return blankless(html.UnescapeString(text.String())), nil
		}
	}
}

func addChild(parent *dict, name string, v any) {
	if !listTags[name] {
		parent.set(name, v)
		return
	}
	if r, ok := parent.vals[name].(*rows); ok {
		r.items = append(r.items, v)
		return
	}
	parent.set(name, &rows{items: []any{v}})
}

// blankless makes white space alone the empty text, as a round trip through config.xml does.
func blankless(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// settle gives a tree the form it has after being written and read again: empty lists and sections are gone.
func settle(v any) any {
	switch v := v.(type) {
	case *dict:
		out := newDict()
		for _, k := range v.keys {
			x := settle(v.vals[k])
			if x == nil {
				continue
			}
			if d, ok := x.(*dict); ok && len(d.keys) == 0 {
				x = ""
			}
			if listTags[k] && !isRows(x) {
				x = &rows{items: []any{x}}
			}
			out.set(k, x)
		}
		return out
	case *rows:
		if len(v.items) == 0 {
			return nil
		}
		out := &rows{}
		for _, x := range v.items {
			out.items = append(out.items, settle(x))
		}
		return out
	case string:
		return blankless(v)
	default:
		return v
	}
}

func isRows(v any) bool { _, ok := v.(*rows); return ok }

// hasControl reports text that breaks config.xml: control characters other than tab and line ends.
func hasControl(v any) bool {
	switch v := v.(type) {
	case *dict:
		for _, x := range v.vals {
			if hasControl(x) {
				return true
			}
		}
	case *rows:
		for _, x := range v.items {
			if hasControl(x) {
				return true
			}
		}
	case string:
		return strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
	}
	return false
}

// configXML writes a value as pfSense's writer does, one element a line.
func configXML(name string, v any) string {
	var b strings.Builder
	writeElement(&b, name, v, 0)
	return b.String()
}

func writeElement(b *strings.Builder, name string, v any, depth int) {
	indent := strings.Repeat("\t", depth)
	switch v := v.(type) {
	case *rows:
		for _, x := range v.items {
			writeElement(b, name, x, depth)
		}
	case *dict:
		b.WriteString(indent + "<" + name + ">\n")
		for _, k := range v.keys {
			writeElement(b, k, v.vals[k], depth+1)
		}
		b.WriteString(indent + "</" + name + ">\n")
	case string:
		text := escapeXML.Replace(v)
		if isCDATA(name) && v != "" {
			text = "<![CDATA[" + htmlEntities(v) + "]]>"
		}
		b.WriteString(indent + "<" + name + ">" + text + "</" + name + ">\n")
	}
}

func isCDATA(name string) bool { return cdataTags[name] || strings.HasPrefix(name, "descr") }

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
