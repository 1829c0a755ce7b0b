// Package sim is an embedded pfSense appliance with REST API v2: an HTTPS server that keeps a pfSense configuration
// and answers as the real package does, faults and races included.
//
// The simulator is built the way the appliance is. Each request reads the whole configuration into a private copy,
// changes it in memory, validates, waits for a lock that covers only the writing, and puts the whole copy back. Lost
// updates, late writes and stale ids therefore happen by themselves instead of being scripted. Objects are described by
// field tables (data/models.json, reported by the package itself, and data/rules.json, what those tables leave out);
// the Go files named after resources hold only the rules that are peculiar to them.
//
// Tests reach inside through four doors: [Server.Wire] counts what arrived, [Server.Admin] is another administrator,
// [Server.Inject] arms faults and gates, and [Server.Stored] and [Server.Loaded] show what is kept and what is in force.
package sim
