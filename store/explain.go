package store

// explain says in one line what a class means and, for a store that is
// refused, what to do.
func explain(r Reason) string {
	switch r {
	case ReasonRecordMAC:
		return "the record is not authentic"
	case ReasonRecordInvalid:
		return "the record is authentic but breaks a rule"
	case ReasonRecordFields:
		return "the record has other members than schema v8 names"
	case ReasonPayloadType:
		return "the record is stored as text"
	case ReasonIndexMismatch:
		return "the record and its index columns differ"
	case ReasonReservation:
		return "the target's reservation does not fit the state"
	case ReasonAuditIncomplete:
		return "audit events are missing or too many"
	case ReasonAuditOrdering:
		return "the audit events' versions are not contiguous"
	case ReasonAuditOrigin:
		return "the first audit event is not the creation"
	case ReasonAuditChain:
		return "an audit event does not follow the one before"
	case ReasonAuditTimestamp:
		return "an audit event has no readable time"
	case ReasonAuditMAC:
		return "an audit event is not authentic"
	case ReasonAuditType:
		return "an audit event is of an unknown type"
	case ReasonAuditEdge:
		return "an audit event records an illegal transition"
	case ReasonAuditState:
		return "the last audit event names another state than the record"
	case ReasonAuditSequence:
		return "the audit events are not in the order they were written"
	case ReasonReplayed:
		return "an older copy of the record was put back"
	case ReasonMissing:
		return "the record was removed"
	case ReasonNote:
		return "the addition to an audit event is not authentic"
	}
	return explainRefusal(r)
}

func explainRefusal(r Reason) string {
	switch r {
	case ReasonNotDatabase:
		return "the file is not a readable SQLite database; restore a backup"
	case ReasonMetadata:
		return "store id or schema version are not those expected; check the configured store id"
	case ReasonMetadataMissing:
		return "the store names neither schema version nor store id; restore a backup"
	case ReasonColumns, ReasonUnique, ReasonForeignKeys, ReasonPartialIndex:
		return "the tables are not exactly those of the record format; restore a backup"
	case ReasonExtra:
		return "the database has a trigger; restore a backup"
	case ReasonOwnSchema:
		return "the console's own tables are not as it makes them; restore a backup"
	case ReasonOwnVersion:
		return "written by a newer version of this console; use that version"
	case ReasonOwnRow, ReasonHead:
		return "rows of the store were removed, replaced or changed; restore a backup"
	case ReasonOrphan, ReasonMigrationFK:
		return "rows belong to a contract that does not exist; restore a backup"
	case ReasonSequenceGap:
		return "audit events were removed; restore a backup"
	case ReasonAnchorMAC, ReasonAnchorValue:
		return "the anchor's high-water mark is not authentic; restore a backup"
	case ReasonIntegrity:
		return "the database's indexes do not fit its tables; restore a backup"
	case ReasonLegacyMAC, ReasonLegacyFields:
		return "a record of the old schema is not authentic; nothing was migrated"
	}
	return "restore a backup"
}
