package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Matching names are not enough: on opening, the exact column types,
// nullability, primary and unique keys and foreign keys are compared (seed
// 003, Persistence and integrity). What SQLite reports is compared, not the
// text, because a migrated table has another text.

type column struct {
	name, kind string
	notNull    bool
	key        int // position in the primary key, from 1
}

// tableShape is what one table of the record format must be.
type tableShape struct {
	name    string
	columns []column
	unique  [][]string // every unique key, the primary one included, but not an integer key
	foreign string     // the one foreign key as "column -> table(column) action", or ""
}

func textColumn(name string) column { return column{name: name, kind: "TEXT", notNull: true} }

func keyColumn(name string) column { return column{name: name, kind: "TEXT", key: 1} }

// formatShapes are the six tables of a schema version. Versions 6 and 7 have
// the idempotency key unique in the table; version 8 has the partial index.
func formatShapes(version int) []tableShape {
	contractKeys := [][]string{{"contract_id"}, {"operation_id"}}
	if version < SchemaVersion {
		contractKeys = append(contractKeys, []string{"idempotency_key"})
	}
	number := column{name: "state_version", kind: "INTEGER", notNull: true}
	const cascade = "contract_id -> contracts(contract_id) CASCADE"
	return []tableShape{
		{name: "metadata", columns: []column{keyColumn("key"), textColumn("value")}, unique: [][]string{{"key"}}},
		{name: "contracts", columns: []column{keyColumn("contract_id"), textColumn("operation_id"),
			textColumn("idempotency_key"), textColumn("target_identity_digest"), textColumn("state"), number,
			{name: "payload", kind: "BLOB", notNull: true}, textColumn("mac")}, unique: contractKeys},
		{name: "target_reservations", columns: []column{keyColumn("target_identity_digest"), textColumn("contract_id")},
			unique: [][]string{{"target_identity_digest"}, {"contract_id"}}, foreign: cascade},
		{name: "audit_events", columns: []column{{name: "sequence", kind: "INTEGER", key: 1}, textColumn("contract_id"),
			textColumn("event_type"), {name: "previous_state", kind: "TEXT"}, textColumn("current_state"), number,
			textColumn("recorded_at"), textColumn("mac")}, unique: [][]string{{"contract_id", "state_version"}}, foreign: cascade},
		{name: "anchor_state", columns: []column{keyColumn("key"), textColumn("value"), textColumn("mac")},
			unique: [][]string{{"key"}}},
		{name: "rate_cooldowns", columns: []column{keyColumn("target_identity_digest"), textColumn("cooldown_until")},
			unique: [][]string{{"target_identity_digest"}}},
	}
}

// schemaObject is one row of sqlite_schema.
type schemaObject struct{ kind, name, table, sql string }

func schemaObjects(ctx context.Context, q querier) ([]schemaObject, error) {
	rows, err := q.QueryContext(ctx, "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema")
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var objects []schemaObject
	for rows.Next() {
		var o schemaObject
		if err := rows.Scan(&o.kind, &o.name, &o.table, &o.sql); err != nil {
			return nil, classify(err)
		}
		objects = append(objects, o)
	}
	return objects, classify(rows.Err())
}

func find(objects []schemaObject, kind, name string) (schemaObject, bool) {
	i := slices.IndexFunc(objects, func(o schemaObject) bool { return o.kind == kind && o.name == name })
	if i < 0 {
		return schemaObject{}, false
	}
	return objects[i], true
}

// checkStructure compares the six tables, the partial index and our own
// tables with what they must be.
func checkStructure(ctx context.Context, q querier, objects []schemaObject, version int) error {
	for _, shape := range formatShapes(version) {
		if err := checkTable(ctx, q, objects, shape); err != nil {
			return err
		}
	}
	if err := checkPartialIndex(objects, version); err != nil {
		return err
	}
	// SQLite's own table of the numbers that were given out.
	if o, _ := find(objects, "table", "sqlite_sequence"); o.sql != "CREATE TABLE sqlite_sequence(name,seq)" {
		return refuse(ReasonColumns)
	}
	for _, o := range objects {
		switch {
		case o.kind == "trigger":
			return refuse(ReasonExtra)
		case version < SchemaVersion && o.kind == "table" && !isFormatTable(o.name):
			return refuse(ReasonColumns) // a migration that was broken off, or not a store
		}
	}
	return checkOwnStructure(objects)
}

func isFormatTable(name string) bool {
	return strings.HasPrefix(name, "sqlite_") ||
		slices.ContainsFunc(formatShapes(SchemaVersion), func(t tableShape) bool { return t.name == name })
}

