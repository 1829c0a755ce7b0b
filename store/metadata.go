package store

import (
	"context"
	"strconv"
)

// checkMetadata reads the two rows of metadata and returns the schema
// version. The file must hold exactly those two (design lessons, Settled
// questions). An unreadable or unsupported version, another store id, or
// anything more is refused.
func checkMetadata(ctx context.Context, q querier, objects []schemaObject, storeID string) (int, error) {
	if _, exists := find(objects, "table", "metadata"); !exists {
		return 0, refuse(ReasonMetadata)
	}
	rows, err := q.QueryContext(ctx, "SELECT key, value FROM metadata")
	if err != nil {
		return 0, refuse(ReasonColumns)
	}
	defer rows.Close()
	found := map[string]string{}
	count := 0
	for rows.Next() {
		var key, value text
		if err := rows.Scan(&key, &value); err != nil {
			return 0, classify(err)
		}
		if !key.ok || !value.ok {
			return 0, refuse(ReasonMetadata)
		}
		found[key.s], count = value.s, count+1
	}
	if err := rows.Err(); err != nil {
		return 0, classify(err)
	}
	if count == 0 {
		return 0, refuse(ReasonMetadataMissing)
	}
	version := found["schema_version"]
	if n, err := strconv.Atoi(version); err == nil && strconv.Itoa(n) == version && n != 0 {
		if refusal := checkVersion(n); refusal != nil {
			return 0, refusal
		}
		if count == 2 && found["store_id"] == storeID {
			return n, nil
		}
	}
	return 0, refuse(ReasonMetadata)
}

// checkVersion refuses every schema but 6, 7 and 8, with what to do.
func checkVersion(n int) error {
	switch {
	case n > SchemaVersion:
		return &Refusal{ReasonMetadata, "written by a newer version (schema " + strconv.Itoa(n) + "); use that version"}
	case n < 6:
		return &Refusal{ReasonMetadata, "schema " + strconv.Itoa(n) + " has no lifecycle locator and cannot be migrated"}
	}
	return nil
}

// checkOwnVersion reads the version row of our own tables before anything
// else of them is looked at.
func checkOwnVersion(ctx context.Context, q querier) error {
	var version integer
	err := q.QueryRowContext(ctx, "SELECT version FROM cs_head").Scan(&version)
	switch {
	case err != nil || !version.ok:
		return refuse(ReasonOwnSchema)
	case version.n > ownVersion:
		return refuse(ReasonOwnVersion)
	}
	return nil
}
