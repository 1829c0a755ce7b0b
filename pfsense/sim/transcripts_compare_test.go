package sim_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"strings"
)

// check compares what came back with the recording.
func (r *replay) check(tr *transcript, got received) {
	d, dscp := tr.holds(r.version)
	if d == unseen {
		return
	}
	r.compared++
	if _, ok := r.outcome[tr.file]; !ok {
		r.outcome[tr.file] = nil
	}
	want := 0
	if tr.Response.Status != nil {
		want = *tr.Response.Status
	}
	if got.status != want {
		r.problem(tr, "status %d, recorded %d; body %.300s", got.status, want, got.body)
		return
	}
	if want == 0 {
		return
	}
	if d == full {
		r.checkHeaders(tr, got)
	}
	r.checkBody(tr, got, d, dscp)
	if tr.ConfigAfter != "" && d == full {
		stored := squeeze(r.srv.StoredXML(""))
		if !strings.Contains(stored, squeeze(tr.ConfigAfter)) {
			r.problem(tr, "stored form differs: recorded %s", squeeze(tr.ConfigAfter))
		}
	}
}

var betweenTags = regexp.MustCompile(`>\s+<`)

func squeeze(xml string) string { return strings.TrimSpace(betweenTags.ReplaceAllString(xml, "><")) }

func (r *replay) checkHeaders(tr *transcript, got received) {
	for _, name := range []string{"content-type", "strict-transport-security", "x-content-type-options", "expires", "cache-control",
		"pragma", "retry-after", "www-authenticate", "x-frame-options", "content-encoding", "transfer-encoding", "content-length",
		"set-cookie", "etag", "location", "referer", "server"} {
		want, have := tr.Response.Headers[name], got.header.Get(name)
		switch name {
		case "set-cookie", "etag": // generated: only whether there is one
			want, have = presence(want), presence(have)
		case "location":
			want, have = pathOf(want), pathOf(have)
		case "content-length":
			if got.header.Get("Content-Encoding") == "gzip" || want == "" {
				continue
			}
		case "transfer-encoding":
			if tr.http10() {
				continue
			}
			if tr.Response.BodyRaw != nil && strings.HasPrefix(*tr.Response.BodyRaw, "(") {
				continue
			}
		}
		if strings.HasPrefix(tr.Provenance, "derived") && want == "" {
			continue
		}
		if want != have {
			r.problem(tr, "header %s: %q, recorded %q", name, have, want)
		}
	}
}

func presence(s string) string {
	if s == "" {
		return ""
	}
	return "present"
}

func pathOf(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return location
	}
	return u.RequestURI()
}

func (r *replay) checkBody(tr *transcript, got received, d depth, dscp bool) {
	body := got.body
	if got.header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			r.problem(tr, "not gzip: %v", err)
			return
		}
		body, _ = io.ReadAll(z)
	}
	if tr.Response.BodyRaw != nil && !json.Valid([]byte(*tr.Response.BodyRaw)) {
		if raw := *tr.Response.BodyRaw; d == full && !strings.HasPrefix(raw, "(") && string(body) != raw {
			r.problem(tr, "body %.200q, recorded %.200q", body, raw)
		}
		return
	}
	if len(tr.Response.Body) == 0 || string(tr.Response.Body) == "null" {
		return // shortened in the recording
	}
	var have, want map[string]any
	if err := json.Unmarshal(body, &have); err != nil {
		r.problem(tr, "body is not JSON: %.200s", body)
		return
	}
	if err := json.Unmarshal(tr.Response.Body, &want); err != nil {
		r.problem(tr, "recorded body: %v", err)
		return
	}
	if d == statusOnly {
		if have["response_id"] != want["response_id"] {
			r.problem(tr, "response_id %v, recorded %v", have["response_id"], want["response_id"])
		}
		return
	}
	if dscp {
		addDSCP(want["data"])
	}
	for _, path := range tr.Volatile {
		blank(have, path)
		blank(want, path)
	}
	shorten(have, want)
	compareJSON("", have, want, func(format string, args ...any) { r.problem(tr, format, args...) })
}

// addDSCP adds the field that rules have from 2.8.0 on.
func addDSCP(data any) {
	switch data := data.(type) {
	case []any:
		for _, x := range data {
			addDSCP(x)
		}
	case map[string]any:
		if _, isRule := data["statetype"]; isRule {
			data["dscp"] = nil
		}
	}
}

var volatilePath = regexp.MustCompile(`^data(?:\[(\d+)\])?\.(\w+)$`)

// blank takes a volatile value out of the comparison, leaving its presence in.
func blank(env map[string]any, path string) {
	if strings.HasPrefix(path, "data.*") {
		if data, ok := env["data"].(map[string]any); ok {
			for k := range data {
				data[k] = "volatile"
			}
		}
		return
	}
	if path == "message" {
		env["message"] = "volatile"
		return
	}
	m := volatilePath.FindStringSubmatch(path)
	if m == nil {
		return
	}
	data := env["data"]
	if m[1] != "" {
		items, _ := data.([]any)
		var i int
		_, _ = fmt.Sscan(m[1], &i)
		if i >= len(items) {
			return
		}
		data = items[i]
	}
	if obj, ok := data.(map[string]any); ok {
		if _, has := obj[m[2]]; has {
			obj[m[2]] = "volatile"
		}
	}
}

// shorten cuts a long list as the recording does: the first three, then a count.
func shorten(have, want map[string]any) {
	h, _ := have["data"].(map[string]any)
	w, _ := want["data"].(map[string]any)
	items, _ := h["address"].([]any)
	short, _ := w["address"].([]any)
	if len(short) == 4 && len(items) > 100 && strings.HasPrefix(fmt.Sprint(short[3]), "... ") {
		h["address"] = append(append([]any{}, items[:3]...), fmt.Sprintf("... %d entries", len(items)))
	}
}

func compareJSON(path string, have, want any, report func(string, ...any)) {
	h, isObject := have.(map[string]any)
	w, alsoObject := want.(map[string]any)
	if isObject && alsoObject {
		for k, v := range w {
			x, ok := h[k]
			if !ok {
				report("%s.%s is missing, recorded %v", path, k, v)
				continue
			}
			compareJSON(path+"."+k, x, v, report)
		}
		for k, v := range h {
			if _, ok := w[k]; !ok {
				report("%s.%s = %v is not in the recording", path, k, v)
			}
		}
		return
	}
	hl, isList := have.([]any)
	wl, alsoList := want.([]any)
	if isList && alsoList && len(hl) == len(wl) {
		for i := range hl {
			compareJSON(fmt.Sprintf("%s[%d]", path, i), hl[i], wl[i], report)
		}
		return
	}
	if !reflect.DeepEqual(have, want) {
		report("%s = %.300v, recorded %.300v", path, jsonText(have), jsonText(want))
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
