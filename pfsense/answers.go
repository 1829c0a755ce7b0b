package pfsense

import (
	"net/http"
	"strings"
)

// answerError explains an answer that is no reading: the status first, then
// whether the API itself said it. Texts of the answer are not repeated.
func answerError(a answer, env envelope, enveloped bool, path string) *Error {
	if a.status == http.StatusUnauthorized {
		return failed(BadKey, nil, "the firewall refused the API key (401): %s", badKeyHint)
	}
	if enveloped {
		return apiError(a.status, env.responseID, path)
	}
	switch {
	case a.status == http.StatusNotFound:
		return failed(NoEndpoint, nil, "the firewall has no %s (404): its REST API package is missing, or older than this endpoint", path)
	case a.status == http.StatusMethodNotAllowed:
		return failed(NotReloaded, nil, "the web server does not know the REST API yet (405): restart the firewall's web GUI (its console menu, or Diagnostics > Command)")
	case a.status >= 300 && a.status < 400:
		return failed(NotReloaded, nil, "the web server redirects %s (%d): check the port, or restart the firewall's web GUI", path, a.status)
	case a.status == http.StatusBadGateway:
		return failed(ServerFault, nil, "the firewall's web server has no PHP behind it (502): it may be restarting, try again in a minute")
	case a.status == http.StatusGatewayTimeout:
		return failed(ServerFault, nil, "the firewall took more than 180 seconds to read %s (504): it is overloaded, or its REST API package is slow with this list", path)
	case a.status >= 500:
		return failed(ServerFault, nil, "the firewall failed while reading %s (%d); nothing was changed, look at its system log", path, a.status)
	case a.status == http.StatusOK && a.isJSON():
		return failed(Malformed, nil, "the answer for %s is not a reading this console can hold exactly; it is not used", path)
	case strings.HasPrefix(a.contentType, "text/html"):
		return failed(NotTheAPI, nil, "%s was answered with a web page (%d): a proxy or another server is in the way, or the REST API is not installed", path, a.status)
	}
	return failed(NotTheAPI, nil, "%s was answered by something that is not the REST API (%d); check the address", path, a.status)
}

// apiError explains an error of the API's own.
func apiError(status int, id, path string) *Error {
	switch id {
	case "AUTH_AUTHORIZATION_FAILED":
		return failed(NoPrivilege, nil, "the console's user may not read %s (403): grant it the privilege %s", path, privilege(path, http.MethodGet))
	case "ENDPOINT_INTERFACE_NOT_ALLOWED":
		return failed(NoPrivilege, nil, "the REST API does not answer on this interface (403): see its allowed interfaces on the firewall")
	case "ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL":
		return failed(NoPrivilege, nil, "the REST API's access list refuses this machine or user (403): see its access lists on the firewall")
	case "ENDPOINT_REST_API_IS_NOT_ENABLED":
		return failed(Disabled, nil, "the REST API is switched off on the firewall (503): System > REST API > Settings")
	case "ENDPOINT_UNAVAILABLE":
		return failed(Disabled, nil, "the REST API package is missing or being updated (503): try again when the update has ended")
	}
	switch {
	case status == http.StatusForbidden:
		return failed(NoPrivilege, nil, "the firewall refuses the reading of %s (403 %s)", path, id)
	case status == http.StatusServiceUnavailable:
		return failed(Disabled, nil, "the REST API is not available now (503 %s); try again later", id)
	case status >= 500:
		return failed(ServerFault, nil, "the REST API failed while reading %s (%d %s); nothing was changed", path, status, id)
	}
	return failed(Refused, nil, "the REST API refuses the reading of %s (%d %s)", path, status, id)
}
