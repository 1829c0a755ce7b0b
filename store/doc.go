// Package store is the authenticated store of recovery contracts in one
// SQLite file (seed 003, Persistence and integrity; design section 3).
//
// The file holds the six tables of record format v8, byte-compatible with
// the reference implementation, and beside them tables of our own (cs_*).
// The rules, and the file that keeps each:
//
//   - every record, audit event and own row carries a MAC over the store id
//     and a label (mac.go); duplicated columns are compared on every load
//     (records.go, audit.go, rows.go);
//   - the set of contracts is authenticated too: removing one, or putting an
//     older authentic copy back, is noticed (head.go, members.go);
//   - opening looks before it touches: a file that is refused is
//     byte-identical afterwards (open.go, verify.go);
//   - one bad record is quarantined, nothing acts on it and nothing repairs
//     it; a fault of the store itself refuses the store (quarantine.go);
//   - every decision is made inside the transaction that writes, on rows read
//     there, with the clock read there (tx.go);
//   - one change is one durable commit, and no key press can cancel it (tx.go).
//
// A power cut may take the last commits of a process, never a part of one:
// docs/decisions/0004-durability.md.
package store
