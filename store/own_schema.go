package store

import (
	"slices"
	"strings"
)

// ownVersion is the version of our own tables, in a row of its own (design
// section 3). A higher one was written by a newer console and is refused.
const ownVersion = 1

// ownPrefix begins the name of every table and index of ours.
const ownPrefix = "cs_"

// ownTable is one authenticated table of ours. Its last column is the MAC of
// all the others under the label "countersign-" + name.
type ownTable struct {
	name    string
	columns []string // without the MAC
	keys    int      // how many of the first columns are the key
	// log tables only grow: the head counts their rows.
	log bool
	// ofContract tables are logs whose rows concern one contract each: a bad row
	// quarantines that one. The rows of the others decide about what may be
	// made or sent next, and a bad one refuses the store.
	ofContract bool
}

// The tables of ours. Notes and conclusions have the sequence number of their
// event. members is the list index and the authenticated set of
// contracts; head is one row about the store as a whole.
var (
	tableHead = ownTable{name: "head", keys: 1, columns: []string{"id", "version", "contracts", "events",
		"members", "log_rows", "log_digest", "record_rows", "record_digest", "states"}}
	tableMembers = ownTable{name: "members", keys: 1, columns: []string{"position", "contract_id", "operation_id",
		"idempotency_key", "target_identity_digest", "state", "state_version", "record_mac",
		"expires_at", "updated_at", "ambiguous_at"}}
	tableNotes = ownTable{name: "notes", keys: 1, log: true, ofContract: true, columns: []string{"sequence", "contract_id",
		"state_version", "actor", "boundary", "knowledge", "failure", "direction", "status", "response", "last_byte_at",
		"evidence", "outcome", "neighbours"}}
	tableConsumed = ownTable{name: "consumed", keys: 1, log: true, columns: []string{"authorization_id",
		"authority_id", "contract_id", "consumed_at"}}
	tableReceipts = ownTable{name: "receipts", keys: 3, log: true, columns: []string{"caller", "family",
		"request_key", "request_version", "scheme_version", "digest", "lossless", "contract_id",
		"operation_id", "idempotency_key", "response_version", "recorded_at"}}
	tableConclusions = ownTable{name: "conclusions", keys: 1, log: true, ofContract: true, columns: []string{"sequence",
		"contract_id", "state_version", "kind", "authority_id", "algorithm", "evidence", "outcome", "issued_at"}}
	tableLoads = ownTable{name: "loads", keys: 1, log: true, ofContract: true, columns: []string{"sequence", "contract_id",
		"direction", "subsystem", "claim", "recorded_at", "actor", "evidence", "pending"}}
	tableLooks = ownTable{name: "looks", keys: 1, log: true, ofContract: true, columns: []string{"sequence", "contract_id",
		"state_version", "finding", "neighbours", "recorded_at"}}
	tableAdvances = ownTable{name: "advances", keys: 1, log: true, columns: []string{"sequence", "mark",
		"contract_id", "state_version", "step", "recorded_at"}}
	tableOperators = ownTable{name: "operators", keys: 1, log: true, columns: []string{"operator",
		"commitment", "recorded_at"}}
	tablePassphrases = ownTable{name: "passphrases", keys: 1, log: true, columns: []string{"sequence", "operator",
		"result", "recorded_at"}}
	tableDrafts = ownTable{name: "drafts", keys: 1, log: true, columns: []string{"sequence", "caller",
		"digest", "request_key", "step", "recorded_at"}}
	tableSightings = ownTable{name: "sightings", keys: 2, log: true, ofContract: true, columns: []string{"contract_id",
		"reason", "recorded_at"}}
)

// logTables are the tables that only grow.
func logTables() []ownTable {
	return []ownTable{tableNotes, tableConsumed, tableReceipts, tableConclusions, tableLoads, tableLooks,
		tableAdvances, tableOperators, tablePassphrases, tableDrafts, tableSightings}
}

