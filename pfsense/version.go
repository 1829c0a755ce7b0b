package pfsense

import (
	"strconv"
	"strings"
)

// apiVersion is a version of the REST API package: major, minor, patch.
type apiVersion [3]int

// parseVersion reads "v2.10.0".
func parseVersion(s string) (apiVersion, bool) {
	var v apiVersion
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return v, false
		}
		v[i] = int(n)
	}
	return v, true
}

// before reports whether v is older than a version that begins like this.
func (v apiVersion) before(parts ...int) bool {
	for i, n := range parts {
		if v[i] != n {
			return v[i] < n
		}
	}
	return false
}
