// Package core is the domain of Countersign and its embedded execution core.
//
// A firewall change is a recovery contract. Its life is:
//
//	Prepare            a fresh authoritative reading; every digest; the exact difference
//	Authorize          one-shot authorization; consumption, contract, PREPARED and receipt in one transaction
//	Confirm            an authenticated person; accepted once, while PREPARED and unexpired
//	Execute            acquire durably, re-read, send exactly one request, read back, seal
//	Roll back          the same in the other direction
//	Reconcile          where the outcome cannot be proven, a person concludes from the evidence
//
// The rules come from the normative texts (cited as "seed 000", "seed 001" and
// "seed 003") and the design; each is in the file that has its name:
//
//	states.go            the ten states and what each implies
//	transitions.go       which edge is legal, manual-only or illegal
//	faults.go            what an observed send proves, and the state that follows
//	contract.go          the authoritative record and its validation
//	record.go            the record's exact stored bytes
//	bindings.go          every digest of a contract
//	idempotency.go       DeriveIdempotencyKey and BlocksFreshAttempt
//	receipts.go          request receipts; receipt_schemes.go and request_contracts.go have their versions
//	authorization.go     gate one; authorize.go runs it
//	confirmation.go      gate two; gates.go runs it
//	compare.go           snapshot, intended and now, and which conclusions they allow
//	reconciliation.go    recorded operator conclusions; conclude.go draws them
//	settle.go            how long a doubtful send may still be writing
//	offhost.go           requests that are signed elsewhere, and what comes back
//	policy.go            limits checked with the change they gate
//	executor.go          execute and roll back, step by step
//	anchor.go            the step of the anchor before every forward send
//	second_look.go       the whole list once more, some seconds after a success
//	waiting.go           what is stored and not loaded, as far as it can be known
//	load.go              loading, a step of its own
//	load_agreed.go       loading that a confirmation covers
//	engine.go            what the console drives
//
// What is kept, and how, is in package store (anchor, migration, quarantine,
// the settle window again), who agrees in package keys (passphrases, sealing,
// authorities), and what is shown in package views (the sanitiser).
//
// core knows no SQL, HTTP, keyring or terminal. What it needs from outside is
// declared here as small interfaces (ports.go, authority.go, appliance.go).
package core
