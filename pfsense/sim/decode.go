package sim

import (
	"net/http"
	"net/url"
	"strings"
)

// decode turns body or query into request data, as the content type says. With JSON the query is never read.
func (s *session) decode() (any, *apiError) {
	kind, _, _ := strings.Cut(lower(s.req.header.Get("Content-Type")), ";")
	if kind == "" {
		kind = "application/json"
		if s.req.method == http.MethodGet || s.req.method == http.MethodDelete {
			kind = "application/x-www-form-urlencoded"
		}
	}
	switch kind {
	case "application/json":
		return s.decodeBody()
	case "application/x-www-form-urlencoded":
		data := newDict()
		formValues(data, string(s.req.body))
		formValues(data, s.req.query)
		return data, nil
	case "application/octet-stream":
		return nil, fail("CONTENT_HANDLER_CANNOT_DECODE_CONTENT", "Content handler `%s` does not support decoding content. Change the value of your `Content-Type` header to a valid option and try again.", kind)
	}
	return nil, fail("CONTENT_HANDLER_DECODE_NOT_FOUND", "No content handler exists for `%s`. Change the value of your `Content-Type` header to a valid option and try again.", kind)
}

func (s *session) decodeBody() (any, *apiError) {
	if len(s.req.body) == 0 {
		return newDict(), nil
	}
	v, err := decodeJSON(s.req.body)
	if err != nil {
		return nil, fail("JSON_CONTENT_HANDLER_COULD_NOT_DECODE_JSON", "Request body could not be decoded as JSON.")
	}
	switch v := v.(type) {
	case nil:
		return newDict(), nil
	case *dict, []any:
		return v, nil
	case string:
		return nil, s.profile.scalarBody(s.ep, "string")
	case bool:
		return nil, s.profile.scalarBody(s.ep, "bool")
	case float64:
		return nil, s.profile.scalarBody(s.ep, "float")
	default:
		return nil, s.profile.scalarBody(s.ep, "int")
	}
}

// formValues reads name=value pairs, guessing types: digits are a number, true and false are booleans, -1 is a text.
func formValues(data *dict, text string) {
	for _, pair := range strings.Split(text, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err1 != nil {
			name = rawName
		}
		if err2 != nil {
			value = rawValue
		}
		if base, key, isList := cutBrackets(name); isList {
			addListed(data, base, key, guess(value))
			continue
		}
		data.set(name, guess(value))
	}
}

func cutBrackets(name string) (base, key string, ok bool) {
	i := strings.IndexByte(name, '[')
	if i <= 0 || !strings.HasSuffix(name, "]") {
		return name, "", false
	}
	return name[:i], name[i+1 : len(name)-1], true
}

func addListed(data *dict, base, key string, v any) {
	if key == "" || digitsForm.MatchString(key) {
		items, _ := data.vals[base].([]any)
		data.set(base, append(items, v))
		return
	}
	d, ok := data.vals[base].(*dict)
	if !ok {
		d = newDict()
		data.set(base, d)
	}
	d.set(key, v)
}

func guess(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	if digitsForm.MatchString(text) {
		return phpNumber(strings.TrimLeft(text[:len(text)-1], "0") + text[len(text)-1:])
	}
	if f, ok := numeric(text); ok && strings.Contains(text, ".") && text[0] != '-' {
		return f
	}
	return text
}
