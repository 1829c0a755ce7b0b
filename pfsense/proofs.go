package pfsense

import (
	"net/http"

	"countersign/core"
)

// refusals is an allow-list of answers that prove "nothing was written": the
// checks that every endpoint makes before it looks at an object, and the
// model's own checks of identifiers and fields. What the API can also say
// after it wrote (403 MODEL_MANY_MINIMUM_REACHED, 406 BINARY_*, 424, 5xx) is
// never on it.
func refusals(model core.Refusals) core.Refusals {
	out := core.Refusals{
		http.StatusUnauthorized: {"AUTH_AUTHENTICATION_FAILED"},
		http.StatusForbidden: {"AUTH_AUTHORIZATION_FAILED",
			"ENDPOINT_INTERFACE_NOT_ALLOWED", "ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL"},
		http.StatusMethodNotAllowed: {"ENDPOINT_METHOD_NOT_ALLOWED",
			"ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE"},
		http.StatusNotAcceptable: {"CONTENT_HANDLER_ENCODE_NOT_FOUND"},
		http.StatusUnsupportedMediaType: {"CONTENT_HANDLER_DECODE_NOT_FOUND",
			"CONTENT_HANDLER_CANNOT_DECODE_CONTENT"},
		http.StatusBadRequest: {"JSON_CONTENT_HANDLER_COULD_NOT_DECODE_JSON",
			"FIELD_EMPTY_NOT_ALLOWED", "FIELD_INVALID_CHOICE", "FIELD_INVALID_MANY_VALUE",
			"FIELD_INVALID_TYPE", "FIELD_IS_REQUIRED"},
	}
	for status, ids := range model {
		out[status] = append(out[status], ids...)
	}
	return out
}
