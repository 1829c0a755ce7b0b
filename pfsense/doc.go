// Package pfsense speaks to one pfSense firewall through version 2 of its
// REST API package.
//
// Three types, because reading and sending are different rights:
//
//   - Reader makes GET requests and nothing else (core.Reader);
//   - Sender makes exactly one exchange for one mutation (core.Sender);
//   - Loader asks a subsystem, once, to load what is stored (core.Loader).
//
// All three open connections the same way: HTTPS only, TLS 1.2 or later, the
// server always verified (system roots, a CA file, or a pinned public key), no
// proxy unless configured, never one from the environment, HTTP/1.1 only.
//
// What a Sender promises (design section 4, rules 1 and 3):
//
//   - one TCP connection, opened for this exchange and closed after it;
//   - one request, written to it once; nothing in this package, and nothing
//     beneath it, ever writes it again;
//   - redirects, Retry-After and cookies are not obeyed;
//   - how much may have left is read from the connection: core.NotSent until
//     the first write of request bytes begins, core.FullySent when the write
//     of the last one has returned without error;
//   - the caller's context counts until that first write, and not after it;
//   - a request that is given up is not delivered afterwards from a buffer.
//
// The first answer of 401 stops everything made with the same APIKey, because
// the firewall blocks an address after a few failed logins.
//
// Whatever the firewall says is checked in this order: status, content type,
// bounded body, strict JSON, envelope; nothing is parsed before the check
// before it has passed. Texts from the firewall are returned as they are and
// must be sanitised before they are shown.
//
// Each capability is a file of its own; registry.go lists them.
package pfsense
