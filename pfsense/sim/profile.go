package sim

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Profile names of the supported package versions.
const (
	Profile243  = "2.4.3"
	Profile271  = "2.7.1"
	Profile2100 = "2.10.0"
)

// ErrProfile says that a version profile is not known.
var ErrProfile = errors.New("sim: unknown profile")

// Profiles lists the supported version profiles, oldest first.
func Profiles() []string { return []string{Profile243, Profile271, Profile2100} }

// profile is what differs between package versions, as capabilities rather than version numbers.
type profile struct {
	name   string
	tables *tables

	dryRun            bool // the dry_run parameter exists (2.8.0)
	inFilter          bool // the __in query filter exists (2.7.0)
	lengthsKept       bool // fields with validators of their own keep their limit of length (2.10.0)
	nameCharacters    bool // names are checked by the shared validator (2.10.0); before, by the alias itself
	deleteNeedsObject bool // DELETE without an id fails while loading (2.10.0); before, in validation
	foreignBlankNull  bool // a stored blank reference reads as null (from 2.5 on)
	anyInterface      bool // floating rules may name the interface "any"
	basicNeedsBoth    bool // Basic without a password does not count as a credential (2.10.0)
	ruleFollowsState  bool // the disabled state of a port forward follows to its rule (2.7.0)
	parentMustExist   bool // a missing DHCP server section is a missing parent; before, an empty one
	brokenText        bool // control characters break PHP (2.4.3) instead of being lost with a backup
	stockErrorPages   bool // the web server's own pages instead of pfSense's
	noNativeSchema    bool // the schema in PHP's own form is not offered (before 2.6.0)
}

// built holds each version's profile, which nobody changes, so that it is built once.
var built = map[string]func() (*profile, error){
	Profile243:  sync.OnceValues(func() (*profile, error) { return buildProfile(Profile243) }),
	Profile271:  sync.OnceValues(func() (*profile, error) { return buildProfile(Profile271) }),
	Profile2100: sync.OnceValues(func() (*profile, error) { return buildProfile(Profile2100) }),
}

func newProfile(name string) (*profile, error) {
	build, ok := built[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q (choose one of %s)", ErrProfile, name, strings.Join(Profiles(), ", "))
	}
	return build()
}

func buildProfile(name string) (*profile, error) {
	p := &profile{name: name}
	switch name {
	case Profile243:
		p.brokenText, p.stockErrorPages, p.noNativeSchema = true, true, true
	case Profile271:
		p.inFilter, p.foreignBlankNull, p.ruleFollowsState, p.parentMustExist = true, true, true, true
	case Profile2100:
		p.inFilter, p.foreignBlankNull, p.ruleFollowsState, p.parentMustExist = true, true, true, true
		p.lengthsKept = true
		p.dryRun, p.nameCharacters, p.deleteNeedsObject, p.anyInterface, p.basicNeedsBoth = true, true, true, true, true
	}
	t, err := loadTables(p)
	if err != nil {
		return nil, err
	}
	p.tables = t
	return p, nil
}

// retrofit turns the tables of 2.7.1 into those of 2.4.3, for which the package offers no schema.
func (t *tables) retrofit() {
	for _, url := range []string{
		"system/timezone", "services/dhcp_server/static_mappings", "services/dns_resolver/host_override/aliases",
	} {
		delete(t.endpoints, "/api/v2/"+url)
	}
	t.models["RESTAPISettings"].drop("log_level")
	alias := t.models["FirewallAlias"]
	alias.field("address").manyMax, alias.field("detail").manyMax = 128, 128
	forward := t.models["PortForward"]
	forward.field("protocol").choices = forward.field("protocol").choices[1:]
	target := forward.field("target")
	target.kind, target.checks = "", []string{"ip:ipv4,ipv6,alias"}
}
