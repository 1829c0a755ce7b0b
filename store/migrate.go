package store

import (
	"context"
)

// migrate brings a store of schema 6 or 7 to 8. Its caller has verified
// everything and found no flaw. In one transaction, by SQLite's documented
// rebuild of a table (seed 000, Schema):
//
//	6 to 7   every payload gains "authorization_provenance": null and a new MAC
//	7 to 8   the table without UNIQUE(idempotency_key), and the partial index;
//	         no payload, MAC or state changes
//
// The copy's foreign keys are checked before the commit.
func (s *Store) migrate(ctx context.Context, o Options) error {
	options := writerOptions()
	options["_pragma"] = []string{busyTimeout, "synchronous(FULL)", "foreign_keys(0)", "legacy_alter_table(0)"}
	s.writer = o.layer.connect(o.Path, options, 1)
	defer s.disconnect()
	return damaged(s.bare(ctx, "migrate", func(t *tx) error {
		objects, err := schemaObjects(ctx, t)
		if err != nil {
			return err
		}
		now, err := checkMetadata(ctx, t, objects, s.storeID)
		if err != nil || now == SchemaVersion { // another console may have been faster
			return err
		}
		if now == 6 {
			if err := t.upgradePayloads(); err != nil {
				return err
			}
		}
		return t.rebuildContracts()
	}))
}

// upgradePayloads is the step from 6 to 7, a batch at a time.
func (t *tx) upgradePayloads() error {
	after := ""
	for {
		rows, err := contractRows(t.ctx, t, "WHERE contract_id > ? ORDER BY contract_id LIMIT ?", after, takeOverBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			payload, ok := r.payload.([]byte)
			if !ok || !t.macs.record(payload).equal(r.mac.s) {
				return refuse(ReasonLegacyMAC)
			}
			upgraded, err := upgradePayload(payload)
			if err != nil {
				return refuse(ReasonLegacyFields)
			}
			mac := string(t.macs.record(upgraded).finish())
			if _, err := t.exec("UPDATE contracts SET payload = ?, mac = ? WHERE contract_id = ?",
				upgraded, mac, r.id.s); err != nil {
				return err
			}
			after = r.id.s
		}
	}
}

// migrationTable is the new table's name until the old one is gone.
const migrationTable = "contracts_v8_migration"

// rebuildContracts is the step from 7 to 8.
func (t *tx) rebuildContracts() error {
	const prefix = "CREATE TABLE contracts "
	statements := []string{
		"CREATE TABLE " + migrationTable + " " + createContracts[len(prefix):],
		"INSERT INTO " + migrationTable + " SELECT contract_id, operation_id, idempotency_key, " +
			"target_identity_digest, state, state_version, payload, mac FROM contracts ORDER BY rowid",
		"DROP TABLE contracts",
		"ALTER TABLE " + migrationTable + " RENAME TO contracts",
		createPartialIndex,
		"UPDATE metadata SET value = '8' WHERE key = 'schema_version'",
	}
	for _, statement := range statements {
		if _, err := t.exec(statement); err != nil {
			return err
		}
	}
	var violations int
	if err := t.QueryRowContext(t.ctx, "SELECT count(*) FROM pragma_foreign_key_check").Scan(&violations); err != nil {
		return err
	}
	if violations > 0 {
		return refuse(ReasonMigrationFK)
	}
	return nil
}