func checkTable(ctx context.Context, q querier, objects []schemaObject, want tableShape) error {
	o, exists := find(objects, "table", want.name)
	if !exists {
		return refuse(ReasonColumns)
	}
	columns, err := tableColumns(ctx, q, want.name)
	if err != nil {
		return err
	}
	if !slices.Equal(columns, want.columns) || hasClause(o.sql) {
		return refuse(ReasonColumns)
	}
	unique, err := uniqueKeys(ctx, q, want.name)
	if err != nil {
		return err
	}
	if !sameKeys(unique, want.unique) {
		return refuse(ReasonUnique)
	}
	foreign, err := foreignKeys(ctx, q, want.name)
	if err != nil {
		return err
	}
	if foreign != want.foreign {
		return refuse(ReasonForeignKeys)
	}
	return nil
}

// hasClause reports whether a table's text has a clause that the lists of
// columns and keys do not show.
func hasClause(sql string) bool {
	words := strings.FieldsFunc(strings.ToUpper(sql), func(r rune) bool { return r < 'A' || r > 'Z' })
	for _, w := range []string{"CHECK", "COLLATE", "DEFAULT", "GENERATED", "CONFLICT", "STRICT", "WITHOUT",
		"DEFERRABLE", "MATCH"} {
		if slices.Contains(words, w) {
			return true
		}
	}
	return false
}

func tableColumns(ctx context.Context, q querier, table string) ([]column, error) {
	rows, err := q.QueryContext(ctx, `SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) ORDER BY cid`, table)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var columns []column
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind, &c.notNull, &c.key); err != nil {
			return nil, classify(err)
		}
		columns = append(columns, c)
	}
	return columns, classify(rows.Err())
}

// uniqueKeys lists the columns of every unique index of a table. The
// partial index of the format is not among them: it is compared as text.
func uniqueKeys(ctx context.Context, q querier, table string) ([][]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT l.name, ifnull(i.name, '') FROM pragma_index_list(?) AS l
		JOIN pragma_index_info(l.name) AS i WHERE l."unique" = 1 AND l.name <> ? ORDER BY l.name, i.seqno`,
		table, partialIndexName)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var keys [][]string
	last := ""
	for rows.Next() {
		var index, name string
		if err := rows.Scan(&index, &name); err != nil {
			return nil, classify(err)
		}
		if index != last || keys == nil {
			keys, last = append(keys, nil), index
		}
		keys[len(keys)-1] = append(keys[len(keys)-1], name)
	}
	return keys, classify(rows.Err())
}

func sameKeys(a, b [][]string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, key := range b {
		if !slices.ContainsFunc(a, func(k []string) bool { return slices.Equal(k, key) }) {
			return false
		}
	}
	return true
}

func foreignKeys(ctx context.Context, q querier, table string) (string, error) {
	rows, err := q.QueryContext(ctx, `SELECT "from", "table", ifnull("to", ''), on_delete, on_update
		FROM pragma_foreign_key_list(?)`, table)
	if err != nil {
		return "", classify(err)
	}
	defer rows.Close()
	var keys []string
	for rows.Next() {
		var from, other, to string
		var onDelete, onUpdate sql.NullString
		if err := rows.Scan(&from, &other, &to, &onDelete, &onUpdate); err != nil {
			return "", classify(err)
		}
		key := fmt.Sprintf("%s -> %s(%s) %s", from, other, to, onDelete.String)
		if onUpdate.String != "NO ACTION" {
			key += " " + onUpdate.String
		}
		keys = append(keys, key)
	}
	return strings.Join(keys, "; "), classify(rows.Err())
}

// checkPartialIndex: version 8 must have the index with exactly this text.
// In an older file it can be there because the reference added it before it
// refused the file; then too only with this text.
func checkPartialIndex(objects []schemaObject, version int) error {
	o, exists := find(objects, "index", partialIndexName)
	if (!exists && version == SchemaVersion) || (exists && o.sql != createPartialIndex) {
		return refuse(ReasonPartialIndex)
	}
	return nil
}

// checkOwnStructure: our tables and indexes are all there exactly as this
// build makes them, or none of them is.
func checkOwnStructure(objects []schemaObject) error {
	want := ownSchema()
	var found int
	for _, o := range objects {
		if !strings.HasPrefix(o.name, ownPrefix) || o.sql == "" {
			continue
		}
		if !slices.Contains(want, o.sql) {
			return refuse(ReasonOwnSchema)
		}
		found++
	}
	if found != 0 && found != len(want) {
		return refuse(ReasonOwnSchema)
	}
	return nil
}

// hasOwn reports whether our tables are in the file.
func hasOwn(objects []schemaObject) bool {
	_, exists := find(objects, "table", tableHead.sqlName())
	return exists
}
