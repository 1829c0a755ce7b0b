package pfsense

import (
	"mime"
	"regexp"
	"strings"
)

// maxBodyBytes bounds every answer.
const maxBodyBytes = 16 << 20

// maxMessageBytes bounds the firewall's words that are passed on: an internal
// fault answers with a stack trace.
const maxMessageBytes = 4 << 10

// answer is a complete HTTP answer.
type answer struct {
	status      int
	contentType string
	body        []byte
}

// envelope is the API's own frame around every answer of its own.
type envelope struct {
	code       int64
	responseID string
	message    string
	data       any
}

// A response_id is a constant of the package's source. One of another shape
// is not the API's, and could carry a value into places that must have none.
var responseID = regexp.MustCompile(`\A[A-Z][A-Z0-9_]{0,127}\z`)

// isJSON reports whether the content type is exactly JSON.
func (a answer) isJSON() bool {
	t, params, err := mime.ParseMediaType(a.contentType)
	charset, given := params["charset"]
	return err == nil && t == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// envelope reads the API's envelope. It is well formed only when the content
// type is JSON, all five members are there with their types, and its code is
// the HTTP status; further members (_links) are left aside.
func (a answer) envelope(n numbers) (envelope, bool) {
	if !a.isJSON() {
		return envelope{}, false
	}
	v, err := parseJSON(a.body, n)
	if err != nil {
		return envelope{}, false
	}
	members, _ := v.(map[string]any)
	code, okCode := members["code"].(int64)
	_, okStatus := members["status"].(string)
	id, okID := members["response_id"].(string)
	message, okMessage := members["message"].(string)
	data, okData := members["data"]
	ok := okCode && okStatus && okID && okMessage && okData &&
		code == int64(a.status) && responseID.MatchString(id)
	if !ok {
		return envelope{}, false
	}
	return envelope{code: code, responseID: id, message: cut(message, maxMessageBytes), data: data}, true
}

// cut shortens s to at most limit bytes of whole characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
