package sim

import (
	"fmt"
	"net/http"
	"strings"
)

// apiError is an answer in the API's error envelope.
type apiError struct {
	status     int
	id         string
	message    string
	retryAfter int
	basic      bool // ask for Basic credentials
}

func (e *apiError) Error() string { return e.id + ": " + e.message }

// fail makes an error with the status that its response_id has in the package.
func fail(id, format string, args ...any) *apiError {
	status, ok := statusOf()[id]
	if !ok {
		status = http.StatusInternalServerError
	}
	message := fmt.Sprintf(format, args...)
	return &apiError{status: status, id: id, message: quotes.Replace(message)}
}

// quotes turns both kinds of quotes into backticks, as the package does with every message.
var quotes = strings.NewReplacer("'", "`", `"`, "`")

// statusText is the lower-case status of the envelope.
func statusText(code int) string {
	if code == http.StatusOK {
		return "ok"
	}
	return strings.ToLower(http.StatusText(code))
}

// fatal is text that PHP prints instead of an answer.
type fatal struct{ text string }

func (f *fatal) Error() string { return f.text }
