package store

// SchemaVersion is the record format's schema that this package writes.
// Versions 6 and 7 are migrated; every other one is refused (design lessons,
// Settled questions).
const SchemaVersion = 8

// The six tables and the partial index of schema v8, byte for byte as the
// reference writes them (white space included): their text is in the file.
const (
	createMetadata = `CREATE TABLE metadata (
                    key TEXT PRIMARY KEY,
                    value TEXT NOT NULL
                )`
	createContracts = `CREATE TABLE contracts (
                    contract_id TEXT PRIMARY KEY,
                    operation_id TEXT NOT NULL UNIQUE,
                    idempotency_key TEXT NOT NULL,
                    target_identity_digest TEXT NOT NULL,
                    state TEXT NOT NULL,
                    state_version INTEGER NOT NULL,
                    payload BLOB NOT NULL,
                    mac TEXT NOT NULL
                )`
	createReservations = `CREATE TABLE target_reservations (
                    target_identity_digest TEXT PRIMARY KEY,
                    contract_id TEXT NOT NULL UNIQUE REFERENCES contracts(contract_id) ON DELETE CASCADE
                )`
	createEvents = `CREATE TABLE audit_events (
                    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                    contract_id TEXT NOT NULL REFERENCES contracts(contract_id) ON DELETE CASCADE,
                    event_type TEXT NOT NULL,
                    previous_state TEXT,
                    current_state TEXT NOT NULL,
                    state_version INTEGER NOT NULL,
                    recorded_at TEXT NOT NULL,
                    mac TEXT NOT NULL,
                    UNIQUE(contract_id, state_version)
                )`
	createAnchorState = `CREATE TABLE anchor_state (
                    key TEXT PRIMARY KEY,
                    value TEXT NOT NULL,
                    mac TEXT NOT NULL
                )`
	createCooldowns = `CREATE TABLE rate_cooldowns (
                    target_identity_digest TEXT PRIMARY KEY,
                    cooldown_until TEXT NOT NULL
                )`

	// blockingStates are the states of core.BlocksFreshAttempt as SQL
	// literals: only a query with the same text can use the partial index
	// (design lesson 9). A test compares the two.
	blockingStates = `'executing', 'prepared', 'preparing', 'reconciliation', 'rollback_failed', 'rolling_back', 'verified'`

	partialIndexName   = "ux_contracts_active_idempotency"
	createPartialIndex = `CREATE UNIQUE INDEX ` + partialIndexName +
		` ON contracts(idempotency_key) WHERE state IN (` + blockingStates + `)`
)

// formatSchema is schema v8 in the order in which the reference makes it.
func formatSchema() []string {
	return []string{createMetadata, createContracts, createReservations, createEvents,
		createAnchorState, createCooldowns, createPartialIndex}
}
