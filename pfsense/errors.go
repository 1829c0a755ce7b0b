package pfsense

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"countersign/core"
)

// Class says in what way the firewall could not be read.
type Class string

// The classes of failure.
const (
	NoConnection Class = "no_connection"
	TLSRefused   Class = "tls_refused"
	WrongPin     Class = "wrong_pin"
	Timeout      Class = "timeout"
	BadKey       Class = "bad_key"          // 401, or a key that was refused before
	NoPrivilege  Class = "no_privilege"     // 403
	NoEndpoint   Class = "no_endpoint"      // 404 in HTML: package missing, or too old
	NotReloaded  Class = "gui_not_reloaded" // 405 in HTML, or a redirect
	Disabled     Class = "api_disabled"     // 503
	NotTheAPI    Class = "not_the_api"      // HTML of a proxy or another server
	ServerFault  Class = "server_fault"     // 5xx
	Refused      Class = "refused"          // another error of the API's own
	Malformed    Class = "malformed"        // an answer that breaks its own rules
	NoIdentity   Class = "no_identity"      // the installation has no name to bind to
)

// Error is every error of reading. Its text is one line: what is wrong and
// what to do; it holds no values, keys or texts from the firewall. It wraps
// core.ErrAppliance and, where there is one, its cause.
type Error struct {
	Class Class
	text  string
	cause error
}

// Error is one line for the operator.
func (e *Error) Error() string { return e.text }

// Unwrap returns core.ErrAppliance and the cause.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{core.ErrAppliance}
	}
	return []error{core.ErrAppliance, e.cause}
}

func failed(class Class, cause error, format string, args ...any) *Error {
	return &Error{Class: class, text: fmt.Sprintf(format, args...), cause: cause}
}

// classOf returns the class of an error of this package, or "".
func classOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

func keyRefusedBefore() *Error {
	return failed(BadKey, nil, "the firewall has refused this API key; nothing more is sent with it, because failed logins block this machine: %s", badKeyHint)
}

const badKeyHint = "check the key, its user, and that KeyAuth is among the REST API's authentication methods (a fresh install allows Basic only); `countersign apikey` puts another key in its place; then start again"

func connectError(err error, address string) *Error {
	const hint = "check the address and the network, and whether the firewall's login protection has blocked this machine"
	class := NoConnection
	if isTimeout(err) {
		class = Timeout
	}
	return failed(class, err, "no connection to %s: %s; %s", address, networkReason(err), hint)
}

func networkReason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, errProxy):
		return "the proxy refused"
	case errors.As(err, &dns):
		return "the name was not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route"
	case errors.Is(err, context.Canceled):
		return "it was stopped"
	case isTimeout(err):
		return "no answer in time"
	case isLost(err):
		return "the connection was lost"
	}
	return "the network failed"
}

func tlsError(err error, address string) *Error {
	var pin *PinError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &pin):
		return failed(WrongPin, pin, "%s; was its certificate renewed? Compare the new fingerprint on the firewall itself, then pin it with `countersign pin`", pin)
	case errors.As(err, &record):
		return failed(TLSRefused, err, "%s does not speak TLS; check the port of the web GUI", address)
	case isTimeout(err):
		return failed(TLSRefused, err, "%s accepted the connection but did not finish the TLS handshake in time; is the web server overloaded?", address)
	case errors.Is(err, context.Canceled):
		return failed(TLSRefused, err, "the TLS handshake with %s was stopped", address)
	}
	return failed(TLSRefused, err, "the TLS connection to %s was not made: %s", address, certificateReason(err))
}

func certificateReason(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority; pin the firewall's key, or give its CA file"
	case errors.As(err, &name):
		return "the certificate is for another name; pin the firewall's key, or use the name in the certificate"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet; renew it, check this machine's clock, or pin the firewall's key"
	case errors.As(err, &invalid):
		return "the certificate is not valid for a server"
	case isLost(err) && !isAlert(err):
		return "the firewall closed it; is this the port of the web GUI?"
	}
	return "no common settings; TLS 1.2 or later is required"
}

// readError classes what went wrong on an open connection.
func readError(err error, path string) *Error {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case isTimeout(err):
		return failed(Timeout, err, "the firewall did not answer the reading of %s in time; nothing was changed, try again later", path)
	case errors.Is(err, context.Canceled):
		return failed(NoConnection, err, "the reading of %s was stopped", path)
	case isLost(err):
		return failed(NoConnection, err, "the connection was lost while %s was read; nothing was changed, try again", path)
	}
	// The cause is dropped: it quotes what it could not read.
	return failed(Malformed, nil, "the answer for %s breaks the rules of HTTP; is something between this machine and the firewall?", path)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &t) && t.Timeout()
}

// isLost reports whether the connection broke or ended.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}

// isAlert reports whether the server said in TLS that it will not go on.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}