// ownSchema makes our tables and our indexes. The last two are ordinary
// indexes on a table of the record format, which the reference does not
// notice: history by key and outstanding contracts by target need no scan.
func ownSchema() []string {
	return []string{
		`CREATE TABLE cs_head (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, contracts INTEGER NOT NULL, ` +
			`events INTEGER NOT NULL, members TEXT NOT NULL, log_rows INTEGER NOT NULL, log_digest TEXT NOT NULL, ` +
			`record_rows INTEGER NOT NULL, record_digest TEXT NOT NULL, ` +
			`states TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_members (position INTEGER PRIMARY KEY, contract_id TEXT NOT NULL UNIQUE, ` +
			`operation_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, target_identity_digest TEXT NOT NULL, ` +
			`state TEXT NOT NULL, state_version INTEGER NOT NULL, record_mac TEXT NOT NULL, ` +
			`expires_at TEXT NOT NULL, updated_at TEXT NOT NULL, ambiguous_at TEXT, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_notes (sequence INTEGER PRIMARY KEY, contract_id TEXT NOT NULL, ` +
			`state_version INTEGER NOT NULL, actor TEXT NOT NULL, ` +
			`boundary TEXT NOT NULL, knowledge TEXT NOT NULL, failure TEXT NOT NULL, direction TEXT NOT NULL, ` +
			`status INTEGER NOT NULL, response TEXT NOT NULL, last_byte_at TEXT, evidence TEXT NOT NULL, ` +
			`outcome TEXT NOT NULL, neighbours INTEGER NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_consumed (authorization_id TEXT PRIMARY KEY NOT NULL, authority_id TEXT NOT NULL, ` +
			`contract_id TEXT NOT NULL, consumed_at TEXT NOT NULL, mac TEXT NOT NULL) WITHOUT ROWID`,
		`CREATE TABLE cs_receipts (caller TEXT NOT NULL, family TEXT NOT NULL, request_key TEXT NOT NULL, ` +
			`request_version INTEGER NOT NULL, scheme_version INTEGER NOT NULL, digest TEXT NOT NULL, ` +
			`lossless INTEGER NOT NULL, contract_id TEXT NOT NULL, operation_id TEXT NOT NULL, ` +
			`idempotency_key TEXT NOT NULL, response_version INTEGER NOT NULL, recorded_at TEXT NOT NULL, mac TEXT NOT NULL, ` +
			`PRIMARY KEY (caller, family, request_key)) WITHOUT ROWID`,
		`CREATE TABLE cs_conclusions (sequence INTEGER PRIMARY KEY, contract_id TEXT NOT NULL, ` +
			`state_version INTEGER NOT NULL, kind TEXT NOT NULL, authority_id TEXT NOT NULL, algorithm TEXT NOT NULL, ` +
			`evidence TEXT NOT NULL, outcome TEXT NOT NULL, issued_at TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_loads (sequence INTEGER PRIMARY KEY, contract_id TEXT NOT NULL, direction TEXT NOT NULL, ` +
			`subsystem TEXT NOT NULL, claim TEXT NOT NULL, recorded_at TEXT NOT NULL, actor TEXT NOT NULL, ` +
			`evidence TEXT NOT NULL, pending TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_looks (sequence INTEGER PRIMARY KEY, contract_id TEXT NOT NULL, state_version INTEGER NOT NULL, ` +
			`finding TEXT NOT NULL, neighbours INTEGER NOT NULL, recorded_at TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_advances (sequence INTEGER PRIMARY KEY, mark TEXT NOT NULL, contract_id TEXT NOT NULL, ` +
			`state_version INTEGER NOT NULL, step TEXT NOT NULL, recorded_at TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_operators (operator TEXT PRIMARY KEY NOT NULL, commitment TEXT NOT NULL, ` +
			`recorded_at TEXT NOT NULL, mac TEXT NOT NULL) WITHOUT ROWID`,
		`CREATE TABLE cs_passphrases (sequence INTEGER PRIMARY KEY, operator TEXT NOT NULL, result TEXT NOT NULL, ` +
			`recorded_at TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_drafts (sequence INTEGER PRIMARY KEY, caller TEXT NOT NULL, digest TEXT NOT NULL, ` +
			`request_key TEXT NOT NULL, step TEXT NOT NULL, recorded_at TEXT NOT NULL, mac TEXT NOT NULL)`,
		`CREATE TABLE cs_sightings (contract_id TEXT NOT NULL, reason TEXT NOT NULL, recorded_at TEXT NOT NULL, ` +
			`mac TEXT NOT NULL, PRIMARY KEY (contract_id, reason)) WITHOUT ROWID`,
		`CREATE INDEX cs_members_active ON cs_members(position) WHERE state IN (` + activeStates + `)`,
		`CREATE INDEX cs_members_waiting ON cs_members(state, position) WHERE state IN (` + waitingStates + `)`,
		`CREATE INDEX cs_members_expiring ON cs_members(expires_at, position) WHERE state IN (` + expiringStates + `)`,
		`CREATE INDEX cs_members_ambiguous ON cs_members(ambiguous_at, position) WHERE ambiguous_at IS NOT NULL`,
		`CREATE INDEX cs_drafts_request ON cs_drafts(caller, digest, sequence)`,
		`CREATE INDEX cs_passphrases_operator ON cs_passphrases(operator, sequence)`,
		`CREATE INDEX cs_loads_contract ON cs_loads(contract_id, sequence)`,
		`CREATE INDEX cs_looks_contract ON cs_looks(contract_id, sequence)`,
		`CREATE INDEX cs_advances_mark ON cs_advances(mark, sequence)`,
		`CREATE INDEX cs_advances_attributed ON cs_advances(recorded_at, sequence) WHERE step = 'attributed'`,
		`CREATE INDEX cs_contracts_key ON contracts(idempotency_key)`,
		`CREATE INDEX cs_contracts_target ON contracts(target_identity_digest, state)`,
	}
}

// States as SQL literals, for queries that use the partial indexes above.
const (
	activeStates   = `'preparing', 'prepared', 'executing', 'verified', 'reconciliation', 'rolling_back'`
	waitingStates  = `'reconciliation', 'rollback_failed'`
	expiringStates = `'preparing', 'prepared'`
)

// indexedTables are our tables that are also found through an index.
func indexedTables() []string {
	var tables []string
	for _, statement := range ownSchema() {
		_, on, isIndex := strings.Cut(statement, " ON ")
		table, _, _ := strings.Cut(on, "(")
		if isIndex && strings.HasPrefix(table, ownPrefix) && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}
